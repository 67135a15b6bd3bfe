"""What a recording says, in the design's own words: fires, wakeups, handoffs, overtakings.

Pure functions over rows ``(hook, event)`` in the order of recording: a Recorder, or what
``read_jsonl`` and ``read_parquet`` give. They return a list, so that ``len`` gives the figure and
its members say where it comes from. `zkkit.record.frames` gives the same lists as pandas frames.
"""

from __future__ import annotations

from bisect import bisect, insort
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from zkkit.hooks import Event
from zkkit.steps import ENDED_BY

__all__ = [
    "Handoff", "Row", "Span", "Wakeup", "creates", "fires", "handoffs", "overtakings", "spans",
    "useful_wakeups", "wakeups",
]  # fmt: skip

Row = tuple[str, Event]
"""A hook's name and the event it was called with."""

_BEGUN_BY = {end: begin for begin, end in ENDED_BY.items()}
_GIVEN_BACK = ("released", "unled")


class Wakeup(NamedTuple):
    """One time that a fire resumed an actor, and what it was good for.

    ``outcome`` is as in the event ``wakeup_ended``: useful, again or failed. It is unknown if the
    recording ends before it is known, or comes from a client of kazoo's own.
    """

    t_ns: int
    session: int
    actor: str
    recipe: str
    path: str
    kind: str
    """The kind of the fire."""
    waited_ns: int
    outcome: str = "unknown"
    ended_ns: int | None = None
    """When the outcome was known; None: it is not."""


class Span(NamedTuple):
    """A stretch of time in which an actor held, led, or was inside."""

    what: str
    """The word that began it: acquired, led or entered."""
    session: int
    actor: str
    recipe: str
    path: str
    zxid: int
    start_ns: int | None
    """None: before the recording began."""
    end_ns: int | None = None
    """None: after the recording ended."""
    ended: str = ""
    """How: released, unled, left or lost; "" if it had not ended."""

    @property
    def directory(self) -> str:
        """What the actor held: the parent of its node."""
        return self.path.rpartition("/")[0]


class Handoff(NamedTuple):
    """A hold or a lead that went from one actor to another."""

    directory: str
    giver: str
    taker: str
    released_ns: int
    granted_ns: int
    ns: int
    """How long it took from the release to the grant."""


def fires(rows: Iterable[Row]) -> list[Event]:
    """The watch notifications that came over the wire.

    Without kind "none": those are made up on this side when a connection is lost, and the servers,
    the other witness, never count them.
    """
    return [event for hook, event in rows if hook == "watch_fired" and event.kind != "none"]


def creates(rows: Iterable[Row]) -> list[Event]:
    """The create requests sent, whatever came of them.

    The herd law is about these: most creates of a herd fail because the node exists. (Nodes that
    did come into being are the ``node_created`` rows.)
    """
    return [event for hook, event in rows if hook == "step" and event.kind == "Create"]


def wakeups(rows: Iterable[Row]) -> list[Wakeup]:
    """The times an actor was resumed by a fire."""
    found: list[Wakeup] = []
    awake: defaultdict[tuple[int, str, str, int], list[int]] = defaultdict(list)
    for hook, event in rows:
        # By the time, too: actors in the background may share a name, and one fire wakes them all.
        if hook == "woke":
            awake[event.session, event.actor, event.path, event.t_ns].append(len(found))
            found.append(Wakeup(*event[:6], event.duration))
        elif hook == "wakeup_ended":
            woke_ns = event.t_ns - event.duration
            if places := awake[event.session, event.actor, event.path, woke_ns]:
                place = places.pop()
                found[place] = found[place]._replace(outcome=event.kind, ended_ns=event.t_ns)
    return found


def useful_wakeups(rows: Iterable[Row]) -> list[Wakeup]:
    """The wakeups that got their actor what it waited for: the run it woke gained something, or
    ended with a result, before it waited again."""
    return [wakeup for wakeup in wakeups(rows) if wakeup.outcome == "useful"]


def spans(rows: Iterable[Row]) -> list[Span]:
    """All holds, leads and stays, in the order in which they began; those that began before the
    recording stand where they ended. A reentrant acquire belongs to the hold it is in."""
    found: list[Span] = []
    running: defaultdict[tuple[str, int, str, int], list[int]] = defaultdict(list)
    lost = set()  # they may still be given back, which ends nothing more
    for hook, event in rows:
        what = hook if hook in ENDED_BY else _ended_by(hook, event)
        if not what or event.kind == "reentrant":
            continue
        key = (what, event.session, event.path, event.zxid)
        if hook in ENDED_BY:
            lost.discard(key)
            running[key].append(len(found))
            found.append(_span(what, event)._replace(start_ns=event.t_ns))
        elif places := running[key]:
            # Whoever has a hold may give it back: the actor may be another one.
            place = next((p for p in places if found[p].actor == event.actor), places[0])
            places.remove(place)
            found[place] = found[place]._replace(end_ns=event.t_ns, ended=hook)
        elif key not in lost:
            found.append(_span(what, event)._replace(end_ns=event.t_ns, ended=hook))
        if hook == "lost":
            lost.add(key)
    return found


def _ended_by(hook: str, event: Event) -> str | None:
    return event.kind or "acquired" if hook == "lost" else _BEGUN_BY.get(hook)


def _span(what: str, event: Event) -> Span:
    return Span(what, *event[1:5], event.zxid, None)


def handoffs(rows: Iterable[Row]) -> list[Handoff]:
    """How long it took from each release to the grant that followed it, where the actor changed.

    For exclusive locks and elections, told apart by directory, recorded in one process: clocks of
    two hosts are never subtracted. Each grant is paired with the grant before it, not with the last
    release seen: where a release is recorded when it is answered, the next actor may have learnt of
    it before. Such a handoff is negative, and says just that. A hold that was lost, not released,
    starts no handoff.
    """
    found = []
    last: dict[tuple[str, str], Span] = {}
    for span in spans(rows):
        if span.what == "entered" or span.start_ns is None:
            continue
        before = last.get((span.what, span.directory))
        last[span.what, span.directory] = span
        if (
            before is not None
            and before.end_ns is not None
            and before.ended in _GIVEN_BACK
            and (before.session, before.actor) != (span.session, span.actor)
        ):
            ns = span.start_ns - before.end_ns
            found.append(
                Handoff(span.directory, before.actor, span.actor, before.end_ns, span.start_ns, ns)
            )
    return found


def overtakings(rows: Iterable[Row], order: Sequence[str]) -> int:
    """How many pairs of actors were granted in another order than they began to wait in.

    ``order`` names the actors as they began to wait; one that waits again is named again. Those
    never granted, and grants of actors not named, count for nothing. 0 is FIFO.
    """
    places: defaultdict[str, deque[int]] = defaultdict(deque)
    for place, actor in enumerate(order):
        places[actor].append(place)
    granted: list[int] = []
    overtaken = 0
    for hook, event in rows:
        if hook in ("acquired", "led") and event.kind != "reentrant" and places[event.actor]:
            place = places[event.actor].popleft()
            overtaken += len(granted) - bisect(granted, place)
            insort(granted, place)
    return overtaken
