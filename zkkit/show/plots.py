"""The picture of a comparison: fires against contenders, and handoffs.

matplotlib is imported only when a picture is drawn, and drawn to a file without any display.
Each design has a colour safe for the colour-blind (Okabe and Ito's) and a marker of its own.
"""

from __future__ import annotations

import importlib
import io
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from zkkit.errors import ZkkitError
from zkkit.show.findings import Figure, Results, title

_INK, _MUTED, _GRID = "#222222", "#555555", "#DDDDDD"
_WIDTH, _HEIGHT, _DPI = 10.0, 5.0, 160  # inches, inches, dots per inch: 1600 x 800
_MARGIN = 0.02  # left and right of the texts, as a part of the width
_DODGE = 0.008  # how far the designs stand beside each other, as a part of the axis
_STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": _MUTED,
    "axes.labelcolor": _INK,
    "text.color": _INK,
    "xtick.color": _MUTED,
    "ytick.color": _MUTED,
    "axes.grid": True,
    "grid.color": _GRID,
    "grid.linewidth": 0.8,
    "axes.axisbelow": True,
}


class NoPicture(ZkkitError, ImportError):
    """matplotlib cannot be imported."""


class _Look(NamedTuple):
    colour: str
    marker: str


_LOOKS = {"herd": _Look("#D55E00", "^"), "sequential": _Look("#0072B2", "o")}
_OTHERS = (_Look("#009E73", "s"), _Look("#CC79A7", "D"), _Look("#E69F00", "v"))


def compare_png(results: Results) -> bytes:
    """The picture for results of `compare`, 1600 pixels wide, on white."""
    matplotlib, figure_module = _need("matplotlib"), _need("matplotlib.figure")
    with matplotlib.rc_context(_STYLE):
        # A figure of its own, not pyplot's: nothing is left behind in a notebook.
        figure = figure_module.Figure(figsize=(_WIDTH, _HEIGHT), dpi=_DPI, facecolor="white")
        left, right = figure.subplots(1, 2, gridspec_kw={"width_ratios": (1.15, 1)})
        figure.subplots_adjust(left=0.065, right=0.88, top=0.775, bottom=0.2, wspace=0.6)
        heading = figure.text(_MARGIN, 0.945, title(results), fontweight="bold", va="center")
        _fit(figure, heading, largest=17)
        figure.text(_MARGIN, 0.02, _footer(results), fontsize=9, color=_MUTED, va="bottom")
        looks = _looks(results["plan"]["designs"])
        _draw_fires(left, results, looks)
        _draw_handoffs(right, results, looks)
        return _as_png(figure)


def _draw_fires(axes: Any, results: Results, looks: Mapping[str, _Look]) -> None:
    _prepare(axes, results, "Watches fired in one run", "fires")
    ends = []
    for name, look in looks.items():
        mine, law = _of(results, name), results["laws"][name]
        if not mine:
            continue
        xs, ys = zip(*law["curve"], strict=True)
        axes.plot(xs, ys, color=look.colour, lw=1.6, ls=(0, (4, 2)), zorder=2)
        _points(axes, mine, "fires", look, line=False)
        last = mine[-1]
        sign = "=" if law["relation"] == "exactly" else "≤"
        text = f"{name}: {_short(last['fires']['median'])}\nlaw {sign} {law['fires']}"
        ends.append((last["fires"]["median"], text, look))
    axes.set_ylim(0, axes.get_ylim()[1] * 1.05)
    _label_ends(axes, ends)


def _draw_handoffs(axes: Any, results: Results, looks: Mapping[str, _Look]) -> None:
    _prepare(axes, results, "From a release to the next grant", "handoff, median (ms)")
    ends = []
    for place, (name, look) in enumerate(looks.items()):
        mine = [f for f in _of(results, name) if f["handoff_ms"]]
        # Beside each other, so that no bar hides another.
        _points(axes, mine, "handoff_ms", look, line=True, shift=place - (len(looks) - 1) / 2)
        if mine:
            height = mine[-1]["handoff_ms"]["median"]
            ends.append((height, f"{name}:\n{_short(height)} ms", look))
    axes.set_ylim(0, axes.get_ylim()[1] * 1.05)
    _label_ends(axes, ends)


def _prepare(axes: Any, results: Results, heading: str, unit: str) -> None:
    axes.set_title(heading, loc="left", fontsize=12.5, pad=28)
    axes.set_xlabel("contenders")
    # Above the axis, not beside it: there it is read without turning the head, and long numbers
    # do not push it out of the picture.
    axes.text(0, 1.03, unit, transform=axes.transAxes, color=_MUTED, fontsize=10.5)
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
    look: _Look,
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


def _label_ends(axes: Any, ends: Sequence[tuple[float, str, _Look]]) -> None:
    """Names at the right ends of the lines, pushed apart where they would lie on each other."""
    low, high = axes.get_ylim()
    gap = (high - low) * 0.16
    place = low - gap
    for height, text, look in sorted(ends, key=lambda end: end[0]):
        place = max(height, place + gap)
        axes.annotate(
            text,
            xy=(1.025, place),
            xycoords=("axes fraction", "data"),
            color=look.colour,
            fontsize=10.5,
            fontweight="bold",
            va="center",
            annotation_clip=False,
        )


def _fit(figure: Any, text: Any, *, largest: float) -> None:
    """Make a text as large as the width allows."""
    text.set_fontsize(largest)
    room = figure.bbox.width * (1 - 2 * _MARGIN)
    canvas = _need("matplotlib.backends.backend_agg").FigureCanvasAgg(figure)
    width = text.get_window_extent(canvas.get_renderer()).width
    text.set_fontsize(largest * min(1.0, room / width))


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 or number == int(number) else f"{number:.1f}"


def _looks(designs: Sequence[str]) -> dict[str, _Look]:
    spare = iter(_OTHERS * len(designs))
    return {name: _LOOKS[name] if name in _LOOKS else next(spare) for name in designs}


def _of(results: Results, design: str) -> list[Figure]:
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


def _as_png(figure: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", facecolor="white")
    return buffer.getvalue()


def _need(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise NoPicture(
            f"no picture: cannot import {module} ({error})", hint="pip install 'zkkit[lab]'"
        ) from error
