"""What was measured, cell by cell, and whether it can be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from zkkit.bench.kit.judgement import Judgement, first_of
from zkkit.bench.locks.layers import LayerShares
from zkkit.bench.locks.plan import LocksPlan, LockTurn
from zkkit.bench.peers.comparison import doubted, is_saturated


@dataclass(frozen=True)
class LockCell:
    """What one peer did at one row in one repeat."""

    turn: LockTurn
    acquisitions: int
    rate: float
    """Grants in a second, when it had settled."""
    settled: float
    """Seconds until every session had acquired once."""
    seconds: float
    client_cpu: float | None
    """Seconds; None if the system does not tell."""
    server_cpu: Mapping[str, float]
    longest_acquire: float = 0.0
    """Seconds that the longest acquire took, and the longest release: where a stall would show."""
    longest_release: float = 0.0
    overlap: str = ""
    """Which two holds overlap."""
    void: str = ""
    """Why it counts for nothing."""
    thread_cpu: Mapping[str, float] = field(default_factory=dict)
    """CPU seconds by kind of thread, of a peer in Python whose system tells them."""

    @property
    def saturated(self) -> bool:
        """Whether the client's interpreter was at its limit."""
        return is_saturated(self.turn.peer, self.client_cpu, self.seconds)

    @property
    def name(self) -> str:
        return f"{self.turn.row.name}, {self.turn.peer}, repeat {self.turn.repeat + 1}"


@dataclass
class LockSpeeds:
    """Everything that was measured, also if it was stopped half-way."""

    plan: LocksPlan
    versions: Mapping[str, str] = field(default_factory=dict)
    cells: list[LockCell] = field(default_factory=list)
    stopped: str = ""
    left_out: str = ""
    """Which peer this machine does not have, and how to get it."""
    warmed: dict[str, int] = field(default_factory=dict)
    """Acquisitions of each peer before anything counted."""
    layers: tuple[LayerShares, ...] = ()

    @property
    def judgement(self) -> Judgement:
        return judge(self)


def judge(speeds: LockSpeeds) -> Judgement:
    """Whether the figures can be trusted: not whether they please."""
    cells = speeds.cells
    broken = [f"{cell.name}: {cell.overlap}" for cell in cells if cell.overlap]
    if broken:
        return Judgement("broken", f"A lock is broken: {first_of(broken)}.")
    doubt = doubted(cells, len(speeds.plan), speeds.stopped)
    if doubt is not None:
        return doubt
    total = sum(cell.acquisitions for cell in cells)
    return Judgement(
        "holds",
        f"The figures count: in all {len(cells)} cells the servers created as many nodes as the "
        f"clients acquired ({total:,}), none is left, and no two holds overlap.",
    )
