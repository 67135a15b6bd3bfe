"""What a property is, and two ways to make one of one's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ...steps import Create, Delete, Multi, Set
from ..roster import Roster
from ..state import Draft, Fact, Grant, is_real

Value: TypeAlias = Callable[[bytes], int]
"""Reads a node's data."""


class Unreadable(Exception):
    """A node has data that cannot be read as what the property is about."""


def read(value: Value, path: str, data: bytes) -> int:
    """What a node has. Raises Unreadable."""
    try:
        return value(data)
    except Exception as error:
        shown = data if len(data) <= 40 else data[:40] + b"..."
        raise Unreadable(f"{path} has {shown!r}, which cannot be read: {error}") from error


ANY = frozenset(
    {
        "acquired", "reentrant", "released", "woke", "ended", "applied", "deleted", "lost", "said",
        "spawned", "called", "worked", "lapsed", "polled", "expired",
    }
)  # fmt: skip
"""All kinds of facts, as (kind, actor, what, outcome).

    acquired, reentrant, released   a Mark: the path, and its zxid
    said        the word of a Say, with its amount, or of another Mark (`fact.mark` is that step)
    worked      a Work is over: the grants that its actor had, how often its session was renewed
    woke        by this fire; polled: by its clock
    applied     a request, and its outcome; deleted: by a Delete, the path, and its czxid
    lost        a request whose outcome its actor will not learn
    lapsed      a hold ended by the client's own clock: its path
    expired     the actor learns that its session is over
    ended       with this error, or None
    spawned     another actor; called: user code, and what it gave
"""


class View:
    """A state as a property sees it."""

    __slots__ = ("_faults", "_roster", "actors", "budget", "grants", "sessions", "tree")

    def __init__(self, roster: Roster, draft: Draft, faults: int = 0) -> None:
        self._roster = roster
        self._faults = faults
        self.tree = draft.tree
        """The leader's nodes."""
        self.sessions: Sequence[Any] = draft.sessions
        self.actors: Sequence[Any] = draft.actors
        self.grants = draft.grants
        self.budget = draft.budget
        """How many faults are left: in all, then of each kind."""

    @property
    def struck(self) -> bool:
        """Whether a fault has happened so far, to whomever."""
        return self.budget[0] < self._faults

    def name(self, actor: int) -> str:
        """An actor's name."""
        return self._roster.names[actor]

    def session_name(self, session: int) -> str:
        """A session's name."""
        return self._roster.session_names[session]

    def home(self, actor: int) -> int:
        """The session an actor lives in."""
        return self._roster.home[actor]

    @property
    def everybody(self) -> range:
        """All actors but those who are spawned."""
        return range(self._roster.count)

    def real_grants(self) -> list[Grant]:
        """Those who were told that they hold and whose node is still there. Told twice is once."""
        return [*dict.fromkeys(grant for grant in self.grants if is_real(grant, self.tree))]

    def speaks_for(self, actor: int, other: int) -> bool:
        """Whether what one does is as if the other did it: it is the same, or one of them was
        spawned in the session of both."""
        if actor == other:
            return True
        spawned = actor not in self.everybody or other not in self.everybody
        return spawned and self.home(actor) == self.home(other)


def written(applied: Fact) -> Sequence[str]:
    """The paths that a request has written, of a fact that it was applied: none if it failed. (Of
    a node with a number without that.)"""
    request = applied.what
    if isinstance(applied.outcome, BaseException):
        return ()
    ops = request.ops if isinstance(request, Multi) else (request,)
    return [op.path for op in ops if isinstance(op, Create | Set | Delete)]


class Property:
    """Base of all properties. `wants`: the kinds of facts it is asked about."""

    name = "property"
    wants: frozenset[str] = frozenset()
    memo: Any = None
    needs: Any = None
    """The goal without which it holds of nothing: it is asked for along with this property."""

    def at_first(self, view: View) -> Any:
        """What to remember at the beginning."""
        return self.memo

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        """After an event with facts it wants: what to remember, and what is wrong."""
        return memo, None

    def calm(self, memo: Any, view: View) -> str | None:
        """In a state where nothing is under way: all wait, or do their work."""
        return None

    def idle(self, memo: Any, view: View) -> str | None:
        """In a state where nothing is under way, or only waits that end by their clock."""
        return None

    def quiet(self, memo: Any, view: View) -> str | None:
        """In a state where nothing can happen by itself any more."""
        return None

    def for_ever(self, memo: Any, who: str, *, polls: bool) -> str | None:
        """In a state from which no quiet one can be reached: these go round and round. `polls`:
        each of them waits for its clock every time."""
        return None


class OfFacts(Property):
    """A property of single facts: each that it wants is right, or `wrong`."""

    def wrong(self, fact: Fact, view: View) -> str | None:
        """What is wrong with this fact, if anything."""
        raise NotImplementedError

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        wants = self.wants
        for fact in facts:
            if fact[0] in wants:
                found = self.wrong(fact, view)
                if found:
                    return memo, found
        return memo, None


class Always(Property):
    """A property of one's own, of the state: `check(view)` gives None, or what is wrong. Asked
    after every event that has facts of these kinds (by default: any) and when all is quiet; with
    `at_end` only then."""

    def __init__(
        self, name: str, check: Callable[[View], str | None], *wants: str, at_end: bool = False
    ) -> None:
        self.name = name
        self._check = check
        self._at_end = at_end
        self.wants = _known(name, wants) if wants or at_end else ANY

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        return memo, None if self._at_end else self._check(view)

    def quiet(self, memo: Any, view: View) -> str | None:
        return self._check(view)


class History(Property):
    """A property of one's own, of all that has happened: `check(facts, view)` is given all facts of
    these kinds so far, in order, after each event that adds one. They become part of the state, so
    that ways which differ in them are explored apart: name the few kinds that matter."""

    memo = ()

    def __init__(
        self,
        name: str,
        check: Callable[[tuple[Fact, ...], View], str | None],
        kind: str,
        *kinds: str,
    ) -> None:
        self.name = name
        self._check = check
        self.wants = _known(name, (kind, *kinds))

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        history = (*memo, *[fact for fact in facts if fact.kind in self.wants])
        return history, self._check(history, view)


def _known(name: str, kinds: Sequence[str]) -> frozenset[str]:
    unknown = set(kinds) - ANY
    if unknown:
        raise ValueError(
            f"the property {name!r} asks for no such facts: {', '.join(sorted(unknown))}; "
            f"there are {', '.join(sorted(ANY))}"
        )
    return frozenset(kinds)


def in_words(names: Sequence[str]) -> str:
    """A and B; A, B and C."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def in_number(count: int) -> str:
    """A small number in words."""
    words = ("no", "one", "two", "three", "four", "five", "six")
    return words[count] if count < len(words) else str(count)
