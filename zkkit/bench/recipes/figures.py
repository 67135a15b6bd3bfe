"""From cells to figures: medians, and ratios with an interval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from zkkit.bench.peers.cells import ZKKIT
from zkkit.bench.peers.figures import ComparedFigure, ComparisonResults, measured_rows
from zkkit.bench.recipes.judge import RecipeCell, RecipeSpeeds
from zkkit.bench.recipes.plan import RecipePlan, RecipeRow


@dataclass(frozen=True, kw_only=True)
class RecipeFigure(ComparedFigure):
    """One row: what each peer did, and how zkkit compares with each of the others."""

    row: RecipeRow
    samples: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class RecipeResults(ComparisonResults):
    """What results.json says about the speed of recipes."""

    experiment: ClassVar[str] = "recipes"
    plan: RecipePlan
    figures: tuple[RecipeFigure, ...]
    runs: tuple[RecipeCell, ...]


def figures(speeds: RecipeSpeeds) -> tuple[RecipeFigure, ...]:
    """One for each row that all peers were measured at."""
    return tuple(
        RecipeFigure(
            row=one.row,
            values=one.values(),
            samples={name: sum(c.samples for c in cells) for name, cells in one.cells.items()},
            saturated=one.saturated(),
            ratios=one.ratios(ZKKIT, speeds.plan.peers[1:]),
        )
        for one in measured_rows(speeds)
    )
