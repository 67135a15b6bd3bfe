"""What was measured, cell by cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from zkkit.bench.connection.idle import IdleFootprint
from zkkit.bench.connection.plan import ConnectionPlan, ConnectionTurn
from zkkit.bench.peers.comparison import is_saturated


@dataclass(frozen=True)
class ConnectionCell:
    """What one peer did at one row in one repeat."""

    turn: ConnectionTurn
    value: float
    """In the unit of its row; of times it is the median."""
    operations: int
    seconds: float
    client_cpu: float | None
    """Seconds; None if the system does not tell."""
    void: str = ""
    """Why it counts for nothing."""

    @property
    def saturated(self) -> bool:
        """Whether the client's interpreter was at its limit."""
        return is_saturated(self.turn.peer, self.client_cpu, self.seconds)

    @property
    def name(self) -> str:
        return f"{self.turn.row.name}, {self.turn.peer}, repeat {self.turn.repeat + 1}"


@dataclass
class ConnectionSpeeds:
    """Everything that was measured, also if it was stopped half-way."""

    plan: ConnectionPlan
    versions: Mapping[str, str] = field(default_factory=dict)
    cells: list[ConnectionCell] = field(default_factory=list)
    idle: tuple[IdleFootprint, ...] = ()
    stopped: str = ""
