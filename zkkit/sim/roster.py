"""Who takes part in an exploration: the actors, the sessions they live in, and their names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..steps import Script
from .faults import KINDS
from .state import SPAWNS, Draft
from .tree import Tree


class ActorPlan(NamedTuple):
    """Whoever runs a script: its name, its session, and how to begin its script."""

    name: str
    session: int
    begin: Callable[[], Script[Any]]


class Setting(NamedTuple):
    """A world as it is when it is explored."""

    tree: Tree
    sessions: tuple[str, ...]
    actors: tuple[ActorPlan, ...]
    careless_watches: bool = False
    cancels: int = 1
    one_process: bool = False
    kinds: tuple[str, ...] = KINDS
    """The kinds of faults that can happen in it."""


class Roster:
    """Actors and sessions by number. Those who are spawned are added when they first appear.

    The k-th script that an actor spawns has a number that depends on nothing else, so that a story
    means the same in every exploration, and states do not depend on who spawned first."""

    def __init__(self, setting: Setting) -> None:
        self.count = len(setting.actors)
        """How many there are without the spawned ones."""
        self.names = [plan.name for plan in setting.actors]
        self.session_names = setting.sessions
        self.home = [plan.session for plan in setting.actors]
        """The session that each actor lives in."""
        self.crew = [
            [a for a, home in enumerate(self.home) if home == s]
            for s in range(len(setting.sessions))
        ]

    def crew_of(self, s: int, actors: Sequence[Any]) -> Sequence[int]:
        """Who lives in a session, with those who were spawned."""
        if len(actors) == self.count:
            return self.crew[s]
        spawned = range(self.count, len(actors))
        return [*self.crew[s], *[a for a in spawned if self.home[a] == s]]

    def spawn(self, draft: Draft, a: int, name: str) -> int:
        """The number of the next script that an actor spawns."""
        parent = draft.actor(a)
        number = self.count + _pair(a, parent[SPAWNS])
        parent[SPAWNS] += 1
        missing = number + 1 - len(self.names)
        self.names += [""] * missing
        self.home += [-1] * missing
        nth = f" {parent[SPAWNS]}" if parent[SPAWNS] > 1 else ""
        self.names[number] = f"{self.names[a]}'s {name}{nth}"
        self.home[number] = self.home[a]
        return number


def _pair(parent: int, nth: int) -> int:
    """A number for each pair of numbers, and small ones for small ones (Cantor's)."""
    return (parent + nth) * (parent + nth + 1) // 2 + nth
