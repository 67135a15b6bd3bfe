"""What was measured, cell by cell, and whether it can be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from zkkit.bench.kit.judgement import Judgement
from zkkit.bench.locks.layers import LayerShares
from zkkit.bench.locks.plan import LockRow, LocksPlan
from zkkit.bench.peers.cells import ComparedSpeeds, MeasuredCell, PeerTurn
from zkkit.bench.peers.comparison import doubted


@dataclass(frozen=True)
class LockCell(MeasuredCell):
    """What one peer did at one row in one repeat: grants in a second, when it had settled. It is
    broken if two holds overlap."""

    turn: PeerTurn[LockRow]
    acquisitions: int
    settled: float
    """Seconds until every session had acquired once."""
    server_cpu: Mapping[str, float]
    longest_acquire: float = 0.0
    """Seconds that the longest acquire took, and the longest release: where a stall would show."""
    longest_release: float = 0.0
    thread_cpu: Mapping[str, float] = field(default_factory=dict)
    """CPU seconds by kind of thread, of a peer in Python whose system tells them."""


@dataclass
class LockSpeeds(ComparedSpeeds[LocksPlan, LockCell]):
    """Everything that was measured, also if it was stopped half-way."""

    warmed: dict[str, int] = field(default_factory=dict)
    """Acquisitions of each peer before anything counted."""
    layers: tuple[LayerShares, ...] = ()

    @property
    def judgement(self) -> Judgement:
        return judge(self)


def judge(speeds: LockSpeeds) -> Judgement:
    """Whether the figures can be trusted: not whether they please."""
    total = sum(cell.acquisitions for cell in speeds.cells)
    return doubted(speeds, "lock") or Judgement(
        "holds",
        f"The figures count: in all {len(speeds.cells)} cells the servers created as many nodes as "
        f"the clients acquired ({total:,}), none is left, and no two holds overlap.",
    )
