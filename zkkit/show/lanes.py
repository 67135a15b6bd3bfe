"""A lane chart: who did what, and when, made from a recording. Plain frames, and their words.

`zkkit.show.swimlane` draws it. All of it comes from the frames of `zkkit.record.frames`: the points
from the events and the wakeups, whose outcome makes them useful or wasted; the bars from the spans.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from zkkit.hooks import Event
from zkkit.record import Row, frames
from zkkit.show.wording import many, milliseconds

LIMIT = 10_000
"""More points than these nobody can see: the rest is cut off, and the picture says so."""


class PointKind(StrEnum):
    """What a point in a lane stands for; where a hook tells it, by the name of the hook."""

    RELEASED = "release"
    UNLED = "resignation"
    LEFT = "exit"
    DELETE = "delete sent"
    WATCH_FIRED = "watch fire"
    WASTED = "wasted wakeup"
    USEFUL = "useful wakeup"
    UNKNOWN = "wakeup (unknown)"
    REFUSED = "create refused"
    WATCH_SET = "watch set"
    NODE_CREATED = "node created"
    ACQUIRED = "grant"
    LED = "lead"
    ENTERED = "entry"
    PUT = "item put"
    TAKEN = "item taken"
    DONE = "item done"
    VALUE = "value"
    CACHED = "cache event"
    LOST = "hold lost"


_OF_OUTCOMES = {"useful": PointKind.USEFUL, "unknown": PointKind.UNKNOWN}  # the others are wasted
_DELETING = ("released", "unled", "taken", "done")  # what a delete of the same node belongs to
WAKEUPS = (PointKind.WASTED, PointKind.USEFUL, PointKind.UNKNOWN)
CAUSES = (PointKind.RELEASED, PointKind.UNLED, PointKind.DELETE)
"""What can wake waiters."""
_NO_POINTS = (("acquired", "reentrant"), ("watch_fired", "none"))  # nothing new, and no real fire
_GAINED: dict[PointKind | None, str] = {
    PointKind.RELEASED: "got the lock",
    PointKind.UNLED: "took the lead",
}


@dataclass(frozen=True)
class LaneChart:
    """What a swimlane shows. Times are milliseconds since the chart's start."""

    lanes: tuple[str, ...]
    points: Any
    """A frame: lane, ms, kind, path, detail; for a wakeup `end_ms`, when its outcome was known."""
    spans: Any
    """A frame: lane, what (acquired, led, entered), start_ms and end_ms; a time that is NaN lies
    outside of the chart."""
    span_ms: float
    since: str = ""
    """What it starts with; "" if with the recording."""
    left_out: int = 0
    """Points that were cut off at the end."""
    until_ms: float | None = None
    """When the chart ends; None: what came after the last point is unknown."""

    def count(self, *kinds: PointKind) -> int:
        """How many points of these kinds there are."""
        return int(self.points["kind"].isin(kinds).sum())

    def of(self, lane: int) -> Any:
        """The points of a lane, in their order."""
        return self.points[self.points["lane"] == lane]


def chart(
    rows: Iterable[Row],
    *,
    since_ns: int | None = None,
    until_ns: int | None = None,
    since: str = "",
    names: Mapping[str, str] | None = None,
) -> LaneChart:
    """What happened from `since_ns` until just before `until_ns` (of the recording's clock).

    All actors of the recording get a lane, also those that are silent meanwhile. `names` says
    how to call an actor, `since` what happened at the start.

    Raises MissingExtra if pandas is not installed.
    """
    rows = sorted(rows, key=lambda row: row[1].t_ns)
    lanes = _Lanes(rows, names or {})
    points = _points(rows, lanes)
    inside = _within(points["t_ns"], points["t_ns"], since_ns, until_ns)
    points = points[inside].sort_values("t_ns", kind="stable")
    start = since_ns if since_ns is not None else (points["t_ns"].min() if len(points) else 0)
    points["ms"] = (points["t_ns"] - start) / 1e6
    until_ms = None if until_ns is None else (until_ns - start) / 1e6
    points["end_ms"] = ((points["end_ns"] - start) / 1e6).astype("float64").clip(upper=until_ms)
    kept = points.head(LIMIT)
    return LaneChart(
        lanes.labels,
        kept[["lane", "ms", "kind", "path", "detail", "end_ms"]].reset_index(drop=True),
        _spans(rows, lanes, start, since_ns, until_ns),
        float(kept[["ms", "end_ms"]].max().max()) if len(kept) else 0.0,
        since,
        len(points) - len(kept),
        until_ms,
    )


def one_release(
    rows: Iterable[Row], number: int = 0, *, names: Mapping[str, str] | None = None
) -> LaneChart:
    """The chart from one release (or resignation) until the next one; the first has number 0.

    Raises ValueError if the recording has not so many, and as `chart`.
    """
    rows = list(rows)
    releases = sorted((e.t_ns, hook) for hook, e in rows if hook in ("released", "unled"))
    if not 0 <= number < len(releases):
        raise ValueError(f"the recording has {len(releases)} releases, none has number {number}")
    since_ns, hook = releases[number]
    until_ns = releases[number + 1][0] if number + 1 < len(releases) else None
    since = f"the {PointKind[hook.upper()]}"
    return chart(rows, since_ns=since_ns, until_ns=until_ns, since=since, names=names)


# --- from rows to points and bars -----------------------------------------------------------


def _points(rows: Sequence[Row], lanes: _Lanes) -> Any:
    """All points of the recording, with the times of its clock."""
    events = frames.events(rows)
    marked = {(event.session, event.path) for hook, event in rows if hook in _DELETING}
    events["kind"] = [_kind(hook, event, marked) for hook, event in rows]
    events["detail"] = [_detail(hook, event) for hook, event in rows]
    events["lane"] = [lanes.of(event) for _, event in rows]
    woke = events["hook"] == "woke"
    wakeups = frames.wakeups(rows).set_axis(events.index[woke])
    outcomes = wakeups["outcome"].map(lambda outcome: _OF_OUTCOMES.get(outcome, PointKind.WASTED))
    events["kind"] = events["kind"].mask(woke, outcomes)
    events["end_ns"] = wakeups["ended_ns"]
    # A delete counts from when it was sent: its answer may come after the fires that it caused.
    sent = events["kind"] == PointKind.DELETE
    events.loc[sent, "t_ns"] -= events.loc[sent, "duration"]
    return events[events["kind"].notna()]


def _kind(hook: str, event: Event, marked: set[tuple[int, str]]) -> PointKind | None:
    """What the row is in a chart, wakeups aside; None if it is nothing."""
    if hook == "step" and event.kind == "Create" and event.cause == "NodeExists":
        return PointKind.REFUSED
    if hook == "step" and event.kind == "Delete" and not event.cause:
        # Where the recipe has marked what it means, the delete says nothing more.
        return None if (event.session, event.path) in marked else PointKind.DELETE
    if (hook, event.kind) in _NO_POINTS:
        return None
    return PointKind.__members__.get(hook.upper())


def _detail(hook: str, event: Event) -> str:
    if hook == "value":
        return f"{event.cause} to {event.kind}"
    if hook == "lost":
        return "(a lead)" if event.kind == "led" else ""
    return event.kind if hook == "cached" else ""


def _spans(
    rows: Sequence[Row], lanes: _Lanes, start: int, since_ns: int | None, until_ns: int | None
) -> Any:
    """The bars: of each span what lies within the chart."""
    spans = frames.spans(rows)
    began, ended = spans["start_ns"], spans["end_ns"]
    spans["lane"] = [lanes.of(each) for each in spans.itertuples()]
    spans = spans[_within(began, ended, since_ns, until_ns)]
    spans["start_ms"] = (began.where(began >= (since_ns or start)) - start) / 1e6
    spans["end_ms"] = (ended if until_ns is None else ended.where(ended < until_ns)) - start
    spans["end_ms"] /= 1e6
    floats = {"start_ms": "float64", "end_ms": "float64"}
    return spans[["lane", "what", "start_ms", "end_ms"]].astype(floats).reset_index(drop=True)


def _within(began: Any, ended: Any, since_ns: int | None, until_ns: int | None) -> Any:
    """Which of these stretches of time touch the chart; `<NA>` is before, or after, all of it."""
    inside = began.isna() | True
    if since_ns is not None:
        inside &= (ended >= since_ns).fillna(True)
    if until_ns is not None:
        inside &= (began < until_ns).fillna(True)
    return inside.astype(bool)


class _Lanes:
    """Which lane an event belongs to.

    A fire is of a session, not of an actor. Where several actors share the session, it is drawn
    in the lane of the first one it woke.
    """

    def __init__(self, rows: Sequence[Row], names: Mapping[str, str]) -> None:
        self._lanes: dict[tuple[int, str], int] = {}
        self._woken: dict[Event, int] = {}
        self._sole: dict[int, int] = {}
        for _, event in rows:
            if event.actor:
                lane = self._lanes.setdefault((event.session, event.actor), len(self._lanes))
                self._sole.setdefault(event.session, lane)
        for hook, event in rows:
            if hook in ("watch_fired", "woke") and event.session not in self._sole:
                self._sole[event.session] = len(self._lanes)
                self._lanes[event.session, ""] = len(self._lanes)
        waiting: dict[int, list[Event]] = {}
        for hook, event in rows:
            if hook == "watch_fired":
                waiting.setdefault(event.session, []).append(event)
            elif hook == "woke":
                for fire in waiting.pop(event.session, ()):
                    self._woken[fire] = self.of(event)
        self.labels = tuple(_labels(list(self._lanes), names))

    def of(self, event: Any) -> int:
        if event.actor:
            return self._lanes[event.session, event.actor]
        return self._woken.get(event, self._sole.get(event.session, 0))


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


# --- in words ---------------------------------------------------------------------------


def title(shown: LaneChart) -> str:
    """What the chart says, in one line."""
    useful, wasted, unknown = map(
        shown.count, (PointKind.USEFUL, PointKind.WASTED, PointKind.UNKNOWN)
    )
    woken = useful + wasted + unknown
    cause = next((kind for kind in CAUSES if shown.count(kind)), None)
    noun = (cause or "").removesuffix(" sent")
    gained = _GAINED.get(cause) or f"got what {'it' if useful == 1 else 'they'} waited for"
    said = [f"{useful or 'none'} {gained}"] if useful or wasted else []
    said += [f"{wasted} woke for nothing"] if wasted else []
    said += [f"of {unknown} it is unknown"] if unknown else []
    if cause is None:
        return f"{many(woken, 'waiter')} woke: {', '.join(said)}" if woken else "Nobody was woken"
    if shown.count(cause) > 1:
        tail = f", of {unknown} it is unknown" if unknown else ""
        causes = many(shown.count(cause), noun)
        return f"{causes} woke {many(woken, 'waiter')}, {wasted} for nothing{tail}"
    waiters = many(len(shown.lanes) - 1, "waiter")
    if not woken:
        return f"One {noun} woke none of {waiters}" if shown.since else "Nobody was woken"
    return f"One {noun} woke {woken} of {waiters}: {', '.join(said)}"


def words(shown: LaneChart) -> str:
    """All that the picture shows, lane by lane."""
    counts = ", ".join(many(shown.count(kind), kind) for kind in PointKind if shown.count(kind))
    lines = [f"{title(shown)}.", f"In {milliseconds(shown.span_ms)} ms: {counts or 'nothing'}."]
    for lane, name in enumerate(shown.lanes):
        said = ", ".join(
            f"{' '.join(filter(None, (point.kind, point.detail)))} at {milliseconds(point.ms)} ms"
            for point in shown.of(lane).itertuples()
        )
        lines.append(f"{name}: {said or 'sleeps on'}.")
    if shown.left_out:
        lines.append(notice(shown))
    return "\n".join(lines)


def notice(shown: LaneChart) -> str:
    """What is said where a chart was cut."""
    kept = len(shown.points)
    return f"Cut: the first {kept:,} of {kept + shown.left_out:,} events are shown."
