"""The picture of a comparison: fires against contenders, and handoffs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zkkit.show import canvas
from zkkit.show.findings import Figure, Results, shown, sign, title

_DODGE = 0.008  # how far the designs stand beside each other, as a part of the axis


def compare_png(results: Results) -> bytes:
    """The picture for results of `compare`, 1600 pixels wide, on white."""
    with canvas.style():
        figure = canvas.start(canvas.HEIGHT)
        left, right = figure.subplots(1, 2, gridspec_kw={"width_ratios": (1.15, 1)})
        looks = canvas.looks(results["plan"]["designs"])
        _make_room(figure, results, looks)
        heading = figure.text(canvas.MARGIN, 0.945, title(results), fontweight="bold", va="center")
        canvas.fit(figure, heading, largest=17)
        figure.text(
            canvas.MARGIN, 0.02, _footer(results), fontsize=9, color=canvas.MUTED, va="bottom"
        )
        _draw_counts(left, results, looks)
        _draw_handoffs(right, results, looks)
        return canvas.as_png(figure)


def _make_room(figure: Any, results: Results, looks: Mapping[str, canvas.Look]) -> None:
    """Room for the names at the right ends of the lines, as much as the longest needs."""
    what = shown(results)
    names = max(map(len, looks))
    labels = max(names + 5, *(len(results["laws"][name][what]["formula"]) + 6 for name in looks))
    figure.subplots_adjust(
        left=0.065,
        right=0.88 - 0.006 * max(0, names - len("sequential")),
        top=0.775,
        bottom=0.2,
        wspace=max(0.6, 0.041 * labels),
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
        xs, ys = zip(*law["curve"], strict=True)
        # Two designs may have one law, and one count: neither line nor point hides the other.
        dashes = (2, 4) if law["formula"] in drawn else (4, 2)
        drawn.add(law["formula"])
        axes.plot(xs, ys, color=look.colour, lw=1.6, ls=(0, dashes), zorder=2)
        _points(axes, mine, what, look, line=False, hollow=len(looks) > 2)
        height = mine[-1][what]["median"]
        text = f"{name}: {canvas.short(height)}\nlaw {sign(law)} {law['formula']}"
        ends.append((height, text, look))
    axes.set_ylim(0, axes.get_ylim()[1] * 1.05)
    canvas.label_ends(axes, ends)


def _draw_handoffs(axes: Any, results: Results, looks: Mapping[str, canvas.Look]) -> None:
    prepare(axes, results, "From a release to the next grant", "handoff, median (ms)")
    ends = []
    for place, (name, look) in enumerate(looks.items()):
        mine = [f for f in of_design(results, name) if f["handoff_ms"]]
        # Beside each other, so that no bar hides another.
        _points(axes, mine, "handoff_ms", look, line=True, shift=place - (len(looks) - 1) / 2)
        if mine:
            height = mine[-1]["handoff_ms"]["median"]
            ends.append((height, f"{name}:\n{canvas.short(height)} ms", look))
    axes.set_ylim(0, axes.get_ylim()[1] * 1.05)
    canvas.label_ends(axes, ends)


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
    shift: float = 0.0,
    hollow: bool = False,
) -> None:
    spreads = [f[what] for f in figures]
    by = shift * 2 * _DODGE * axes.get_xlim()[1]
    axes.errorbar(
        [f["contenders"] + by for f in figures],
        [s["median"] for s in spreads],
        yerr=[
            [s["median"] - s["low"] for s in spreads],
            [s["high"] - s["median"] for s in spreads],
        ],
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


def of_design(results: Results, design: str) -> list[Figure]:
    """The figures of one design."""
    return [figure for figure in results["figures"] if figure["design"] == design]


def _footer(results: Results) -> str:
    plan, machine = results["plan"], results["machine"]
    text = (
        f"Dashed: the law. Points: median of {plan['repeats']} repeats, bars: smallest and "
        f"greatest. Each hold {plan['hold_ms']:g} ms. Data on {results['ensemble']['medium']}.\n"
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
