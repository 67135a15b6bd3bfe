"""From cells to figures: medians, CPU for each operation, and ratios with an interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from zkkit.bench.connection.cells import ConnectionCell, ConnectionSpeeds
from zkkit.bench.connection.idle import IdleFootprint
from zkkit.bench.connection.plan import ConnectionPlan, ConnectionRow
from zkkit.bench.kit.results import Results
from zkkit.bench.kit.statistics import Interval, Spread, spread_of
from zkkit.bench.peers.comparison import KAZOO, ratio_of


@dataclass(frozen=True)
class ConnectionFigure:
    """One row: what each peer did over all repeats, and how much faster than kazoo each of the
    others is: above 1 it is, of times as of rates."""

    row: ConnectionRow
    values: Mapping[str, Spread]
    operations: Mapping[str, int]
    client_us: Mapping[str, float | None]
    """Microseconds of CPU for one operation; None where the system does not tell."""
    saturated: Mapping[str, int]
    """In how many cells the client was at the limit of one interpreter."""
    ratios: Mapping[str, Interval]


@dataclass(frozen=True)
class ConnectionResults(Results):
    """What results.json says about the connection."""

    experiment: ClassVar[str] = "connection"
    plan: ConnectionPlan
    versions: Mapping[str, str]
    figures: tuple[ConnectionFigure, ...]
    idle: tuple[IdleFootprint, ...]
    runs: tuple[ConnectionCell, ...]


def figures(speeds: ConnectionSpeeds) -> tuple[ConnectionFigure, ...]:
    """One for each row that all peers were measured at."""
    found = []
    for row in speeds.plan.rows:
        cells = [c for c in speeds.cells if c.turn.row == row and not c.void]
        mine = {name: [c for c in cells if c.turn.peer == name] for name in speeds.plan.peers}
        if not all(mine.values()):
            continue
        speed = {name: _speeds(some) for name, some in mine.items()}
        ratios = {name: ratio_of(speed[name], speed[KAZOO]) for name in mine if name != KAZOO}
        found.append(
            ConnectionFigure(
                row,
                {name: spread_of(c.value for c in some) for name, some in mine.items()},
                {name: sum(c.operations for c in some) for name, some in mine.items()},
                {name: _client_us(some) for name, some in mine.items()},
                {name: sum(c.saturated for c in some) for name, some in mine.items()},
                {name: ratio for name, ratio in ratios.items() if ratio},
            )
        )
    return tuple(found)


def _speeds(cells: Sequence[ConnectionCell]) -> dict[int, float]:
    """How fast it was in each repeat: the more, the faster."""
    return {c.turn.repeat: c.value if c.turn.row.is_rate else 1 / c.value for c in cells}


def _client_us(cells: Sequence[ConnectionCell]) -> float | None:
    """Over all cells together: its clock ticks too seldom for one of them."""
    used = sum(c.client_cpu or 0.0 for c in cells)
    return used / sum(c.operations for c in cells) * 1e6 or None
