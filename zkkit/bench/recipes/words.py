"""How fast recipes are, in words: the title, the table, the text beside the picture.

All of it is computed from the results; nothing here knows a result beforehand.
"""

from __future__ import annotations

from zkkit.bench.peers.comparison import (
    ComparedRatios,
    ComparisonWords,
    conditions_of,
    speed_table,
    times_as,
)
from zkkit.bench.recipes.figures import RecipeFigure, RecipeResults
from zkkit.bench.recipes.plan import CANDIDATES, CONTENDERS, FAILOVER

LEGEND = (
    "median over the repeats; zkkit : other is how much faster zkkit is: the ratio of rates, or of",
    "times the other way round; above 1 zkkit is faster. In brackets an interval of the median, by",
    "order statistics.",
    f"failover: a leader's session is ended, and the next of {CANDIDATES} candidates is told;",
    f"barrier rounds: {CONTENDERS} members enter and leave, from the last one's coming on.",
)


def title(results: RecipeResults) -> str:
    """The finding, in one line: the failover, else the first row."""
    if not results.figures or not results.figures[0].ratios:
        return "Nothing was measured"
    first = results.figures[0]
    ratios = " and ".join(times_as("fast", *one) for one in first.ratios.items())
    what = "zkkit tells the next leader" if first.row == FAILOVER else f"{first.row.name}: zkkit is"
    return f"{what} {ratios}"


def in_words(results: RecipeResults) -> ComparisonWords:
    """All that is said about the results."""
    peers = results.plan.peers
    table = speed_table(
        "recipe",
        peers,
        {peer: f"zkkit : {peer}" for peer in peers[1:]},
        [
            (row_name(results, figure), [_value(figure, peer) for peer in peers], figure.ratios)
            for figure in results.figures
        ],
        LEGEND,
    )
    rows = [(row_name(results, figure), figure.ratios) for figure in results.figures]
    ratios = ComparedRatios(rows, "how much faster zkkit is")
    return ComparisonWords(title(results), ratios, [table], conditions_of(results))


def row_name(results: RecipeResults, figure: RecipeFigure) -> str:
    """One line of the comparison, for people."""
    name = figure.row.name
    return f"{name}, {results.plan.nodes:,} nodes" if name == "cache load" else name


def _value(figure: RecipeFigure, peer: str) -> str:
    value, star = figure.values[peer].median, "*" if figure.saturated[peer] else ""
    return f"{value:,.0f}{star} /s" if figure.row.is_rate else f"{value:,.2f}{star} ms"
