"""A story: who did what, and when, made from a recording. Plain data, and its words.

`zkkit.show.swimlane` draws it. A wakeup is useful if its actor got the lock before it was woken
again, else wasted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from zkkit.hooks import Event
from zkkit.record import Row, frames
from zkkit.show.wording import many, milliseconds

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
    until_ms: float | None = None
    """When the story ends; None: nobody knows what came after the last mark."""

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
        None if until_ns is None else (until_ns - start) / 1e6,
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
        return f"{many(releases, 'release')} woke {many(woken, 'waiter')}, {wasted} for nothing"
    if not woken:
        return f"One release woke none of {many(waiting, 'waiter')}"
    outcome = f"{useful or 'none'} got the lock"
    if wasted:
        outcome += f", {wasted} woke for nothing"
    return f"One release woke {woken} of {many(waiting, 'waiter')}: {outcome}"


def words(told: Story) -> str:
    """All that the picture shows, lane by lane."""
    counts = ", ".join(many(told.count(kind), kind) for kind in Kind if told.count(kind))
    lines = [f"{title(told)}.", f"In {milliseconds(told.span_ms)} ms: {counts}."]
    for lane, name in enumerate(told.lanes):
        marks = told.of(lane)
        said = ", ".join(f"{mark.kind} at {milliseconds(mark.ms)} ms" for mark in marks)
        lines.append(f"{name}: {said or 'sleeps on'}.")
    if told.left_out:
        lines.append(notice(told))
    return "\n".join(lines)


def notice(told: Story) -> str:
    """What is said where a story was cut."""
    shown = len(told.marks)
    return f"Cut: the first {shown:,} of {shown + told.left_out:,} events are shown."
