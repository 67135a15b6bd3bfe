"""From cells to figures: medians, and ratios with an interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from zkkit.bench.kit.results import Results
from zkkit.bench.kit.statistics import Interval, Spread, spread_of
from zkkit.bench.peers.comparison import ZKKIT, ratios_of
from zkkit.bench.recipes.judge import RecipeCell, RecipeSpeeds
from zkkit.bench.recipes.plan import RecipePlan, RecipeRow


@dataclass(frozen=True)
class RecipeFigure:
    """One row: what each peer did over all repeats, and how zkkit compares with each of the others.

    A ratio above 1 says that zkkit is faster, of times as of rates."""

    row: RecipeRow
    values: Mapping[str, Spread]
    samples: Mapping[str, int]
    saturated: Mapping[str, int]
    """In how many cells the client was at the limit of one interpreter."""
    ratios: Mapping[str, Interval]


@dataclass(frozen=True)
class RecipeResults(Results):
    """What results.json says about the speed of recipes."""

    experiment: ClassVar[str] = "recipes"
    plan: RecipePlan
    versions: Mapping[str, str]
    peer_flags: tuple[str, ...]
    left_out: str
    figures: tuple[RecipeFigure, ...]
    runs: tuple[RecipeCell, ...]


def figures(speeds: RecipeSpeeds) -> tuple[RecipeFigure, ...]:
    """One for each row that all peers were measured at."""
    found = []
    for row in speeds.plan.rows:
        cells = [c for c in speeds.cells if c.turn.row == row and not c.void and c.value > 0]
        mine = {name: [c for c in cells if c.turn.peer == name] for name in speeds.plan.peers}
        if not all(mine.values()):
            continue
        speeds_of = {name: _speeds(some) for name, some in mine.items()}
        found.append(
            RecipeFigure(
                row,
                {name: spread_of(c.value for c in some) for name, some in mine.items()},
                {name: sum(c.samples for c in some) for name, some in mine.items()},
                {name: sum(c.saturated for c in some) for name, some in mine.items()},
                ratios_of(speeds_of, ZKKIT, speeds.plan.peers[1:]),
            )
        )
    return tuple(found)


def _speeds(cells: Sequence[RecipeCell]) -> dict[int, float]:
    """How fast it was in each repeat: the more, the faster."""
    return {c.turn.repeat: c.value if c.turn.row.is_rate else 1 / c.value for c in cells}
