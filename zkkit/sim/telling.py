"""Telling: from a machine's events and facts to scenes, in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import BadVersion, MultiFailed, TimedOut, ZkkitError
from ..steps import (
    Children,
    Create,
    Data,
    Exists,
    Fire,
    FireKind,
    Mark,
    Multi,
    Node,
    Post,
    Posted,
    Recall,
    Remember,
    Set,
    Stat,
)
from . import snapshot
from . import state as at
from .actors import Stride
from .errors import StoryMismatch
from .machine import Machine
from .roster import Roster
from .scenes import Deed, Scene
from .snapshot import short
from .state import Draft, Event, Fact, State
from .steps import Say

_EVENTS = {
    "apply": "the server takes {session}'s next request",
    "catch up": "{session}'s follower catches up by one change",
    "learn": "{session} learns that it has expired",
    "vanish": "the server expires the crashed {session}",
    "forget": "the server expires the old session that {session} had given up",
    "begin": "{actor} begins",
    "come": "{actor} comes",
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
_OF_PATHS = {kind for kind, text in _EVENTS.items() if "{what}" in text}
_OF_ACTORS = {kind for kind, text in _EVENTS.items() if "{actor}" in text}


class Told(NamedTuple):
    """A fact of a story: the number of its scene, who did it (also if nobody waits for it any
    more), and at which line."""

    number: int
    fact: Fact
    actor: int
    where: str


class Teller:
    """Lets events happen in a machine and tells of each as a scene. Keeps all facts, for whoever
    explains how it ended."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.roster = machine.roster
        self.scenes: list[Scene] = []
        self.told: list[Told] = []
        self.cast = [*range(self.roster.count)]
        self._trail: list[Stride] = []
        self._sent: dict[int, tuple[int, str]] = {}  # who sent a request, and where
        self.draft = self._followed(machine.begin)
        self._tell((), None)

    @property
    def state(self) -> State:
        """How things stand now."""
        return self.draft.done(())

    def happen(self, event: Event) -> None:
        """Tell of one more event. StoryMismatch if it cannot happen."""
        machine, state = self._machine, self.state
        if event not in machine.moves(state) and event not in machine.misfortunes(state):
            raise StoryMismatch(
                f"the story does not fit this world: event {len(self.scenes)} cannot happen "
                f"({tell_event(self.roster, event)})",
                hint="replay it in the world, and with the code, it was found in",
            )
        self.draft = self._followed(lambda: machine.after(state, event))
        self._tell(event, state)

    def _followed(self, happens: Callable[[], Draft]) -> Draft:
        self._trail.clear()
        self._machine.follow(self._trail)
        try:
            return happens()
        finally:
            self._machine.follow(None)

    def _tell(self, event: Event, state: State | None) -> None:
        roster, draft = self.roster, self.draft
        before = draft.actors if state is None else state[at.ACTORS]
        whom = _whom(roster, event, before)
        deeds = (*self._deeds(before), *_unheard(roster, state, draft))
        self.scenes.append(
            Scene(
                tell_event(roster, event) if event else "at the beginning",
                " and ".join(part for part in event if part in self._machine.kinds),
                tuple(roster.names[a] for a in whom),
                deeds,
                snapshot.nodes(roster, draft),
                snapshot.watches(roster, draft),
                snapshot.holds(roster, draft),
                snapshot.views(roster, draft),
                snapshot.doing(draft),
                self._where(event, state, whom),
                snapshot.stands(draft.actors),
            )
        )
        self.cast += [fact.what for fact in draft.facts if fact.kind == "spawned"]
        for a, actor in enumerate(draft.actors):
            if actor[at.DOES] == "fly":
                moment = actor[at.FRAMES][-1][at.MOMENT]
                for request in moment.requests:
                    self._sent[id(request)] = (a, moment.place.text)

    def _where(self, event: Event, state: State | None, whom: Sequence[int]) -> str:
        """Where in its script the first of those stood whom an event happens to."""
        if state is None:
            return ""
        if event[0] == "apply":
            owner, request, _ = state[at.SESSIONS][event[1]][at.QUEUE][0]
            if owner < 0:
                return self._sent[id(request)][1] if id(request) in self._sent else ""
            whom = (owner,)
        for actors in (state[at.ACTORS], self.draft.actors):  # who begins stood nowhere before
            stood = snapshot.stands(actors)
            if whom and whom[0] < len(stood) and stood[whom[0]]:
                return stood[whom[0]]
        return ""

    # --- deeds ----------------------------------------------------------------------------

    def _deeds(self, before: Sequence[Any]) -> list[Deed]:
        """What was done in this event, in order: the facts, and between them what scripts got and
        noted."""
        facts = self.draft.facts
        stood = dict(enumerate(snapshot.stands(before)))
        steps: dict[int, Any] = {}
        trail = list(enumerate(self._trail))
        deeds: list[Deed] = []
        for number in range(len(facts) + 1):
            while trail and trail[0][1].facts <= number:
                place, stride = trail.pop(0)
                deeds += self._inward(place, stride)
                after = stride.after
                stood[stride.actor] = (after if after.place.text else stride.before).place.text
                steps[stride.actor] = after.step
            if number < len(facts):
                fact = facts[number]
                deeds += self._outward(fact, stood, steps.get(fact.actor))
        return deeds

    def _outward(self, fact: Fact, stood: Mapping[int, str], step: Any) -> list[Deed]:
        a, where = fact.actor, stood.get(fact.actor, "")
        if a < 0:
            a, where = self._sent.get(id(fact.what), (a, ""))
        elif fact.kind == "deleted":  # by the request that was told of just now
            last = next(each for each in reversed(self.told) if each.fact.kind == "applied")
            where = last.where
        self.told.append(Told(len(self.scenes), fact, a, where))
        if fact.kind not in _TOLD:
            return []
        if fact.kind == "said":
            amount = _amount(step, fact.outcome)
            text = f"says: {fact.what}" if amount is None else f"says: {fact.what} {amount}"
            return [Deed("says", self.roster.names[a], text, where=where)]
        return [_deed(self.roster, fact, self.draft)._replace(where=where)]

    def _inward(self, place: int, stride: Stride) -> list[Deed]:
        """What a script got that no fact tells of: an error thrown into it; and what it noted."""
        who = self.roster.names[stride.actor]
        found = []
        if stride.error is not None and not self._is_known(place, stride):
            text = f"gets {type(stride.error).__name__}"
            found.append(Deed("gets", who, text, where=stride.before.place.text))
        noted = None if stride.after.private else self._note(place, stride.after.step)
        if noted is not None:
            found.append(Deed("notes", who, *noted, where=stride.after.place.text))
        return found

    def _note(self, place: int, step: Any) -> tuple[str, str] | None:
        """What this step does with the session's table or the board, and what that gives."""
        match step:
            case Remember(value=None):
                return f"forgets {_readable_key(step.key)}", ""
            case Remember():
                return f"remembers {_readable_key(step.key)}: {self._noted(step.value)}", ""
            case Post():
                return f"posts {step.topic}: {self._noted(step.text)}", ""
            case Recall():
                return f"recall {_readable_key(step.key)}", self._given(place)
            case Posted():
                return f"read the board on {step.topic}", self._given(place)
        return None

    def _given(self, place: int) -> str:
        """What the step that a script came to has given it."""
        after = self._next(place)
        return self._noted(None if after is None else after.value)

    def _next(self, place: int) -> Stride | None:
        """The next step of the same actor in this event."""
        actor = self._trail[place].actor
        return next((each for each in self._trail[place + 1 :] if each.actor == actor), None)

    def _noted(self, value: Any) -> str:
        return "nothing" if value is None else snapshot.cut(short(self.roster.names, repr(value)))

    def _is_known(self, place: int, stride: Stride) -> bool:
        """Whether an error is the outcome of a request that is told of, or only passes through, or
        ends a pause."""
        facts = self.draft.facts[: stride.facts]
        mine = [fact for fact in facts if fact.actor == stride.actor]
        if any(fact.outcome is stride.error or fact.kind == "lost" for fact in mine):
            return True
        earlier = [each for each in self._trail[:place] if each.actor == stride.actor]
        if earlier and earlier[-1].after.error is stride.error:
            return True
        if isinstance(stride.error, TimedOut):
            return stride.before.private
        after = self._next(place)
        if after is None or not isinstance(after.error, TimedOut):
            return False
        return after.before.place == stride.before.place  # inside a bare step: no script has it


def _amount(step: Any, said: Any) -> Any:
    """The amount that was said with a word; None if none was."""
    if isinstance(step, Say):
        return step.amount
    return said if isinstance(step, Mark) and step.kind.lstrip("-").isdecimal() else None


def _readable_key(key: Any) -> str:
    """What something is remembered under: as its author would call it."""
    if isinstance(key, tuple):
        return ", ".join(map(_readable_key, key))
    path = getattr(key, "path", None)
    if isinstance(path, str):
        return f"{type(key).__name__} {path}"
    return str(key) if isinstance(key, str | int) else type(key).__name__


def tell_event(roster: Roster, event: Event) -> str:
    """What happens, in a line."""
    try:
        kind, who = event[0], event[1]
        if kind in _OF_PATHS:
            return _EVENTS[kind].format(what=short(roster.names, who))
        if kind in _OF_ACTORS:
            return _EVENTS[kind].format(actor=roster.names[who])
        text = _EVENTS[kind].format(session=roster.session_names[who])
        if event[2:] == ("reversed",):
            return f"{text}, and lists in reverse"
        if kind == "lag":
            missed = tell_event(roster, event[2:]).removeprefix("FAULT: ")
            return f"{text}: {missed}"
        return text
    except (KeyError, IndexError, TypeError):
        return f"unknown event {event!r}"


def _whom(roster: Roster, event: Event, before: Sequence[Any]) -> Sequence[int]:
    """The actors that an event happens to: of a session those who have not ended."""
    if len(event) < 2 or event[0] in _OF_PATHS:
        return ()
    if event[0] in _OF_ACTORS:
        return (event[1],)
    crew = roster.crew_of(event[1], before)
    return [a for a in crew if before[a][at.FRAMES]] or crew[:1]


def _deed(roster: Roster, fact: Fact, draft: Draft) -> Deed:
    who = roster.names[fact.actor] if fact.actor >= 0 else ""
    if fact.kind == "applied":
        text = words_of(roster, fact.what)
        return Deed("request", who, text, _outcome(roster, fact, draft))
    if fact.kind == "lost":
        return Deed("lost", who, words_of(roster, fact.what), "ConnectionLost")
    if fact.kind == "woke":
        if fact.what.kind is FireKind.NONE:
            return Deed("wakes", who, "wakes: the connection broke")
        return _heard(roster, "wakes", who, "wakes", fact.what)
    if fact.kind == "ended":
        how = "" if fact.what is None else f" with {type(fact.what).__name__}"
        return Deed("ends", who, f"ends{how}")
    if fact.kind == "spawned":
        return Deed("spawns", who, f"spawns {roster.names[fact.what]}")
    if fact.kind == "called":
        function = getattr(fact.what.function, "__qualname__", repr(fact.what.function))
        return Deed("calls", who, f"call {function}", _outcome(roster, fact, draft))
    kind, verb = _GRANTS[fact.kind]
    path = short(roster.names, fact.what)
    return Deed(kind, who, f"{verb} {path}", "", path)


_GRANTS = {
    "acquired": ("holds", "holds"),
    "reentrant": ("holds", "holds once more"),
    "released": ("releases", "lets go of"),
}
_TOLD = frozenset({"applied", "lost", "woke", "ended", "spawned", "called", "said", *_GRANTS})
"""The others are for properties only: another deed, or the event itself, tells them."""


def _unheard(roster: Roster, state: State | None, draft: Draft) -> list[Deed]:
    """Fires that reach an actor which does not wait for them yet."""
    found = []
    before = () if state is None else state[at.ACTORS]
    for a, actor in enumerate(draft.actors):
        known = len(before[a][at.FIRES]) if a < len(before) else 0
        for fire in actor[at.FIRES][known:]:
            if fire.kind is not FireKind.NONE:
                who = roster.names[a]
                found.append(_heard(roster, "fire", who, "will hear when it waits", fire))
    return found


def _heard(roster: Roster, kind: str, who: str, how: str, fire: Fire) -> Deed:
    if not fire.path:
        return Deed(kind, who, f"{how}: something in its own session has changed")
    path = short(roster.names, fire.path)
    what = "children of" if fire.kind is FireKind.CHILD else fire.kind
    return Deed(kind, who, f"{how}: {what} {path}", "", path)


_WORDS = re.compile("(?<!^)(?=[A-Z])")  # where a name like SetIfAbsent has a new word


def words_of(roster: Roster, request: Any) -> str:
    """A request in words."""
    if isinstance(request, Multi):
        return f"all or nothing: {', '.join(words_of(roster, op) for op in request.ops)}"
    name = "list" if isinstance(request, Children) else type(request).__name__
    verb = _WORDS.sub(" ", name).lower()
    value = request.data if isinstance(request, Set) else getattr(request, "value", "")
    text = snapshot.readable(roster, value) if isinstance(value, bytes) else value
    return "".join(
        (
            f"{verb} {short(roster.names, request.path)}",
            f" ({_mode(request)})" if isinstance(request, Create) else "",
            f" to {short(roster.names, text)}" if text else "",
            f" if version {request.version}" if getattr(request, "version", -1) >= 0 else "",
            " with a watch" if getattr(request, "watch", False) else "",
        )
    )


def _mode(request: Create) -> str:
    words = request.mode.name.lower().replace("_ttl", "").replace("_", ", ")
    return words if request.ttl_ms is None else f"{words}, for {request.ttl_ms} ms"


def _outcome(roster: Roster, fact: Fact, draft: Draft) -> str:
    outcome = fact.outcome
    if isinstance(outcome, ZkkitError):
        return _refusal(roster, fact, draft)
    if isinstance(outcome, Node):
        return short(roster.names, outcome.path)
    if isinstance(outcome, Data) and outcome.data:
        data = snapshot.readable(roster, outcome.data)
        return f"{data} (version {outcome.stat.version})"
    if isinstance(outcome, bytes):
        return snapshot.readable(roster, outcome) or "nothing"
    if isinstance(fact.what, Exists):
        return "not there" if outcome is None else f"there{_version(outcome)}"
    if isinstance(outcome, Data):
        return f"there{_version(outcome.stat)}"
    if isinstance(fact.what, Children):
        return f"[{', '.join(short(roster.names, name) for name in outcome)}]"
    if isinstance(outcome, Stat):
        return f"done{_version(outcome)}"
    return "done" if isinstance(outcome, tuple | None) else repr(outcome)


def _version(stat: Stat) -> str:
    """How often it was set, where that is to be known."""
    return f" (version {stat.version})" if stat.version else ""


def _refusal(roster: Roster, fact: Fact, draft: Draft) -> str:
    """An error as an outcome: in a transaction of which node, and which version was found."""
    error, about = fact.outcome, []
    name = type(error).__name__
    if isinstance(error, MultiFailed):
        error = error.error
        about.append(f"{type(error).__name__} of {short(roster.names, error.path or '')}")
    entry = draft.tree.nodes.get(error.path or "")
    alone = sum(each.kind == "applied" for each in draft.facts) == 1
    if isinstance(error, BadVersion) and entry is not None and alone:
        about.append(f"it has version {entry.version}")
    return f"{name} ({', '.join(about)})" if about else name
