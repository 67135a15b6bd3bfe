"""States: what they are made of, and a draft of one that is being changed.

A state is a tuple of plain values, so that states compare quickly: the leader's tree, one tuple per
session, one per actor, the faults still allowed, who was told that it holds, and what the
properties remember. The names below say where in those tuples things stand.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from .faults import KINDS
from .tree import Tree

State: TypeAlias = tuple[Any, ...]
Event: TypeAlias = tuple[Any, ...]
"""(what happens, to whom, and what else it needs to be told exactly)."""

# Where things stand in a state ...
TREE, SESSIONS, ACTORS, BUDGET, TOLD, MEMOS = range(6)
# ... in a session: its id; up, paused, expired, crashed, closed or over; whether its follower lags,
# what that has not yet seen, and what it shows; watches on the server and who uses them; requests
# under way; the table of notes; sessions given up that the server still has; how often it was
# renewed; user code to be called, with who waits for it
ID, LIFE, LAGS, UNSEEN, VIEW, WATCHES, USERS, QUEUE, TABLE, GHOSTS, RENEWED, CALLS = range(12)
# ... and in an actor: its frames; what it does; outcomes of its flight so far; fires not taken;
# whether it was cancelled; how many guids it has had; how many scripts it has spawned
FRAMES, DOES, OUTCOMES, FIRES, CANCELLED, GUIDS, SPAWNS = range(7)
ENDED = ((), "ended", (), (), 0, 0, 0)
"""An actor that has ended, and one that is yet to be spawned."""
# A frame: the moment, whether it is unwinding, whether its own deadline did it, its seconds
MOMENT, DOOMED, EXPIRED, SECONDS = range(4)

MOVES = (
    "begin", "apply", "catch up", "learn", "vanish", "forget", "work", "pause over", "call",
    "close", "go on",
)  # fmt: skip
"""What happens by itself."""
INDEX = {kind: 1 + place for place, kind in enumerate(KINDS)}
"""Where in the budget a kind of fault stands; the total comes first."""


class Grant(NamedTuple):
    """Who was told that it holds: as the `Mark` step says."""

    actor: int
    path: str
    zxid: int
    session: int


class Fact(NamedTuple):
    """Something that a property or a story may want to know of an event."""

    kind: str  # the names of them all: properties.base.ANY
    actor: int
    what: Any = None
    outcome: Any = None


class Draft:
    """A state that is being changed by one event."""

    __slots__ = ("actors", "behind", "budget", "facts", "ready", "sessions", "told", "tree")

    def __init__(self, state: State) -> None:
        self.tree: Tree = state[TREE]
        self.sessions: list[Any] = list(state[SESSIONS])
        self.actors: list[Any] = list(state[ACTORS])
        self.budget: tuple[int, ...] = state[BUDGET]
        self.told: tuple[Grant, ...] = state[TOLD]
        self.facts: list[Fact] = []
        # Whose turn it is before the event is over, and what is thrown into them (None: nothing).
        self.ready: list[tuple[int, BaseException | None]] = []
        self.behind = False  # the client is about to meet a follower that has not seen its write

    def session(self, number: int) -> list[Any]:
        session = self.sessions[number]
        if type(session) is tuple:
            session = self.sessions[number] = list(session)
        return session  # type: ignore[no-any-return]

    def actor(self, number: int) -> list[Any]:
        actor = self.actors[number]
        if type(actor) is tuple:
            actor = self.actors[number] = list(actor)
        return actor  # type: ignore[no-any-return]

    def done(self, memos: tuple[Any, ...]) -> State:
        return (
            self.tree,
            tuple([s if type(s) is tuple else tuple(s) for s in self.sessions]),
            tuple([a if type(a) is tuple else tuple(a) for a in self.actors]),
            self.budget,
            self.told,
            memos,
        )
