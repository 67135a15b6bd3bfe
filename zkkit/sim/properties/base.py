"""What a property is, and two ways to make one of one's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..machine import Machine
from ..state import ACTORS, SESSIONS, TOLD, TREE, Draft, Fact, Grant, State
from ..tree import Tree

ANY = frozenset(
    {
        "acquired", "reentrant", "released", "woke", "ended", "applied", "deleted", "lost", "said",
        "spawned", "called",
    }
)  # fmt: skip
"""All kinds of facts."""


class View:
    """A state as a property sees it."""

    __slots__ = ("_machine", "_state", "told")

    def __init__(self, machine: Machine, state: State | Draft) -> None:
        self._machine = machine
        self._state = state
        self.told: tuple[Grant, ...] = state.told if isinstance(state, Draft) else state[TOLD]

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

    def for_ever(self, memo: Any, who: str) -> str | None:
        """In a state from which no quiet one can be reached: these go round and round."""
        return None


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
