"""A swimlane: who did what, and when. One lane for each actor, time from left to right.

A recording becomes a `LaneChart` first (zkkit.show.lanes). The picture and the words are both made
from it, so they cannot say different things::

    chart = one_release(rows, names={"MainThread": "gate"})
    png(chart)        # the picture; png(chart, beside=other) has the time axis of both
    title(chart)      # what it says, in a line
    words(chart)      # all of it, lane by lane
"""

from __future__ import annotations

from typing import Any, NamedTuple

from zkkit.show import canvas
from zkkit.show.lanes import (
    CAUSES,
    LIMIT,
    WAKEUPS,
    LaneChart,
    PointKind,
    chart,
    notice,
    one_release,
    title,
    words,
)
from zkkit.show.wording import many

__all__ = [
    "LIMIT", "LaneChart", "PointKind", "chart", "one_release", "png", "svg", "title", "words",
]  # fmt: skip


class _Shape(NamedTuple):
    marker: str | tuple[int, int, int]
    colour: str
    size: float
    filled: bool = True
    below: float = 0.0
    """How far below the middle of the lane, where two marks would cover each other."""


_SHAPES = {
    PointKind.RELEASED: _Shape("s", canvas.INK, 9),
    PointKind.UNLED: _Shape("8", canvas.PINK, 9),
    PointKind.LEFT: _Shape("<", canvas.INK, 9),
    PointKind.DELETE: _Shape("s", canvas.MUTED, 8, filled=False),
    PointKind.WATCH_FIRED: _Shape("|", canvas.MUTED, 15),
    PointKind.WASTED: _Shape("X", canvas.ORANGE, 9.5),
    PointKind.USEFUL: _Shape("^", canvas.BLUE, 10),
    PointKind.UNKNOWN: _Shape("$?$", canvas.ORANGE, 10),
    PointKind.REFUSED: _Shape("o", canvas.MUTED, 6, filled=False),
    PointKind.WATCH_SET: _Shape("v", canvas.MUTED, 6, filled=False),
    PointKind.NODE_CREATED: _Shape("o", canvas.BLUE, 7, below=0.36),
    PointKind.ACQUIRED: _Shape("*", canvas.GREEN, 17),
    PointKind.LED: _Shape((4, 1, 0), canvas.PINK, 16),
    PointKind.ENTERED: _Shape(">", canvas.GREEN, 11),
    PointKind.PUT: _Shape("p", canvas.BLUE, 9),
    PointKind.TAKEN: _Shape("h", canvas.GREEN, 10),
    PointKind.DONE: _Shape("h", canvas.MUTED, 9, filled=False),
    PointKind.VALUE: _Shape("D", canvas.YELLOW, 8),
    PointKind.CACHED: _Shape("d", canvas.PINK, 10),
    PointKind.LOST: _Shape("P", canvas.ORANGE, 10),
}


class _Bar(NamedTuple):
    label: str
    colour: str
    hatch: str = ""


_BARS = {
    "acquired": _Bar("holds the lock", canvas.GREEN),
    "led": _Bar("leads", canvas.PINK, "//"),
    "entered": _Bar("is inside", canvas.YELLOW, ".."),
}
_LANE = 0.36  # inches
_ABOVE, _BELOW = 0.75, 1.2  # inches for the title, and for axis and two lines of legend
_COLUMNS, _LEGEND_LINE = 5, 0.22  # entries in a line of the legend, and its height in inches
_MANY_LANES = 120  # from here on lanes shrink, so that the picture keeps a size


def png(shown: LaneChart, *, beside: LaneChart | None = None) -> bytes:
    """The picture, 1600 pixels wide, on white.

    Two charts that are compared are each drawn `beside` the other: then a millisecond is as long
    in the one picture as in the other, and the quicker one looks it.

    Raises NoPicture if matplotlib is not installed.
    """
    with canvas.style():
        return canvas.as_png(_draw(shown, beside))


def svg(shown: LaneChart) -> str:
    """The picture as SVG, with its words as title and description. Raises as
    `png`."""
    with canvas.style(**canvas.SVG):
        return canvas.as_svg(_draw(shown), title(shown), words(shown))


def _draw(shown: LaneChart, beside: LaneChart | None = None) -> Any:
    lanes = len(shown.lanes)
    legend = _entries(shown)
    below = _BELOW + _LEGEND_LINE * max(0, -(-len(legend) // _COLUMNS) - 2)
    height = _ABOVE + below + _LANE * min(max(lanes, 2), _MANY_LANES)
    figure = canvas.start(height)
    axes = figure.subplots()
    widest = max((len(name) for name in shown.lanes), default=0)
    figure.subplots_adjust(
        left=min(0.3, 0.03 + 0.0095 * widest),
        right=0.98,
        top=1 - _ABOVE / height,
        bottom=below / height,
    )
    canvas.caption(figure, title(shown))
    _prepare(axes, shown, max(shown.span_ms, beside.span_ms if beside else 0.0))
    _draw_spans(axes, shown)
    _draw_fires(axes, shown)
    _draw_work(axes, shown)
    _draw_points(axes, shown)
    _draw_sleepers(axes, shown)
    _draw_legend(figure, legend, height)
    if shown.left_out:
        figure.text(
            0.98,
            1 - 0.66 / height,
            notice(shown),
            color=canvas.ORANGE,
            fontweight="bold",
            fontsize=10.5,
            ha="right",
            va="center",
        )
    return figure


def _prepare(axes: Any, shown: LaneChart, span: float) -> None:
    lanes = len(shown.lanes)
    span = max(span, 1.0)
    axes.set_xlim(-0.03 * span, 1.03 * span)
    axes.set_ylim(lanes - 0.4, -0.6)
    axes.set_yticks(range(lanes), shown.lanes)
    axes.set_xlabel(f"milliseconds since {shown.since}" if shown.since else "milliseconds")
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="x")
    axes.spines["left"].set_visible(False)
    points = shown.points
    granted = set(points[points["kind"].isin((PointKind.ACQUIRED, PointKind.LED))]["lane"])
    for lane, label in enumerate(axes.get_yticklabels()):
        label.set_color(canvas.INK)
        label.set_fontweight("bold" if lane in granted else "normal")


def _draw_spans(axes: Any, shown: LaneChart) -> None:
    left, right = axes.get_xlim()
    # What goes on goes on until the chart ends, or the picture.
    last = right if shown.until_ms is None else min(right, shown.until_ms)
    spans = shown.spans.fillna({"start_ms": left, "end_ms": last})
    for what, bar in _BARS.items():
        mine = spans[spans["what"] == what]
        width = mine["end_ms"] - mine["start_ms"]
        axes.barh(mine["lane"], width, left=mine["start_ms"], height=0.5, **_fill(bar))


def _fill(bar: _Bar) -> dict[str, Any]:
    edge = bar.colour if bar.hatch else "none"  # a hatch has the colour of the edge
    return {"facecolor": bar.colour, "edgecolor": edge, "hatch": bar.hatch, "alpha": 0.22, "lw": 0}


def _draw_fires(axes: Any, shown: LaneChart) -> None:
    """A line to each fire from the last thing before it that can have caused it: something that
    took away the node that was watched, or one right below it."""
    segments = []
    causes: dict[str, tuple[float, int]] = {}
    for point in shown.points.itertuples():
        if point.kind in CAUSES:
            causes[point.path] = causes[point.path.rpartition("/")[0]] = (point.ms, point.lane)
        elif point.kind == PointKind.WATCH_FIRED and point.path in causes:
            segments.append((causes[point.path], (point.ms, point.lane)))
    collections = canvas.need("matplotlib.collections")
    axes.add_collection(
        collections.LineCollection(segments, colors=canvas.MUTED, linewidths=0.8, alpha=0.7)
    )


def _draw_work(axes: Any, shown: LaneChart) -> None:
    """A line from each wakeup to the moment when its outcome was known."""
    wakeups = shown.points[shown.points["kind"].isin(WAKEUPS)].dropna(subset="end_ms")
    for woke in wakeups.itertuples():
        colour = _SHAPES[woke.kind].colour
        trail = {"color": colour, "linewidth": 4, "alpha": 0.3, "solid_capstyle": "butt"}
        axes.plot([woke.ms, woke.end_ms], [woke.lane, woke.lane], **trail, zorder=2)


def _draw_sleepers(axes: Any, shown: LaneChart) -> None:
    for lane in set(range(len(shown.lanes))) - set(shown.points["lane"]):
        axes.text(
            0,
            lane,
            "sleeps on",
            color=canvas.MUTED,
            fontsize=10,
            fontstyle="italic",
            va="center",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
        )


def _draw_points(axes: Any, shown: LaneChart) -> None:
    for kind, shape in _SHAPES.items():
        mine = shown.points[shown.points["kind"] == kind]
        if len(mine):
            heights = mine["lane"] + shape.below
            axes.plot(mine["ms"], heights, clip_on=False, zorder=3, **_look(shape))


def _look(shape: _Shape) -> dict[str, Any]:
    outlined = shape.filled and shape.marker not in ("|", "$?$")
    return {
        "linestyle": "none",
        "marker": shape.marker,
        "markersize": shape.size,
        "markerfacecolor": shape.colour if shape.filled else "white",
        "markeredgecolor": "white" if outlined else shape.colour,
        "markeredgewidth": 0.8 if outlined else 1.3,
    }


def _entries(shown: LaneChart) -> list[tuple[Any, str]]:
    """What each shape is, with how many of it there are."""
    line, patch = canvas.need("matplotlib.lines").Line2D, canvas.need("matplotlib.patches").Patch
    kinds = [kind for kind in _SHAPES if shown.count(kind)]
    entries = [(line([], [], **_look(_SHAPES[k])), many(shown.count(k), k)) for k in kinds]
    long = shown.spans[shown.spans["start_ms"] != shown.spans["end_ms"]]
    bars = [bar for what, bar in _BARS.items() if what in set(long["what"])]
    return entries + [(patch(**_fill(bar)), bar.label) for bar in bars]


def _draw_legend(figure: Any, entries: list[tuple[Any, str]], height: float) -> None:
    if entries:
        handles, labels = zip(*entries, strict=True)
        columns = min(_COLUMNS, -(-len(entries) // 2)) if len(entries) > 5 else len(entries)
        figure.legend(
            handles,
            labels,
            loc="lower left",
            bbox_to_anchor=(canvas.MARGIN - 0.01, 0.02 / height),
            ncols=columns,
            frameon=False,
            fontsize=10,
            handletextpad=0.4,
            columnspacing=1.6,
        )
