"""From cells to figures where peers are compared: medians, and ratios with an interval."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic

from zkkit.bench.kit.results import Results
from zkkit.bench.kit.statistics import Interval, Spread, median_interval, spread_of
from zkkit.bench.peers.cells import CellT, ComparedSpeeds, MeasuredCell


@dataclass(frozen=True, kw_only=True)
class ComparedFigure:
    """One row: what each peer did over all repeats, and how much faster one is than another.

    A ratio above 1 says that it is faster, of times as of rates."""

    row: Any
    values: Mapping[str, Spread]
    saturated: Mapping[str, int]
    """In how many cells the client was at the limit of one interpreter."""
    ratios: Mapping[str, Interval]


@dataclass(frozen=True, kw_only=True)
class ComparisonResults(Results):
    """What results.json says about every comparison; each comparison says of which types its plan,
    figures and runs are."""

    plan: Any
    versions: Mapping[str, str]
    peer_flags: tuple[str, ...] = ()
    """The flags of the JVM."""
    left_out: str = ""
    figures: tuple[Any, ...]
    runs: tuple[MeasuredCell, ...]

    @staticmethod
    def of(speeds: ComparedSpeeds[Any, Any]) -> dict[str, Any]:
        """The fields that are taken from what was measured as it is."""
        return {
            "plan": speeds.plan,
            "versions": speeds.versions,
            "left_out": speeds.left_out,
            "runs": tuple(speeds.cells),
        }

    def all_ratios(self) -> list[Interval]:
        """The ratios of all figures."""
        return [ratio for figure in self.figures for ratio in figure.ratios.values()]


@dataclass(frozen=True)
class MeasuredRow(Generic[CellT]):
    """A row at which all peers were measured, and the cells of each peer that count."""

    row: Any
    cells: Mapping[str, list[CellT]]

    def values(self) -> dict[str, Spread]:
        """What each peer did over all repeats."""
        return {name: spread_of(c.value for c in cells) for name, cells in self.cells.items()}

    def saturated(self) -> dict[str, int]:
        """In how many cells the client of each peer was at its limit."""
        return {name: sum(c.saturated for c in cells) for name, cells in self.cells.items()}

    def ratio(self, ours: str, theirs: str) -> Interval | None:
        """How much faster one is than the other, repeat by repeat; None if no repeat has both."""
        speeds, others = (
            {cell.turn.repeat: cell.speed for cell in self.cells[name]} for name in (ours, theirs)
        )
        pairs = [speeds[repeat] / others[repeat] for repeat in speeds if repeat in others]
        return median_interval(pairs) if pairs else None

    def ratios(self, subject: str, others: Iterable[str]) -> dict[str, Interval]:
        """How the subject compares with each of the others that was measured beside it."""
        found = {name: self.ratio(subject, name) for name in others if name in self.cells}
        return {name: ratio for name, ratio in found.items() if ratio}


def measured_rows(speeds: ComparedSpeeds[Any, CellT]) -> Iterator[MeasuredRow[CellT]]:
    """The rows that all their peers were measured at."""
    for row in speeds.plan.rows:
        found = [c for c in speeds.cells if c.turn.row == row and not c.void and c.value > 0]
        cells = {
            name: [c for c in found if c.turn.peer == name] for name in speeds.plan.peers_at(row)
        }
        if all(cells.values()):
            yield MeasuredRow(row, cells)
