"""The picture of a comparison: fires against contenders, and handoffs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zkkit.show import canvas
from zkkit.show.findings import Figure, Results, title

_DODGE = 0.008  # how far the designs stand beside each other, as a part of the axis


def compare_png(results: Results) -> bytes:
    """The picture for results of `compare`, 1600 pixels wide, on white."""
    with canvas.style():
        figure = canvas.start(canvas.HEIGHT)
        left, right = figure.subplots(1, 2, gridspec_kw={"width_ratios": (1.15, 1)})
        figure.subplots_adjust(left=0.065, right=0.88, top=0.775, bottom=0.2, wspace=0.6)
        heading = figure.text(canvas.MARGIN, 0.945, title(results), fontweight="bold", va="center")
        canvas.fit(figure, heading, largest=17)
        figure.text(
            canvas.MARGIN, 0.02, _footer(results), fontsize=9, color=canvas.MUTED, va="bottom"
        )
        looks = canvas.looks(results["plan"]["designs"])
        _draw_fires(left, results, looks)
        _draw_handoffs(right, results, looks)
        return canvas.as_png(figure)


def _draw_fires(axes: Any, results: Results, looks: Mapping[str, canvas.Look]) -> None:
    prepare(axes, results, "Watches fired in one run", "fires")
    ends = []
    for name, look in looks.items():
        mine, law = of_design(results, name), results["laws"][name]
        if not mine:
            continue
        xs, ys = zip(*law["curve"], strict=True)
        axes.plot(xs, ys, color=look.colour, lw=1.6, ls=(0, (4, 2)), zorder=2)
        _points(axes, mine, "fires", look, line=False)
        last = mine[-1]
        sign = "=" if law["relation"] == "exactly" else "≤"
        text = f"{name}: {canvas.short(last['fires']['median'])}\nlaw {sign} {law['fires']}"
        ends.append((last["fires"]["median"], text, look))
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
        markersize=8.5,
        markeredgecolor="white",
        linestyle="-" if line else "none",
        linewidth=2,
        elinewidth=1.4,
        capsize=3.5,
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
    saturated = sum(run["saturated"] for run in results["runs"])
    if saturated:
        text += f" In {saturated} of {len(results['runs'])} runs the client's CPU was saturated."
    return text
