"""What was measured, cell by cell."""

from __future__ import annotations

from dataclasses import dataclass

from zkkit.bench.connection.idle import IdleFootprint
from zkkit.bench.connection.plan import ConnectionPlan, ConnectionRow
from zkkit.bench.peers.cells import ComparedSpeeds, MeasuredCell, PeerTurn


@dataclass(frozen=True)
class ConnectionCell(MeasuredCell):
    """What one peer did at one row in one repeat."""

    turn: PeerTurn[ConnectionRow]
    operations: int


@dataclass
class ConnectionSpeeds(ComparedSpeeds[ConnectionPlan, ConnectionCell]):
    """Everything that was measured, also if it was stopped half-way."""

    idle: tuple[IdleFootprint, ...] = ()
