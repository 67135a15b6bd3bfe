"""The picture of a comparison: fires against contenders, and handoffs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zkkit.show import canvas
from zkkit.show.findings import Figure, Results, shown, sign, title
from zkkit.show.wording import lies, milliseconds

_DODGE = 0.008  # how far the designs stand beside each other, as a part of the axis


def compare_png(results: Results) -> bytes:
    """The picture for results of `compare`, 1600 pixels wide, on white."""
    with canvas.style():
        return canvas.as_png(_draw(results))


def _draw(results: Results) -> Any:
    figure = canvas.start(canvas.HEIGHT)
    left, right = figure.subplots(1, 2, gridspec_kw={"width_ratios": (1.15, 1)})
    looks = canvas.looks(results["plan"]["designs"])
    _make_room(figure, results, looks)
    heading = figure.text(canvas.MARGIN, 0.945, title(results), fontweight="bold", va="center")
    canvas.fit(figure, heading, largest=17)
    figure.text(canvas.MARGIN, 0.02, _footer(results), fontsize=9, color=canvas.MUTED, va="bottom")
    _draw_counts(left, results, looks)
    _draw_handoffs(right, results, looks)
    return figure


def _make_room(figure: Any, results: Results, looks: Mapping[str, canvas.Look]) -> None:
    """Room for the names at the right ends of the lines, as much as the longest needs."""
    what = shown(results)
    names = max(map(len, looks))
    labels = max(names + 5, *(len(results["laws"][name][what]["formula"]) + 6 for name in looks))
    figure.subplots_adjust(
        left=0.065,
        right=0.87 - 0.006 * max(0, names - len("sequential")),
        top=0.775,
        bottom=0.2,
        wspace=max(0.64, 0.045 * labels),
    )


def _draw_counts(axes: Any, results: Results, looks: Mapping[str, canvas.Look]) -> None:
    what = shown(results)
    heading = "Watches fired in one run" if what == "fires" else "Actors woken in one run"
    prepare(axes, results, heading, what)
    ends, drawn = [], set()
    for name, look in looks.items():
        mine, law = of_design(results, name), results["laws"][name][what]
        if not mine:
            continue
        # Two designs may have one law, and one count: neither line nor point hides the other.
        draw_law(axes, results, law, look, again=law["formula"] in drawn)
        drawn.add(law["formula"])
        _points(axes, mine, what, look, line=False, hollow=len(looks) > 2)
        height = mine[-1][what]["median"]
        text = f"{name}: {canvas.short(height)}\nlaw {sign(law)} {law['formula']}"
        ends.append(canvas.End(mine[-1]["contenders"], height, text, look))
    axes.set_ylim(0, axes.get_ylim()[1] * 1.05)
    canvas.label_ends(axes, ends)


def _draw_handoffs(axes: Any, results: Results, looks: Mapping[str, canvas.Look]) -> None:
    prepare(axes, results, "From a release to the next grant", "handoff, median (ms)")
    ends = []
    for place, (name, look) in enumerate(looks.items()):
        mine = [f for f in of_design(results, name) if f["handoff_ms"]]
        if not mine:
            continue
        # Beside each other, so that no bar hides another.
        by = (place - (len(looks) - 1) / 2) * 2 * _DODGE * axes.get_xlim()[1]
        # A line says that there is a trend. A single run beside another one does not show any.
        trend = all(figure["runs"] > 1 for figure in mine)
        _points(axes, mine, "handoff_ms", look, line=trend, by=by)
        height = mine[-1]["handoff_ms"]["median"]
        text = f"{name}:\n{milliseconds(height)} ms"
        ends.append(canvas.End(mine[-1]["contenders"] + by, height, text, look))
    axes.set_ylim(0, axes.get_ylim()[1] * 1.05)
    canvas.label_ends(axes, ends)


def draw_law(
    axes: Any,
    results: Results,
    law: Mapping[str, Any],
    look: canvas.Look,
    *,
    again: bool = False,
) -> None:
    """What a law predicts; dashed so that it can be seen even if it was drawn for another design.

    Where some contenders read, W and R are whole numbers, rounded differently for even and odd N:
    between two whole numbers there is nothing to draw.
    """
    numbers, counts = zip(*law["curve"], strict=True)
    if results["plan"]["readers"]:
        axes.plot(numbers, counts, color=look.colour, marker=".", ms=4, ls="none", zorder=2)
    else:
        dashes = (2, 4) if again else (4, 2)
        axes.plot(numbers, counts, color=look.colour, lw=1.6, ls=(0, dashes), zorder=2)


def law_key(results: Results) -> str:
    """How the law is drawn, in words."""
    whole = results["plan"]["readers"]
    return "Small dots: the law, at whole numbers." if whole else "Dashed: the law."


def prepare(axes: Any, results: Results, heading: str, unit: str) -> None:
    """Axes for something against the number of contenders."""
    axes.set_title(heading, loc="left", fontsize=12.5, pad=28)
    axes.set_xlabel("contenders")
    # Above the axis, not beside it: there it is read without turning the head, and long numbers
    # do not push it out of the picture.
    axes.text(0, 1.03, unit, transform=axes.transAxes, color=canvas.MUTED, fontsize=10.5)
    axes.yaxis.set_major_formatter(lambda value, position: f"{value:,.6g}")
    numbers = sorted({f["contenders"] for f in results["figures"]})
    axes.set_xlim(0, numbers[-1] * 1.03)
    axes.set_xticks(_apart(numbers))
    axes.grid(visible=False, axis="x")


def _apart(numbers: Sequence[int]) -> list[int]:
    """Of these ticks those whose labels have room; the last one always."""
    kept: list[int] = []
    for number in reversed(numbers):
        if not kept or kept[-1] - number >= 0.055 * numbers[-1]:
            kept.append(number)
    return kept


def _points(
    axes: Any,
    figures: Sequence[Figure],
    what: str,
    look: canvas.Look,
    *,
    line: bool,
    by: float = 0.0,
    hollow: bool = False,
) -> None:
    for f in figures:
        if f[what]["low"] < f[what]["high"]:
            _bar(axes, f["contenders"] + by, f[what], look, caps=not hollow)
    axes.plot(
        [f["contenders"] + by for f in figures],
        [f[what]["median"] for f in figures],
        color=look.colour,
        marker=look.marker,
        markersize=9.5 if hollow else 8.5,
        markerfacecolor="none" if hollow else look.colour,
        markeredgecolor=look.colour if hollow else "white",
        markeredgewidth=2.0 if hollow else 1.0,
        linestyle="-" if line else "none",
        linewidth=2,
        clip_on=False,
        zorder=3,
    )


def _bar(
    axes: Any, x: float, spread: Mapping[str, float], look: canvas.Look, *, caps: bool
) -> None:
    """From the smallest to the greatest."""
    middle = (spread["low"] + spread["high"]) / 2
    axes.errorbar(
        x,
        middle,
        yerr=spread["high"] - middle,
        color=look.colour,
        elinewidth=1.4,
        capsize=3.5 if caps else 0,
        clip_on=False,
        zorder=3,
    )


def of_design(results: Results, design: str) -> list[Figure]:
    """The figures of one design."""
    return [figure for figure in results["figures"] if figure["design"] == design]


def _footer(results: Results) -> str:
    plan, machine = results["plan"], results["machine"]
    points = "one run each"
    if plan["repeats"] > 1:
        points = f"median of {plan['repeats']} repeats, bars: smallest and greatest"
    text = (
        f"{law_key(results)} Points: {points}. Each hold {plan['hold_ms']:g} ms. "
        f"Data {lies(results['ensemble']['medium'])}.\n"
        f"{machine['cpu_count']} CPUs, {machine['python']}, "
        f"{results['ensemble']['size']} x ZooKeeper {results['ensemble']['zookeeper']}, "
        f"seed {plan['seed']}."
    )
    if plan["readers"]:
        text += " Of N contenders W = N/2 write, R read."
    if plan["population"] == "shared":
        text += " All are threads on one lock object."
    saturated = sum(run["saturated"] for run in results["runs"])
    if saturated:
        text += f" In {saturated} of {len(results['runs'])} runs the client's CPU was saturated."
    return text
