"""What must hold, whatever happens.

A property is told of the facts of each event (who was told that it holds, who woke, ...) and of
each quiet state: one in which nothing can happen any more by itself. It answers None, or in words
what is wrong. What it must remember from event to event it gives back as its memo, a hashable value
that becomes part of the state.

Grants are known from `Mark` steps: `acquired` begins one; it ends with `released`, or when the
client learns that its session is over, or with its process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import Cancelled
from ..paths import split
from ..steps import FireKind
from .machine import Machine
from .state import (
    ACTORS,
    DOES,
    LAGS,
    LIFE,
    SESSIONS,
    TREE,
    USERS,
    WATCHES,
    Draft,
    Fact,
    Grant,
    State,
)
from .tree import Tree


class View:
    """A state as a property sees it."""

    __slots__ = ("_machine", "_state", "told")

    def __init__(self, machine: Machine, state: State | Draft) -> None:
        self._machine = machine
        self._state = state
        self.told: tuple[Grant, ...] = state.told if isinstance(state, Draft) else state[4]

    @property
    def tree(self) -> Tree:
        """The leader's nodes."""
        state = self._state
        return state.tree if isinstance(state, Draft) else state[TREE]

    @property
    def sessions(self) -> Sequence[Any]:
        state = self._state
        return state.sessions if isinstance(state, Draft) else state[SESSIONS]

    @property
    def actors(self) -> Sequence[Any]:
        state = self._state
        return state.actors if isinstance(state, Draft) else state[ACTORS]

    def name(self, actor: int) -> str:
        """An actor's name."""
        return self._machine.names[actor]

    def session_name(self, session: int) -> str:
        """A session's name."""
        return self._machine.session_names[session]

    def home(self, actor: int) -> int:
        """The session an actor lives in."""
        return self._machine.home[actor]

    def real_grants(self) -> list[Grant]:
        """Those who were told that they hold and whose node is still there."""
        nodes = self.tree.nodes
        found = []
        for grant in self.told:
            entry = nodes.get(grant.path)
            if entry is not None and entry.czxid == grant.zxid:
                found.append(grant)
        return found


class Property:
    """Base of all properties. `wants`: the kinds of facts it is asked about."""

    name = "property"
    wants: frozenset[str] = frozenset()
    memo: Any = None

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        """After an event with facts it wants: what to remember, and what is wrong."""
        return memo, None

    def calm(self, memo: Any, view: View) -> str | None:
        """In a state where nothing is under way: all wait, or do their work."""
        return None

    def quiet(self, memo: Any, view: View) -> str | None:
        """In a state where nothing can happen by itself any more."""
        return None


class AtMost(Property):
    """At most `count` actors at a time have been told that they hold, in one directory, and still
    have their node."""

    wants = frozenset({"acquired"})

    def __init__(self, count: int, name: str = "") -> None:
        self.count = count
        self.name = name or f"at most {count}"

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        if len(view.told) <= self.count:
            return memo, None
        by_directory: dict[str, list[Grant]] = {}
        for grant in view.real_grants():
            by_directory.setdefault(split(grant.path)[0], []).append(grant)
        for directory, grants in by_directory.items():
            if len(grants) > self.count:
                who = " and ".join(view.name(grant.actor) for grant in grants)
                return memo, f"{who} hold {directory} at once, where {self.count} may"
        return memo, None


def mutual_exclusion() -> Property:
    """At every zxid at most one has been told that it is first and still has its node."""
    return AtMost(1, "mutual exclusion")


def one_leader() -> Property:
    """The same, said of elections."""
    return AtMost(1, "one leader")


class Fifo(Property):
    """Grants come in the order in which the nodes were created."""

    name = "first in, first out"
    wants = frozenset({"acquired"})
    memo = ()

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        latest = dict(memo)
        for fact in facts:
            if fact.kind != "acquired":
                continue
            directory = split(fact.what)[0]
            if fact.outcome < latest.get(directory, 0):
                return memo, (
                    f"{view.name(fact.actor)} is granted {directory} after somebody whose node "
                    f"was created later"
                )
            latest[directory] = fact.outcome
        return tuple(sorted(latest.items())), None


class RealGrants(Property):
    """Whoever is told that it holds has a node of its own session that is there: unless the server
    has just ended the session, which the client cannot know, or its follower lags."""

    name = "grants are real"
    wants = frozenset({"acquired"})

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        for fact in facts:
            if fact.kind != "acquired":
                continue
            session = view.sessions[view.home(fact.actor)]
            if session[LIFE] != "up" or session[LAGS]:
                continue
            entry = view.tree.nodes.get(fact.what)
            if entry is None:
                return (
                    memo,
                    f"{view.name(fact.actor)} says it holds {fact.what}, which is not there",
                )
            if entry.owner not in (0, session[0]):
                return memo, (
                    f"{view.name(fact.actor)} says it holds {fact.what}, a node of another session"
                )
        return memo, None


class NoLostWakeup(Property):
    """Nobody waits while nothing can come."""

    name = "no lost wakeup"

    def quiet(self, memo: Any, view: View) -> str | None:
        for number, actor in enumerate(view.actors):
            if actor[DOES] == "wait":
                return f"{view.name(number)} waits for ever"
        return None


class NothingLeft(Property):
    """When all is over no ephemeral node and no watch is left, and whoever is granted something has
    no watch left from its waiting."""

    name = "nothing left behind"
    wants = frozenset({"acquired"})

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        for fact in facts:
            if fact.kind != "acquired":
                continue
            users = view.sessions[view.home(fact.actor)][USERS]
            left = sorted(path for _, path, _, actor in users if actor == fact.actor)
            if left:
                return memo, f"{view.name(fact.actor)} holds and still watches {', '.join(left)}"
        return memo, None

    def quiet(self, memo: Any, view: View) -> str | None:
        if any(actor[DOES] != "ended" for actor in view.actors):
            return None  # somebody waits for ever: that is another property's business
        left = sorted(path for path, entry in view.tree.nodes.items() if entry.owner)
        if left:
            return f"all have ended and {', '.join(left)} is left behind"
        for number, session in enumerate(view.sessions):
            if session[WATCHES]:
                paths = ", ".join(sorted(path for _, path, _ in session[WATCHES]))
                return f"all have ended and {view.session_name(number)} still watches {paths}"
        return None


class OneWokenPerRelease(Property):
    """A single event wakes at most one waiter about a deleted node."""

    name = "at most one woken per release"
    wants = frozenset({"woke"})

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        woken = [
            fact.actor
            for fact in facts
            if fact.kind == "woke" and fact.what.kind in (FireKind.DELETED, FireKind.CHILD)
        ]
        if len(woken) > 1 and any(fact.kind == "deleted" for fact in facts):
            return memo, f"one release woke {', '.join(map(view.name, woken))}"
        return memo, None


class NobodyTakesAway(Property):
    """Nobody deletes a node by which somebody else holds."""

    name = "nobody takes away what others hold"
    wants = frozenset({"deleted"})

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        for fact in facts:
            if fact.kind != "deleted":
                continue
            for grant in view.told:
                if (grant.path, grant.zxid) != (fact.what, fact.outcome):
                    continue
                if grant.actor != fact.actor:
                    who = view.name(fact.actor) if fact.actor >= 0 else "somebody who has left"
                    return memo, f"{who} deletes {grant.path}, which {view.name(grant.actor)} holds"
        return memo, None


class NoSleeper(Property):
    """When nothing is under way nobody waits while fewer than `count` hold."""

    name = "nobody sleeps beside a free lease"

    def __init__(self, count: int) -> None:
        self.count = count

    def calm(self, memo: Any, view: View) -> str | None:
        waiting = [n for n, actor in enumerate(view.actors) if actor[DOES] == "wait"]
        held = len(view.real_grants())
        if waiting and held < self.count:
            return f"{view.name(waiting[0])} waits while {held} of {self.count} are taken"
        return None


class EndsWell(Property):
    """No actor ends with an error, except one that a fault explains."""

    name = "nobody fails"
    wants = frozenset({"ended"})

    def __init__(self, *allowed: type[BaseException]) -> None:
        self.allowed: tuple[type[BaseException], ...] = (Cancelled, *allowed)

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        for fact in facts:
            if fact.kind != "ended" or fact.what is None:
                continue
            if not isinstance(fact.what, self.allowed):
                return memo, f"{view.name(fact.actor)} fails with {fact.what!r}"
        return memo, None


class Always(Property):
    """A property of one's own: `check(view)` gives None, or what is wrong. Asked after every event
    that has facts of these kinds (by default: any)."""

    def __init__(
        self, name: str, check: Callable[[View], str | None], *wants: str, at_end: bool = False
    ) -> None:
        self.name = name
        self._check = check
        self._at_end = at_end
        self.wants = frozenset(wants) if wants or at_end else ANY

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        return memo, None if self._at_end else self._check(view)

    def quiet(self, memo: Any, view: View) -> str | None:
        return self._check(view)


ANY = frozenset(
    {"acquired", "reentrant", "released", "woke", "ended", "applied", "deleted", "lost"}
)


def of_a_lock() -> tuple[Property, ...]:
    """What every lock must hold to."""
    return (mutual_exclusion(), RealGrants(), NoLostWakeup(), NothingLeft(), NobodyTakesAway())


def of_a_fair_lock() -> tuple[Property, ...]:
    """What a lock that queues must hold to."""
    return (*of_a_lock(), Fifo(), OneWokenPerRelease())
