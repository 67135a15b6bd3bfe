"""A swimlane: who did what, and when. One lane for each actor, time from left to right.

A recording becomes a `Story` first: lanes and marks, plain data. The picture and the words are
both made from it, so they cannot tell different things::

    told = one_release(rows, names={"MainThread": "gate"})
    png(told)        # the picture
    title(told)      # what it says, in a line
    words(told)      # all of it, lane by lane

A wakeup is useful if its actor got the lock before it was woken again, else wasted.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from zkkit.hooks import Event
from zkkit.record import Row, frames
from zkkit.show import plots

__all__ = ["LIMIT", "Kind", "Mark", "Story", "one_release", "png", "story", "svg", "title", "words"]

LIMIT = 10_000
"""More marks than these nobody can see: the rest is cut off, and the picture says so."""


class Kind(StrEnum):
    """What a mark stands for."""

    RELEASE = "release"
    FIRE = "watch fire"
    WASTED = "wasted wakeup"
    USEFUL = "useful wakeup"
    REFUSED = "create refused"
    WATCH = "watch set"
    CREATED = "node created"
    GRANT = "grant"
    LOST = "hold lost"


class Mark(NamedTuple):
    """Something that happened in a lane, so many milliseconds after the story's start."""

    lane: int
    ms: float
    kind: Kind


class Held(NamedTuple):
    """A stretch of a lane during which its actor held; None: from before, or beyond the end."""

    lane: int
    start_ms: float | None
    end_ms: float | None


@dataclass(frozen=True)
class Story:
    """What a swimlane tells."""

    lanes: tuple[str, ...]
    marks: tuple[Mark, ...]
    helds: tuple[Held, ...]
    span_ms: float
    left_out: int = 0
    """Marks that were cut off at the end."""

    def count(self, *kinds: Kind) -> int:
        """How many marks of these kinds there are."""
        return sum(mark.kind in kinds for mark in self.marks)

    def of(self, lane: int) -> list[Mark]:
        """The marks of a lane, in their order."""
        return [mark for mark in self.marks if mark.lane == lane]


def story(
    rows: Iterable[Row],
    *,
    since_ns: int | None = None,
    until_ns: int | None = None,
    names: Mapping[str, str] | None = None,
    limit: int = LIMIT,
) -> Story:
    """What happened from `since_ns` until just before `until_ns` (of the recording's clock).

    All actors of the recording get a lane, also those that are silent meanwhile. `names` says
    how to call an actor.
    """
    everything = sorted(rows, key=lambda row: row[1].t_ns)
    lanes = _Lanes(everything, names or {})
    useful = {id(wakeup) for wakeup in frames.useful_wakeups(everything)}
    inside = [
        (hook, event)
        for hook, event in everything
        if (since_ns is None or event.t_ns >= since_ns)
        and (until_ns is None or event.t_ns < until_ns)
    ]
    start = since_ns if since_ns is not None else (inside[0][1].t_ns if inside else 0)
    marks = [
        Mark(lanes.of(event), (event.t_ns - start) / 1e6, kind)
        for hook, event in inside
        if (kind := _kind(hook, event, useful)) is not None
    ]
    kept = tuple(marks[:limit])
    return Story(
        lanes.labels,
        kept,
        tuple(_helds(kept)),
        max((mark.ms for mark in kept), default=0.0),
        len(marks) - len(kept),
    )


def one_release(
    rows: Iterable[Row],
    number: int = 0,
    *,
    names: Mapping[str, str] | None = None,
    limit: int = LIMIT,
) -> Story:
    """The story from one release until the next one; the first release has the number 0."""
    rows = list(rows)
    releases = sorted(event.t_ns for hook, event in rows if hook == "released")
    if number >= len(releases):
        raise ValueError(f"the recording has {len(releases)} releases, none has number {number}")
    until = releases[number + 1] if number + 1 < len(releases) else None
    return story(rows, since_ns=releases[number], until_ns=until, names=names, limit=limit)


# --- from rows to marks -----------------------------------------------------------------

_PLAIN = {
    "released": Kind.RELEASE,
    "watch_set": Kind.WATCH,
    "node_created": Kind.CREATED,
    "lost": Kind.LOST,
}


def _kind(hook: str, event: Event, useful: set[int]) -> Kind | None:
    """What the row is in a story; None if it is nothing."""
    if hook == "woke":
        return Kind.USEFUL if id(event) in useful else Kind.WASTED
    if hook == "watch_fired" and event.kind != "none":  # "none" never came over the wire
        return Kind.FIRE
    if hook == "acquired" and event.kind != "reentrant":
        return Kind.GRANT
    if hook == "step" and event.kind == "Create" and event.cause == "NodeExists":
        return Kind.REFUSED
    return _PLAIN.get(hook)


class _Lanes:
    """Which lane an event belongs to.

    A fire is of a session, not of an actor. Where several actors share the session, it is drawn
    in the lane of the first one it woke.
    """

    def __init__(self, rows: Sequence[Row], names: Mapping[str, str]) -> None:
        self._lanes: dict[tuple[int, str], int] = {}
        self._woken: dict[int, int] = {}
        self._sole: dict[int, int] = {}
        for _, event in rows:
            if event.actor:
                lane = self._lanes.setdefault((event.session, event.actor), len(self._lanes))
                self._sole.setdefault(event.session, lane)
        waiting: dict[int, list[Event]] = {}
        for hook, event in rows:
            if hook == "watch_fired":
                waiting.setdefault(event.session, []).append(event)
            elif hook == "woke":
                for fire in waiting.pop(event.session, ()):
                    self._woken[id(fire)] = self._lanes[event.session, event.actor]
        for _, event in rows:
            if event.session and event.session not in self._sole and not event.actor:
                self._sole[event.session] = len(self._lanes)
                self._lanes[event.session, ""] = len(self._lanes)
        self.labels = tuple(_labels(list(self._lanes), names))

    def of(self, event: Event) -> int:
        if event.actor:
            return self._lanes[event.session, event.actor]
        return self._woken.get(id(event), self._sole.get(event.session, 0))


def _labels(keys: Sequence[tuple[int, str]], names: Mapping[str, str]) -> Iterable[str]:
    """The actors' names; where two sessions have actors of one name, with the session's id."""
    actors = [actor for _, actor in keys]
    for session, actor in keys:
        name = names.get(actor, actor)
        if not actor:
            yield f"session {session:#x}"
        elif actors.count(actor) > 1:
            yield f"{name} ({session:#x})"
        else:
            yield name


def _helds(marks: Sequence[Mark]) -> Iterable[Held]:
    since: dict[int, float] = {}
    for mark in marks:
        if mark.kind is Kind.GRANT:
            since[mark.lane] = mark.ms
        elif mark.kind in (Kind.RELEASE, Kind.LOST):
            yield Held(mark.lane, since.pop(mark.lane, None), mark.ms)
    for lane, start in since.items():
        yield Held(lane, start, None)


# --- in words ---------------------------------------------------------------------------


def title(told: Story) -> str:
    """What the story says, in one line."""
    releases, useful = told.count(Kind.RELEASE), told.count(Kind.USEFUL)
    wasted = told.count(Kind.WASTED)
    woken, waiting = useful + wasted, len(told.lanes) - 1
    if releases != 1:
        return f"{_many(releases, 'release')} woke {_many(woken, 'waiter')}, {wasted} for nothing"
    outcome = "for nothing" if not useful else f"{useful} got the lock"
    if wasted and useful:
        outcome += f", {wasted} woke for nothing"
    return f"One release woke {woken} of {_many(waiting, 'waiter')}: {outcome}"


def words(told: Story) -> str:
    """All that the picture shows, lane by lane."""
    counts = ", ".join(_many(told.count(kind), kind) for kind in Kind if told.count(kind))
    lines = [f"{title(told)}.", f"In {told.span_ms:.1f} ms: {counts}."]
    for lane, name in enumerate(told.lanes):
        marks = told.of(lane)
        said = ", ".join(f"{mark.kind} at {mark.ms:.1f} ms" for mark in marks)
        lines.append(f"{name}: {said or 'nothing'}.")
    if told.left_out:
        lines.append(_notice(told))
    return "\n".join(lines)


def _notice(told: Story) -> str:
    shown = len(told.marks)
    return f"Cut: the first {shown:,} of {shown + told.left_out:,} events are shown."


def _many(number: int, what: str) -> str:
    if number == 1:
        return f"1 {what}"
    head, _, rest = what.partition(" ")
    if rest in ("set", "refused", "created", "lost"):  # two watches set, two nodes created
        return f"{number:,} {head}{'es' if head.endswith('ch') else 's'} {rest}"
    return f"{number:,} {what}s"


# --- the picture ------------------------------------------------------------------------


class _Shape(NamedTuple):
    marker: str
    colour: str
    size: float
    filled: bool = True
    below: float = 0.0
    """How far below the middle of the lane, where two marks would cover each other."""


_SHAPES = {
    Kind.RELEASE: _Shape("s", plots._INK, 9),
    Kind.FIRE: _Shape("|", plots._MUTED, 15),
    Kind.WASTED: _Shape("X", "#D55E00", 9.5),
    Kind.USEFUL: _Shape("^", "#0072B2", 10),
    Kind.REFUSED: _Shape("o", plots._MUTED, 6, filled=False),
    Kind.WATCH: _Shape("v", plots._MUTED, 6, filled=False),
    Kind.CREATED: _Shape("o", "#0072B2", 7, below=0.27),
    Kind.GRANT: _Shape("*", "#009E73", 17),
    Kind.LOST: _Shape("P", "#D55E00", 10),
}
_LANE = 0.36  # inches
_ABOVE, _BELOW = 0.8, 1.2  # inches for the title, and for axis and legend
_MANY_LANES = 120  # from here on lanes shrink, so that the picture keeps a size


def png(told: Story) -> bytes:
    """The picture, 1600 pixels wide, on white."""
    with plots._need("matplotlib").rc_context(plots._STYLE):
        return plots._as_png(_draw(told))


def svg(told: Story) -> str:
    """The picture as SVG, with its words as title and description."""
    with plots._need("matplotlib").rc_context({**plots._STYLE, "svg.hashsalt": "zkkit"}):
        buffer = io.StringIO()
        about = {"Title": title(told), "Description": words(told), "Date": None, "Creator": "zkkit"}
        _draw(told).savefig(buffer, format="svg", facecolor="white", metadata=about)
        return buffer.getvalue()


def _draw(told: Story) -> Any:
    lanes = len(told.lanes)
    height = _ABOVE + _BELOW + _LANE * min(max(lanes, 2), _MANY_LANES)
    figure = plots._need("matplotlib.figure").Figure(
        figsize=(plots._WIDTH, height), dpi=plots._DPI, facecolor="white"
    )
    axes = figure.subplots()
    widest = max((len(name) for name in told.lanes), default=0)
    figure.subplots_adjust(
        left=min(0.3, 0.03 + 0.0095 * widest),
        right=0.98,
        top=1 - _ABOVE / height,
        bottom=_BELOW / height,
    )
    heading = figure.text(
        plots._MARGIN, 1 - 0.33 / height, title(told), fontweight="bold", va="center"
    )
    plots._fit(figure, heading, largest=17)
    _prepare(axes, told)
    _draw_holds(axes, told)
    _draw_fires(axes, told)
    _draw_marks(axes, told)
    _legend(figure, told, height)
    if told.left_out:
        figure.text(
            0.98,
            1 - 0.66 / height,
            _notice(told),
            color="#D55E00",
            fontweight="bold",
            fontsize=10.5,
            ha="right",
            va="center",
        )
    return figure


def _prepare(axes: Any, told: Story) -> None:
    lanes = len(told.lanes)
    span = max(told.span_ms, 1.0)
    axes.set_xlim(-0.03 * span, 1.03 * span)
    axes.set_ylim(lanes - 0.4, -0.6)
    axes.set_yticks(range(lanes), told.lanes)
    axes.set_xlabel("milliseconds since the release")
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="x")
    axes.spines["left"].set_visible(False)
    granted = {mark.lane for mark in told.marks if mark.kind is Kind.GRANT}
    for lane, label in enumerate(axes.get_yticklabels()):
        label.set_color(plots._INK)
        label.set_fontweight("bold" if lane in granted else "normal")


def _draw_holds(axes: Any, told: Story) -> None:
    left, right = axes.get_xlim()
    for held in told.helds:
        start = left if held.start_ms is None else held.start_ms
        end = right if held.end_ms is None else held.end_ms
        axes.barh(held.lane, end - start, left=start, height=0.5, color="#009E73", alpha=0.22)


def _draw_fires(axes: Any, told: Story) -> None:
    """A line from each fire to the release before it, which caused it."""
    segments = []
    cause: Mark | None = None
    for mark in told.marks:
        if mark.kind is Kind.RELEASE:
            cause = mark
        elif mark.kind is Kind.FIRE and cause is not None:
            segments.append(((cause.ms, cause.lane), (mark.ms, mark.lane)))
    collections = plots._need("matplotlib.collections")
    axes.add_collection(
        collections.LineCollection(segments, colors=plots._MUTED, linewidths=0.8, alpha=0.7)
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
    lines = plots._need("matplotlib.lines")
    shown = [kind for kind in _SHAPES if told.count(kind)]
    handles = [lines.Line2D([], [], **_look(_SHAPES[kind])) for kind in shown]
    labels = [_many(told.count(kind), kind) for kind in shown]
    if any(held.start_ms != held.end_ms for held in told.helds):
        patches = plots._need("matplotlib.patches")
        handles.append(patches.Patch(color="#009E73", alpha=0.22))
        labels.append("holds the lock")
    if handles:
        figure.legend(
            handles,
            labels,
            loc="lower left",
            bbox_to_anchor=(plots._MARGIN - 0.01, 0.02 / height),
            ncols=-(-len(handles) // 2) if len(handles) > 5 else len(handles),
            frameon=False,
            fontsize=10,
            handletextpad=0.4,
            columnspacing=1.6,
        )
