"""How fast recipes are, in words: the title, the table, the text beside the picture.

All of it is computed from the results; nothing here knows a result beforehand.
"""

from __future__ import annotations

from zkkit.bench.kit.tables import FigureTable
from zkkit.bench.peers.comparison import conditions_of, saturated_note, times_as, told_ratio
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


def alt_text(results: RecipeResults) -> str:
    """What the picture shows, for those who do not see it."""
    parts = [f"{title(results)}. How much faster zkkit is than the other, with an interval;"]
    for figure in results.figures:
        ratios = ", ".join(f"{n} {told_ratio(r)}" for n, r in figure.ratios.items())
        parts.append(f"{figure.row.name}: {ratios};")
    return " ".join(parts).rstrip(";") + "."


def table(results: RecipeResults) -> FigureTable:
    """All rows."""
    peers = results.plan.peers
    others = peers[1:]
    rows = [
        (
            row_name(results, figure),
            *(_value(figure, peer) for peer in peers),
            *(told_ratio(figure.ratios.get(peer)) for peer in others),
        )
        for figure in results.figures
    ]
    starred = any(number for f in results.figures for number in f.saturated.values())
    head = ("recipe", *peers, *(f"zkkit : {peer}" for peer in others))
    return FigureTable(
        "Speed", head, rows, [*LEGEND, *([saturated_note("recipe")] if starred else [])]
    )


def row_name(results: RecipeResults, figure: RecipeFigure) -> str:
    """One line of the comparison, for people."""
    name = figure.row.name
    return f"{name}, {results.plan.nodes:,} nodes" if name == "cache load" else name


def _value(figure: RecipeFigure, peer: str) -> str:
    value, star = figure.values[peer].median, "*" if figure.saturated[peer] else ""
    return f"{value:,.0f}{star} /s" if figure.row.is_rate else f"{value:,.2f}{star} ms"


def conditions(results: RecipeResults) -> dict[str, str]:
    """What the figures were measured on, and how."""
    ratios = [ratio for figure in results.figures for ratio in figure.ratios.values()]
    return conditions_of(results.head, results.plan, results.versions, results.peer_flags, ratios)
