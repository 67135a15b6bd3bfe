"""What was measured, cell by cell, and whether it can be trusted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from zkkit.bench.locks_rows import CURATOR, Planned, Row, SpeedPlan
from zkkit.bench.machine import SATURATED
from zkkit.bench.verdict import Judgement, Verdict


@dataclass(frozen=True)
class Cell:
    """What one peer did at one row in one repeat."""

    planned: Planned
    acquisitions: int
    rate: float
    """Grants in a second, when it had settled."""
    settled: float
    """Seconds until every session had acquired once."""
    seconds: float
    client_cpu: float | None
    """Seconds; None if the system does not tell."""
    server_cpu: Mapping[str, float]
    longest: float = 0.0
    """Seconds that the longest acquire took, and the longest release: where a stall would show."""
    longest_release: float = 0.0
    overlap: str = ""
    """Which two holds overlap."""
    void: str = ""
    """Why it counts for nothing."""

    @property
    def client_share(self) -> float | None:
        """How much of one core the peer's process used."""
        return None if self.client_cpu is None else self.client_cpu / self.seconds

    @property
    def saturated(self) -> bool:
        """Whether a client of one interpreter was at its limit. Java has no such limit."""
        return self.planned.peer != CURATOR and (self.client_share or 0.0) > SATURATED

    @property
    def name(self) -> str:
        return f"{self.planned.row.name}, {self.planned.peer}, repeat {self.planned.repeat + 1}"


class Profile(NamedTuple):
    """Where a peer's process spends its CPU time at one row: samples in each part of it."""

    row: Row
    peer: str
    samples: Counter[str]


@dataclass
class Speeds:
    """Everything that was measured, also if it was stopped half-way."""

    plan: SpeedPlan
    versions: Mapping[str, str] = field(default_factory=dict)
    cells: list[Cell] = field(default_factory=list)
    profiles: list[Profile] = field(default_factory=list)
    stopped: str = ""

    @property
    def judgement(self) -> Judgement:
        return judge(self)


def judge(speeds: Speeds) -> Judgement:
    """Whether the figures can be trusted: not whether they please."""
    cells = speeds.cells
    broken = [f"{cell.name}: {cell.overlap}" for cell in cells if cell.overlap]
    if broken:
        return Judgement(Verdict.BROKEN, f"A lock is broken: {_first(broken)}")
    doubts = [f"{cell.name} is void: {cell.void}" for cell in cells if cell.void]
    if speeds.stopped:
        doubts.insert(0, speeds.stopped)
    elif len(speeds.cells) != len(speeds.plan):
        doubts.insert(0, f"{len(speeds.cells)} of {len(speeds.plan)} cells were measured")
    if doubts:
        return Judgement(Verdict.UNKNOWN, f"Nobody knows: {_first(doubts)}")
    total = sum(cell.acquisitions for cell in cells)
    return Judgement(
        Verdict.HOLDS,
        f"The figures count: in all {len(cells)} cells the servers created as many nodes as the "
        f"clients acquired ({total:,}), none is left, and no two holds overlap.",
    )


def _first(reasons: Sequence[str]) -> str:
    more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
    return f"{reasons[0]}{more}."
