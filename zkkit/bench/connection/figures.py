"""From cells to figures: medians, CPU for each operation, and ratios with an interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from zkkit.bench.connection.cells import ConnectionCell, ConnectionSpeeds
from zkkit.bench.connection.idle import IdleFootprint
from zkkit.bench.connection.plan import ConnectionPlan, ConnectionRow
from zkkit.bench.peers.cells import KAZOO
from zkkit.bench.peers.figures import ComparedFigure, ComparisonResults, measured_rows


@dataclass(frozen=True, kw_only=True)
class ConnectionFigure(ComparedFigure):
    """One row: what each peer did, and how much faster than kazoo each of the others is."""

    row: ConnectionRow
    operations: Mapping[str, int]
    client_us: Mapping[str, float | None]
    """Microseconds of CPU for one operation; None where the system does not tell."""


@dataclass(frozen=True, kw_only=True)
class ConnectionResults(ComparisonResults):
    """What results.json says about the connection."""

    experiment: ClassVar[str] = "connection"
    plan: ConnectionPlan
    figures: tuple[ConnectionFigure, ...]
    idle: tuple[IdleFootprint, ...]
    runs: tuple[ConnectionCell, ...]


def figures(speeds: ConnectionSpeeds) -> tuple[ConnectionFigure, ...]:
    """One for each row that all peers were measured at."""
    found = []
    for one in measured_rows(speeds):
        ratios = {name: one.ratio(name, KAZOO) for name in one.cells if name != KAZOO}
        found.append(
            ConnectionFigure(
                row=one.row,
                values=one.values(),
                operations={name: _operations(cells) for name, cells in one.cells.items()},
                client_us={name: _client_us(cells) for name, cells in one.cells.items()},
                saturated=one.saturated(),
                ratios={name: ratio for name, ratio in ratios.items() if ratio},
            )
        )
    return tuple(found)


def _operations(cells: Sequence[ConnectionCell]) -> int:
    return sum(cell.operations for cell in cells)


def _client_us(cells: Sequence[ConnectionCell]) -> float | None:
    """CPU time over all cells together: its clock ticks too seldom for one of them."""
    used = sum(cell.client_cpu or 0.0 for cell in cells)
    return used / _operations(cells) * 1e6 or None
