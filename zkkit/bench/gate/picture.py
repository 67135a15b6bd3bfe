"""The picture of a comparison: fires against contenders, and handoffs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zkkit.bench.gate.figures import GateFigure, GateResults
from zkkit.bench.gate.words import shown, sign, title
from zkkit.bench.kit import ground
from zkkit.bench.laws import Term
from zkkit.show import canvas
from zkkit.show.wording import milliseconds

_CURVE = 50  # points of a law's curve
_DODGE = 0.008  # how far the designs stand beside each other, as a part of the axis


def compare_png(results: GateResults) -> bytes:
    """The picture for results of `compare`, 1600 pixels wide, on white."""
    with canvas.style():
        return canvas.as_png(_draw(results))


def _draw(results: GateResults) -> Any:
    figure = canvas.start(canvas.HEIGHT)
    left, right = figure.subplots(1, 2, gridspec_kw={"width_ratios": (1.15, 1)})
    looks = canvas.looks([design.name for design in results.plan.designs])
    _make_room(figure, results, looks)
    canvas.caption(figure, title(results), _footer(results))
    _draw_counts(left, results, looks)
    _draw_handoffs(right, results, looks)
    return figure


def _make_room(figure: Any, results: GateResults, looks: Mapping[str, canvas.Style]) -> None:
    """Room for the names at the right ends of the lines, as much as the longest needs."""
    what = shown(results)
    names = max(map(len, looks))
    formulas = [_law_of(results, name, what).formula for name in looks]
    labels = max(names + 5, *(len(formula) + 6 for formula in formulas))
    figure.subplots_adjust(
        left=0.065,
        right=0.87 - 0.006 * max(0, names - len("sequential")),
        top=0.775,
        bottom=0.2,
        wspace=max(0.64, 0.045 * labels),
    )


def _draw_counts(axes: Any, results: GateResults, looks: Mapping[str, canvas.Style]) -> None:
    what = shown(results)
    heading = "Watches fired in one run" if what == "fires" else "Actors woken in one run"
    prepare(axes, results, heading, what)
    ends = draw_counts(axes, results, what, looks, predicted=False)
    axes.set_ylim(0, axes.get_ylim()[1] * 1.05)
    canvas.label_ends(axes, ends)


def draw_counts(
    axes: Any,
    results: GateResults,
    what: str,
    looks: Mapping[str, canvas.Style],
    *,
    predicted: bool,
) -> list[canvas.End]:
    """One count against contenders: the law as a line, the measurement as points. Gives what is to
    be written at the ends: what was measured, the law, and the number that it predicts, if wanted.
    """
    ends, drawn = [], set()
    for name, look in looks.items():
        mine, law = results.of_design(name), _law_of(results, name, what)
        if not mine:
            continue
        # Two designs may have one law, and one count: neither line nor point hides the other.
        _draw_law(axes, results, law, look, again=law.formula in drawn)
        drawn.add(law.formula)
        _points(axes, mine, what, look, line=False, hollow=len(looks) > 2)
        height = mine[-1].count(what).median
        number = f" = {law.of(mine[-1].contenders):,}" if predicted else ""
        text = f"{name}: {canvas.short(height)}\nlaw {sign(law)} {law.formula}{number}"
        ends.append(canvas.End(mine[-1].contenders, height, text, look))
    return ends


def _draw_handoffs(axes: Any, results: GateResults, looks: Mapping[str, canvas.Style]) -> None:
    heading = "From a release to the next grant"
    if results.plan.elections:
        heading = "From one leader's leaving to the next leader"
    prepare(axes, results, heading, "handoff, median (ms)")
    ends = []
    for place, (name, look) in enumerate(looks.items()):
        mine = [f for f in results.of_design(name) if f.handoff_ms]
        if not mine:
            continue
        # Beside each other, so that no bar hides another.
        by = (place - (len(looks) - 1) / 2) * 2 * _DODGE * axes.get_xlim()[1]
        # A line says that there is a trend. A single run beside another one does not show any.
        trend = all(figure.runs > 1 for figure in mine)
        _points(axes, mine, "handoff_ms", look, line=trend, by=by)
        height = mine[-1].count("handoff_ms").median
        text = f"{name}:\n{milliseconds(height)} ms"
        ends.append(canvas.End(mine[-1].contenders + by, height, text, look))
    axes.set_ylim(0, axes.get_ylim()[1] * 1.05)
    canvas.label_ends(axes, ends)


def _draw_law(
    axes: Any, results: GateResults, law: Term, look: canvas.Style, *, again: bool
) -> None:
    """What a law predicts; dashed so that it can be seen even if it was drawn for another design.

    Where some contenders read, W and R are whole numbers, rounded differently for even and odd N:
    between two whole numbers there is nothing to draw.
    """
    measured = results.plan.contenders
    most = max(measured)
    numbers = sorted({1, *measured, *range(most, 0, -max(1, most // _CURVE))})
    counts = list(map(law.of, numbers))
    if results.plan.readers:
        axes.plot(numbers, counts, color=look.colour, marker=".", ms=4, ls="none", zorder=2)
    else:
        dashes = (2, 4) if again else (4, 2)
        axes.plot(numbers, counts, color=look.colour, lw=1.6, ls=(0, dashes), zorder=2)


def _law_of(results: GateResults, design: str, what: str) -> Term:
    """What the law of a design says about one count."""
    plan = results.plan
    (law,) = (one.law_of(plan.population) for one in plan.designs if one.name == design)
    return law.terms()[what]


def law_key(results: GateResults) -> str:
    """How the law is drawn, in words."""
    whole = results.plan.readers
    return "Small dots: the law, at whole numbers." if whole else "Dashed: the law."


def prepare(axes: Any, results: GateResults, heading: str, unit: str) -> None:
    """Axes for something against the number of contenders."""
    axes.set_title(heading, loc="left", fontsize=12.5, pad=28)
    axes.set_xlabel("contenders")
    # Above the axis, not beside it: there it is read without turning the head, and long numbers
    # do not push it out of the picture.
    axes.text(0, 1.03, unit, transform=axes.transAxes, color=canvas.MUTED, fontsize=10.5)
    axes.yaxis.set_major_formatter(lambda value, position: f"{value:,.6g}")
    numbers = sorted({f.contenders for f in results.figures})
    axes.set_xlim(0, numbers[-1] * 1.03)
    axes.set_xticks(_apart(numbers))
    axes.grid(visible=False, axis="x")


def _apart(numbers: Sequence[int]) -> list[int]:
    """The ticks whose labels have room; the last one always has."""
    kept: list[int] = []
    for number in reversed(numbers):
        if not kept or kept[-1] - number >= 0.055 * numbers[-1]:
            kept.append(number)
    return kept


def _points(
    axes: Any,
    figures: Sequence[GateFigure],
    what: str,
    look: canvas.Style,
    *,
    line: bool,
    by: float = 0.0,
    hollow: bool = False,
) -> None:
    """Medians, with bars from the smallest to the greatest."""
    spreads = [f.count(what) for f in figures]
    axes.errorbar(
        [f.contenders + by for f in figures],
        [spread.median for spread in spreads],
        yerr=[[s.median - s.low for s in spreads], [s.high - s.median for s in spreads]],
        color=look.colour,
        marker=look.marker,
        markersize=9.5 if hollow else 8.5,
        markerfacecolor="none" if hollow else look.colour,
        markeredgecolor=look.colour if hollow else "white",
        markeredgewidth=2.0 if hollow else 1.0,
        linestyle="-" if line else "none",
        linewidth=2,
        elinewidth=1.4,
        capsize=0 if hollow else 3.5,
        clip_on=False,
        zorder=3,
    )


def _footer(results: GateResults) -> str:
    plan = results.plan
    points = "one run each"
    if plan.repeats > 1:
        points = f"median of {plan.repeats} repeats, bars: smallest and greatest"
    text = (
        f"{law_key(results)} Points: {points}. Each hold {plan.hold * 1e3:g} ms. "
        f"{ground.data(results.head).capitalize()}.\n{ground.briefly(results.head)}, "
        f"seed {plan.seed}."
    )
    if plan.readers:
        text += " Of N contenders W = N/2 write, R read."
    if plan.population == "shared":
        text += " All are threads on one lock object."
    saturated = sum(run.saturated for run in results.runs)
    if saturated:
        text += f" In {saturated} of {len(results.runs)} runs the client's CPU was saturated."
    return text
