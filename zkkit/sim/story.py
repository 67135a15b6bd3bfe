"""Stories: what happened, event by event, so that it can be read, kept and replayed.

A story is the list of events that lead to something wrong. It is kept as JSON with a schema
version; replayed in the same world it must come to the same end.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ZkkitError
from ..paths import guid_of, join, split
from ..steps import Children, Create, Data, Delete, Exists, Get, Node, Set, Stat, Sync
from .errors import StoryMismatch
from .faults import KINDS

if TYPE_CHECKING:
    from .machine import Machine
    from .properties import Property
    from .state import Draft, Event, Fact
    from .world import World

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Story:
    """Events that lead to something wrong, each with its words."""

    wrong: str
    events: tuple[Event, ...]
    words: tuple[tuple[str, ...], ...]
    bounds: str = ""

    @classmethod
    def of(cls, machine: Machine, events: Sequence[Event], wrong: str, bounds: str) -> Story:
        """Tell what these events did."""
        words: list[tuple[str, ...]] = []
        draft = machine.begin()
        beginning = tuple(_tell_facts(machine, draft))
        for event in events:
            state = draft.done(())
            if event not in machine.moves(state) and event not in machine.misfortunes(state):
                raise StoryMismatch(
                    f"the story does not fit this world: {_tell_event(machine, event)}",
                    hint="replay it in the world, and with the code, it was found in",
                )
            draft = machine.after(state, event)
            words.append((_tell_event(machine, event), *_tell_facts(machine, draft)))
        if beginning:
            words.insert(0, ("at the beginning", *beginning))
        return cls(wrong, tuple(events), tuple(words), bounds)

    @property
    def length(self) -> int:
        """How many requests the server saw, and how many faults there were."""
        return sum(part == "apply" or part in KINDS for e in self.events for part in e)

    @property
    def faults(self) -> tuple[str, ...]:
        """The faults in it, in order."""
        return tuple(part for event in self.events for part in event if part in KINDS)

    def replay(self, world: World, properties: Sequence[Property]) -> str | None:
        """Let it happen again; gives what is wrong at its end, or None."""
        from .explore import retrace

        return retrace(world, self.events, properties)

    def save(self, path: str | Path) -> None:
        """Write it to a file."""
        content = {
            "schema": SCHEMA,
            "wrong": self.wrong,
            "bounds": self.bounds,
            "events": [list(event) for event in self.events],
            "words": [list(lines) for lines in self.words],
        }
        Path(path).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Story:
        """Read it from a file."""
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            if content["schema"] != SCHEMA:
                raise StoryMismatch(
                    f"{path} has schema {content['schema']}; this zkkit reads {SCHEMA}",
                    hint="use the version of zkkit that wrote it",
                )
            return cls(
                content["wrong"],
                tuple(tuple(event) for event in content["events"]),
                tuple(tuple(lines) for lines in content["words"]),
                content["bounds"],
            )
        except (ValueError, KeyError, TypeError) as error:
            raise StoryMismatch(f"{path} is no story: {error!r}") from error

    def __str__(self) -> str:
        lines = [f"{self.wrong}"]
        for number, (head, *more) in enumerate(self.words, start=1):
            lines.append(f"{number:3}. {head}")
            lines += [f"       {line}" for line in more]
        return "\n".join(lines)


_EVENTS = {
    "apply": "the server takes {session}'s next request",
    "catch up": "{session}'s follower catches up by one change",
    "learn": "{session} learns that it has expired",
    "vanish": "the server expires the crashed {session}",
    "forget": "the server expires the old session that {session} had given up",
    "begin": "{actor} begins",
    "work": "{actor} has done its work",
    "pause over": "{actor}'s pause is over",
    "cancel": "FAULT: {actor} is cancelled",
    "crash": "FAULT: the process of {session} crashes",
    "expire": "FAULT: the server expires {session}, which does not know it yet",
    "give up": "FAULT: {session} is over by its own clock; the server still has it",
    "request lost": "FAULT: {session}'s connection breaks; what was under way never arrives",
    "reply lost": "FAULT: {session}'s connection breaks; the request arrived, the reply is lost",
    "lag": "FAULT: {session}'s follower begins to lag and misses this",
    "deadline": "FAULT: a deadline of {actor} runs out",
    "reap": "FAULT: the server reaps the empty {what}",
}
_OF_ACTORS = frozenset({"begin", "work", "pause over", "cancel", "deadline"})


def _tell_event(machine: Machine, event: Event) -> str:
    try:
        kind, who = event[0], event[1]
        if kind == "reap":
            return _EVENTS[kind].format(what=who)
        if kind in _OF_ACTORS:
            return _EVENTS[kind].format(actor=machine.names[who])
        told = _EVENTS[kind].format(session=machine.session_names[who])
        return f"{told}: {_tell_event(machine, event[2:])}" if kind == "lag" else told
    except (KeyError, IndexError, TypeError):
        return f"unknown event {event!r}"


def _tell_facts(machine: Machine, draft: Draft) -> list[str]:
    return [_tell(machine, fact) for fact in draft.facts if fact.kind != "deleted"]


def _tell(machine: Machine, fact: Fact) -> str:
    who = machine.names[fact.actor] if fact.actor >= 0 else "(nobody waits for it)"
    if fact.kind == "applied":
        return f"{who}: {_request(machine, fact.what)} -> {_outcome(machine, fact.outcome)}"
    if fact.kind == "lost":
        return f"{who}: {_request(machine, fact.what)} -> connection lost"
    if fact.kind == "woke":
        return f"{who} wakes: {fact.what.kind} {_short(machine, fact.what.path)}"
    if fact.kind == "ended":
        how = "" if fact.what is None else f" with {type(fact.what).__name__}"
        return f"{who} ends{how}"
    said = {"acquired": "holds", "released": "lets go of", "reentrant": "holds once more"}
    return f"{who} {said[fact.kind]} {_short(machine, fact.what)}"


def _short(machine: Machine, path: str) -> str:
    """A path that a reader can follow: the actor's name instead of its guid."""
    parent, name = split(path)
    guid = guid_of(name)
    if guid is None:
        return path
    number = int(guid[:8]) - 1
    owner = machine.names[number] if 0 <= number < len(machine.names) else guid
    attempt = int(guid[-12:])
    again = f"#{attempt}" if attempt > 1 else ""
    return join(parent, f"<{owner}{again}>{name[40:]}")


def _request(machine: Machine, request: Any) -> str:
    watch = " with a watch" if getattr(request, "watch", False) else ""
    verb = {
        Create: "create", Delete: "delete", Get: "get", Set: "set", Exists: "exists",
        Children: "list", Sync: "sync",
    }.get(type(request), type(request).__name__.lower())  # fmt: skip
    return f"{verb} {_short(machine, request.path)}{watch}"


def _outcome(machine: Machine, outcome: Any) -> str:
    if isinstance(outcome, ZkkitError):
        return type(outcome).__name__
    if isinstance(outcome, Node):
        return _short(machine, outcome.path)
    if isinstance(outcome, Data | Stat):
        return "there"
    if isinstance(outcome, tuple):
        names = [_short(machine, f"/{each}")[1:] for each in outcome if isinstance(each, str)]
        return f"[{', '.join(names)}]"
    return "done" if outcome is None else repr(outcome)
