"""Telling: from a machine's events and facts to scenes, in words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import ZkkitError
from ..steps import (
    Children,
    Create,
    Data,
    Delete,
    Exists,
    Fire,
    FireKind,
    Get,
    Multi,
    Node,
    Set,
    Stat,
    Sync,
)
from . import standing
from .faults import KINDS
from .scenes import Deed, Scene
from .standing import short
from .state import ACTORS, FIRES, FRAMES

if TYPE_CHECKING:
    from .machine import Machine
    from .state import Draft, Event, Fact, State

_EVENTS = {
    "apply": "the server takes {session}'s next request",
    "catch up": "{session}'s follower catches up by one change",
    "learn": "{session} learns that it has expired",
    "vanish": "the server expires the crashed {session}",
    "forget": "the server expires the old session that {session} had given up",
    "begin": "{actor} begins",
    "work": "{actor} has done its work",
    "pause over": "{actor}'s pause is over",
    "call": "user code asked for in {session} runs",
    "close": "{session} is closed",
    "go on": "the process of {session} goes on, as though nothing had happened",
    "cancel": "FAULT: {actor} is cancelled",
    "crash": "FAULT: the process of {session} crashes",
    "expire": "FAULT: the server expires {session}, which does not know it yet",
    "give up": "FAULT: {session} is over by its own clock; the server still has it",
    "request lost": "FAULT: {session}'s connection breaks; what was under way never arrives",
    "reply lost": "FAULT: {session}'s connection breaks; the request arrived, the reply is lost",
    "lag": "FAULT: {session}'s follower begins to lag and misses this",
    "deadline": "FAULT: a deadline of {actor} runs out",
    "pause": "FAULT: the process of {session} stands still; the server expires the session",
    "reap": "FAULT: the server reaps the empty {what}",
    "lapse": "FAULT: nothing proves in time that the servers keep {session}: its holds are lost",
    "replicate": "{what} gets what the primary has",
    "failover": "FAULT: the primary fails, and {what} takes its place with what it has",
}
_OF_PATHS = frozenset({"reap", "replicate", "failover"})
_OF_ACTORS = frozenset({"begin", "work", "pause over", "cancel", "deadline"})


# --- from a machine's events to scenes ----------------------------------------------------


def scene_of(machine: Machine, event: Event, state: State | None, draft: Draft) -> Scene:
    """What an event did to a state (None: to nothing, at the beginning), and how things stand."""
    return Scene(
        tell_event(machine, event) if event else "at the beginning",
        " and ".join(part for part in event if part in KINDS),
        _whom(machine, event, draft.actors if state is None else state[ACTORS]),
        (*_deeds(machine, draft), *_unheard(machine, state, draft)),
        standing.nodes(machine, draft),
        standing.watches(machine, draft),
        standing.holds(machine, draft),
        standing.views(machine, draft),
        standing.doing(draft),
    )


def tell_event(machine: Machine, event: Event) -> str:
    """What happens, in a line."""
    try:
        kind, who = event[0], event[1]
        if kind in _OF_PATHS:
            return _EVENTS[kind].format(what=short(machine.names, who))
        if kind in _OF_ACTORS:
            return _EVENTS[kind].format(actor=machine.names[who])
        told = _EVENTS[kind].format(session=machine.session_names[who])
        if kind == "lag":
            missed = tell_event(machine, event[2:]).removeprefix("FAULT: ")
            return f"{told}: {missed}"
        return told
    except (KeyError, IndexError, TypeError):
        return f"unknown event {event!r}"


def _whom(machine: Machine, event: Event, before: Sequence[Any]) -> tuple[str, ...]:
    """The actors that an event happens to: of a session those who have not ended."""
    if len(event) < 2 or event[0] in _OF_PATHS:
        return ()
    if event[0] in _OF_ACTORS:
        return (machine.names[event[1]],)
    crew = machine.crew_of(event[1], before)
    alive = [a for a in crew if before[a][FRAMES]]
    return tuple(machine.names[a] for a in alive or crew[:1])


def _deeds(machine: Machine, draft: Draft) -> list[Deed]:
    return [_deed(machine, fact) for fact in draft.facts if fact.kind != "deleted"]


def _deed(machine: Machine, fact: Fact) -> Deed:
    who = machine.names[fact.actor] if fact.actor >= 0 else ""
    if fact.kind in ("applied", "lost"):
        kind = "request" if fact.kind == "applied" else "lost"
        outcome = _outcome(machine, fact) if fact.kind == "applied" else "connection lost"
        return Deed(kind, who, _request(machine, fact.what), outcome)
    if fact.kind == "woke":
        if fact.what.kind is FireKind.NONE:
            return Deed("wakes", who, "wakes: the connection broke")
        return _heard(machine, "wakes", who, "wakes", fact.what)
    if fact.kind == "ended":
        how = "" if fact.what is None else f" with {type(fact.what).__name__}"
        return Deed("ends", who, f"ends{how}")
    if fact.kind == "spawned":
        return Deed("spawns", who, f"spawns {machine.names[fact.what]}")
    if fact.kind == "called":
        function = getattr(fact.what.function, "__qualname__", repr(fact.what.function))
        return Deed("calls", who, f"call {function}", _outcome(machine, fact))
    if fact.kind == "said":
        return Deed("says", who, f"says: {fact.what} {fact.outcome or ''}".rstrip())
    kind, verb = _GRANTS[fact.kind]
    path = short(machine.names, fact.what)
    return Deed(kind, who, f"{verb} {path}", "", path)


_GRANTS = {
    "acquired": ("holds", "holds"),
    "reentrant": ("holds", "holds once more"),
    "released": ("releases", "lets go of"),
}


def _unheard(machine: Machine, state: State | None, draft: Draft) -> list[Deed]:
    """Fires that reach an actor which does not wait for them yet."""
    found = []
    before = () if state is None else state[ACTORS]
    for a, actor in enumerate(draft.actors):
        known = len(before[a][FIRES]) if a < len(before) else 0
        for fire in actor[FIRES][known:]:
            if fire.kind is not FireKind.NONE:
                who = machine.names[a]
                found.append(_heard(machine, "fire", who, "will hear when it waits", fire))
    return found


def _heard(machine: Machine, kind: str, who: str, how: str, fire: Fire) -> Deed:
    path = short(machine.names, fire.path)
    what = "children of" if fire.kind is FireKind.CHILD else fire.kind
    return Deed(kind, who, f"{how}: {what} {path}", "", path)


_WORDS = re.compile("(?<!^)(?=[A-Z])")  # where a name like SetIfAbsent has a new word


def _request(machine: Machine, request: Any) -> str:
    if isinstance(request, Multi):
        return f"all or nothing: {', '.join(_request(machine, op) for op in request.ops)}"
    watch = " with a watch" if getattr(request, "watch", False) else ""
    verb = {
        Create: "create", Delete: "delete", Get: "get", Set: "set", Exists: "exists",
        Children: "list", Sync: "sync",
    }.get(type(request), _WORDS.sub(" ", type(request).__name__).lower())  # fmt: skip
    value = request.data if isinstance(request, Set) else getattr(request, "value", "")
    text = standing.readable(machine, value) if isinstance(value, bytes) else value
    data = f" to {short(machine.names, text)}" if text else ""
    return f"{verb} {short(machine.names, request.path)}{data}{watch}"


def _outcome(machine: Machine, fact: Fact) -> str:
    outcome = fact.outcome
    if isinstance(outcome, ZkkitError):
        return type(outcome).__name__
    if isinstance(outcome, Node):
        return short(machine.names, outcome.path)
    if isinstance(outcome, Data) and outcome.data:
        return standing.readable(machine, outcome.data)
    if isinstance(outcome, bytes):
        return standing.readable(machine, outcome) or "nothing"
    if isinstance(fact.what, Exists):
        return "not there" if outcome is None else "there"
    if isinstance(outcome, Data):
        return "there"
    if isinstance(fact.what, Children):
        return f"[{', '.join(short(machine.names, name) for name in outcome)}]"
    return "done" if isinstance(outcome, Stat | tuple | None) else repr(outcome)
