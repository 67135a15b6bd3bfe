"""A swimlane: who did what, and when. One lane for each actor, time from left to right.

A recording becomes a `Story` first (zkkit.show.story). The picture and the words are both made
from it, so they cannot tell different things::

    told = one_release(rows, names={"MainThread": "gate"})
    png(told)        # the picture; png(told, beside=other) has the time axis of both
    title(told)      # what it says, in a line
    words(told)      # all of it, lane by lane
"""

from __future__ import annotations

from typing import Any, NamedTuple

from zkkit.show import canvas
from zkkit.show.story import (
    LIMIT,
    Kind,
    Mark,
    Story,
    notice,
    one_release,
    story,
    title,
    words,
)
from zkkit.show.wording import many

__all__ = ["LIMIT", "Kind", "Mark", "Story", "one_release", "png", "story", "svg", "title", "words"]


class _Shape(NamedTuple):
    marker: str
    colour: str
    size: float
    filled: bool = True
    below: float = 0.0
    """How far below the middle of the lane, where two marks would cover each other."""


_SHAPES = {
    Kind.RELEASE: _Shape("s", canvas.INK, 9),
    Kind.FIRE: _Shape("|", canvas.MUTED, 15),
    Kind.WASTED: _Shape("X", canvas.ORANGE, 9.5),
    Kind.USEFUL: _Shape("^", canvas.BLUE, 10),
    Kind.REFUSED: _Shape("o", canvas.MUTED, 6, filled=False),
    Kind.WATCH: _Shape("v", canvas.MUTED, 6, filled=False),
    Kind.CREATED: _Shape("o", canvas.BLUE, 7, below=0.36),
    Kind.GRANT: _Shape("*", canvas.GREEN, 17),
    Kind.LOST: _Shape("P", canvas.ORANGE, 10),
}
_WAKEUPS = (Kind.WASTED, Kind.USEFUL)
_LANE = 0.36  # inches
_ABOVE, _BELOW = 0.75, 1.2  # inches for the title, and for axis and legend
_MANY_LANES = 120  # from here on lanes shrink, so that the picture keeps a size


def png(told: Story, *, beside: Story | None = None) -> bytes:
    """The picture, 1600 pixels wide, on white.

    Two stories that are compared are each drawn `beside` the other: then a millisecond is as long
    in the one picture as in the other, and the quicker one looks it.
    """
    with canvas.style():
        return canvas.as_png(_draw(told, beside))


def svg(told: Story, *, beside: Story | None = None) -> str:
    """The picture as SVG, with its words as title and description; `beside` as in `png`."""
    with canvas.style(**canvas.SVG):
        return canvas.as_svg(_draw(told, beside), title(told), words(told))


def _draw(told: Story, beside: Story | None = None) -> Any:
    lanes = len(told.lanes)
    height = _ABOVE + _BELOW + _LANE * min(max(lanes, 2), _MANY_LANES)
    figure = canvas.start(height)
    axes = figure.subplots()
    widest = max((len(name) for name in told.lanes), default=0)
    figure.subplots_adjust(
        left=min(0.3, 0.03 + 0.0095 * widest),
        right=0.98,
        top=1 - _ABOVE / height,
        bottom=_BELOW / height,
    )
    heading = figure.text(
        canvas.MARGIN, 1 - 0.33 / height, title(told), fontweight="bold", va="center"
    )
    canvas.fit(figure, heading, largest=17)
    _prepare(axes, told, max(told.span_ms, beside.span_ms if beside else 0.0))
    _draw_holds(axes, told)
    _draw_fires(axes, told)
    _draw_work(axes, told)
    _draw_marks(axes, told)
    _draw_sleepers(axes, told)
    _legend(figure, told, height)
    if told.left_out:
        figure.text(
            0.98,
            1 - 0.66 / height,
            notice(told),
            color=canvas.ORANGE,
            fontweight="bold",
            fontsize=10.5,
            ha="right",
            va="center",
        )
    return figure


def _prepare(axes: Any, told: Story, span: float) -> None:
    lanes = len(told.lanes)
    span = max(span, 1.0)
    axes.set_xlim(-0.03 * span, 1.03 * span)
    axes.set_ylim(lanes - 0.4, -0.6)
    axes.set_yticks(range(lanes), told.lanes)
    axes.set_xlabel("milliseconds since the release")
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="x")
    axes.spines["left"].set_visible(False)
    granted = {mark.lane for mark in told.marks if mark.kind is Kind.GRANT}
    for lane, label in enumerate(axes.get_yticklabels()):
        label.set_color(canvas.INK)
        label.set_fontweight("bold" if lane in granted else "normal")


def _draw_holds(axes: Any, told: Story) -> None:
    left, right = axes.get_xlim()
    # A hold that goes on goes on until the story ends, or the picture.
    last = right if told.until_ms is None else min(right, told.until_ms)
    for held in told.helds:
        start = left if held.start_ms is None else held.start_ms
        end = last if held.end_ms is None else held.end_ms
        axes.barh(held.lane, end - start, left=start, height=0.5, color=canvas.GREEN, alpha=0.22)


def _draw_fires(axes: Any, told: Story) -> None:
    """A line from each fire to the release before it, which caused it."""
    segments = []
    cause: Mark | None = None
    for mark in told.marks:
        if mark.kind is Kind.RELEASE:
            cause = mark
        elif mark.kind is Kind.FIRE and cause is not None:
            segments.append(((cause.ms, cause.lane), (mark.ms, mark.lane)))
    collections = canvas.need("matplotlib.collections")
    axes.add_collection(
        collections.LineCollection(segments, colors=canvas.MUTED, linewidths=0.8, alpha=0.7)
    )


def _draw_work(axes: Any, told: Story) -> None:
    """A line from each wakeup to the last thing its actor did because of it."""
    for lane in range(len(told.lanes)):
        marks = told.of(lane)
        for place, mark in enumerate(marks):
            if mark.kind in _WAKEUPS:
                end = mark.ms
                for later in marks[place + 1 :]:
                    if later.kind in (*_WAKEUPS, Kind.FIRE, Kind.RELEASE):
                        break
                    end = later.ms
                axes.plot([mark.ms, end], [lane, lane], **_trail(_SHAPES[mark.kind]), zorder=2)


def _trail(shape: _Shape) -> dict[str, Any]:
    return {"color": shape.colour, "linewidth": 4, "alpha": 0.3, "solid_capstyle": "butt"}


def _draw_sleepers(axes: Any, told: Story) -> None:
    for lane in range(len(told.lanes)):
        if not told.of(lane):
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


def _draw_marks(axes: Any, told: Story) -> None:
    for kind, shape in _SHAPES.items():
        mine = [mark for mark in told.marks if mark.kind is kind]
        if mine:
            axes.plot(
                [mark.ms for mark in mine],
                [mark.lane + shape.below for mark in mine],
                clip_on=False,
                zorder=3,
                **_look(shape),
            )


def _look(shape: _Shape) -> dict[str, Any]:
    outlined = shape.filled and shape.marker != "|"
    return {
        "linestyle": "none",
        "marker": shape.marker,
        "markersize": shape.size,
        "markerfacecolor": shape.colour if shape.filled else "white",
        "markeredgecolor": "white" if outlined else shape.colour,
        "markeredgewidth": 0.8 if outlined else 1.3,
    }


def _legend(figure: Any, told: Story, height: float) -> None:
    """What each shape is, with how many of it there are."""
    lines = canvas.need("matplotlib.lines")
    shown = [kind for kind in _SHAPES if told.count(kind)]
    handles: list[Any] = [lines.Line2D([], [], **_look(_SHAPES[kind])) for kind in shown]
    labels = [many(told.count(kind), kind) for kind in shown]
    if any(held.start_ms != held.end_ms for held in told.helds):
        patches = canvas.need("matplotlib.patches")
        handles.append(patches.Patch(color=canvas.GREEN, alpha=0.22))
        labels.append("holds the lock")
    if handles:
        figure.legend(
            handles,
            labels,
            loc="lower left",
            bbox_to_anchor=(canvas.MARGIN - 0.01, 0.02 / height),
            ncols=-(-len(handles) // 2) if len(handles) > 5 else len(handles),
            frameon=False,
            fontsize=10,
            handletextpad=0.4,
            columnspacing=1.6,
        )
