"""The picture of how fast recipes are: how much faster zkkit is than each other peer."""

from __future__ import annotations

from zkkit.bench.peers import picture
from zkkit.bench.recipes.figures import RecipeResults
from zkkit.bench.recipes.words import ratio_rows, title


def ratios_png(results: RecipeResults) -> bytes:
    """Ratios with their intervals, a line for each row."""
    return picture.ratios_png(
        results,
        ratio_rows(results),
        title=title(results),
        axis="how much faster zkkit is (as fast: 1; to the right zkkit is faster)",
    )
