"""The picture of how fast recipes are: how much faster zkkit is than each other peer."""

from __future__ import annotations

from zkkit.bench.peers import picture
from zkkit.bench.recipes.figures import RecipeResults
from zkkit.bench.recipes.words import row_name, title


def ratios_png(results: RecipeResults) -> bytes:
    """Ratios with their intervals, a line for each row."""
    return picture.ratios_png(
        [(row_name(results, figure), figure.ratios) for figure in results.figures],
        title=title(results),
        footer=picture.footer(results.head, results.plan, results.versions),
        axis="how much faster zkkit is (as fast: 1; to the right zkkit is faster)",
    )
