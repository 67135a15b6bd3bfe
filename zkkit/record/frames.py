"""What a recording says, in the design's own words: fires, wakeups, handoffs, overtakings.

Pure functions over rows ``(hook, event)`` in the order of recording: a Recorder, or what
``read_jsonl`` and ``read_parquet`` give. They return the events themselves, so that ``len`` gives
the figure and the rest says where it comes from.
"""

from __future__ import annotations

from bisect import bisect, insort
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from zkkit.hooks import Event

__all__ = ["Row", "creates", "fires", "handoffs", "overtakings", "useful_wakeups", "wakeups"]

Row = tuple[str, Event]
"""A hook's name and what it was told."""

_Who = tuple[int, str]


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


def wakeups(rows: Iterable[Row]) -> list[Event]:
    """The times an actor was resumed by a fire."""
    return [event for hook, event in rows if hook == "woke"]


def useful_wakeups(rows: Iterable[Row]) -> list[Event]:
    """The wakeups that got their actor what it waited for, in the order in which it was got.

    A wakeup is useful if the same actor of the same session acquires before it is woken again.
    """
    latest: dict[_Who, Event] = {}
    useful = []
    for hook, event in rows:
        if hook == "woke":
            latest[_who(event)] = event
        elif hook == "acquired" and (wakeup := latest.pop(_who(event), None)):
            useful.append(wakeup)
    return useful


@dataclass
class _Grant:
    event: Event
    released_ns: int | None = None


def handoffs(rows: Iterable[Row]) -> list[int]:
    """Nanoseconds from each release to the grant that followed it, where the actor changed.

    For exclusive locks, told apart by directory (the parent of the path), recorded in one process:
    clocks of two hosts are never subtracted. Each grant is paired with the grant before it, not
    with the last release seen: where a release is recorded when it is answered, the next actor may
    have learnt of it before. Such a handoff is negative, and says just that. A hold that was lost,
    not released, starts no handoff.
    """
    last: dict[str, _Grant] = {}
    open_: dict[tuple[_Who, str], _Grant] = {}
    pairs: list[tuple[_Grant, _Grant]] = []
    for hook, event in rows:
        if event.kind == "reentrant":
            continue
        key = (_who(event), event.path)
        if hook == "acquired":
            directory = event.path.rpartition("/")[0]
            grant = open_[key] = _Grant(event)
            if before := last.get(directory):
                pairs.append((before, grant))
            last[directory] = grant
        elif hook in ("released", "lost") and (ended := open_.pop(key, None)):
            ended.released_ns = event.t_ns if hook == "released" else None
    return [
        after.event.t_ns - before.released_ns
        for before, after in pairs
        if before.released_ns is not None and _who(before.event) != _who(after.event)
    ]


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
        if hook == "acquired" and event.kind != "reentrant" and places[event.actor]:
            place = places[event.actor].popleft()
            overtaken += len(granted) - bisect(granted, place)
            insort(granted, place)
    return overtaken


def _who(event: Event) -> _Who:
    return event.session, event.actor
