"""States: what they are made of, and a draft of one that is being changed.

A state is a tuple of plain values, so that states compare quickly: the leader's tree, one tuple per
session, one per actor, the faults still allowed, who was told that it holds, what is on the board
of the process, and what the properties remember. The names below say where in those tuples things
stand.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from .tree import Tree

State: TypeAlias = tuple[Any, ...]
Event: TypeAlias = tuple[Any, ...]
"""(what happens, to whom, and what else it needs to be told exactly)."""

# Where things stand in a state ...
TREE, SESSIONS, ACTORS, BUDGET, GRANTS, BOARD, MEMOS = range(7)
# ... in a session: its id; up, paused, expired, crashed, closed or over; whether its follower lags,
# what that has not yet seen, and what it shows; watches on the server and who uses them; requests
# under way; the table of notes; sessions given up that the server still has; how often it was
# renewed; user code to be called, with who waits for it; who heeds what in the session itself
ID, LIFE, LAGS, UNSEEN, VIEW, WATCHES, USERS, QUEUE, TABLE, GHOSTS, RENEWED = range(11)
CALLS, HEEDS = 11, 12
# ... and in an actor: its frames; what it does; outcomes of its flight so far; fires not taken;
# how often it was cancelled; how many guids it has had; how many scripts it has spawned
FRAMES, DOES, OUTCOMES, FIRES, CANCELS, GUIDS, SPAWNS = range(7)
GONE = ((), "ended", (), (), 0, 0, 0)
"""An actor that has ended, and one that is yet to be spawned."""
# A frame: the moment, its fate (zkkit.kernel), the seconds of its deadline
MOMENT, FATE, SECONDS = range(3)


def session_id(number: int, incarnation: int) -> int:
    """The id of a client's session: a new one for each incarnation."""
    return (incarnation + 1) * 1000 + number + 1


LEFT = -1
"""Who did it, in a fact, where nobody waits for it any more."""


def disowned(owner: int) -> int:
    """What a request, or user code, has in place of whoever waits for it, when that has left."""
    return owner if owner < 0 else ~owner


def sender(owner: int) -> int:
    """Who has asked for it, also if that has left."""
    return owner if owner >= 0 else ~owner


def forget_lag(session: list[Any]) -> None:
    """The session's follower shows all that there is."""
    session[LAGS], session[UNSEEN], session[VIEW] = False, (), None


class Grant(NamedTuple):
    """Who was told that it holds: as the `Mark` step says."""

    actor: int
    path: str
    zxid: int
    session: int


def is_real(grant: Grant, tree: Tree) -> bool:
    """Whether the node that somebody holds by is there."""
    entry = tree.nodes.get(grant.path)
    return entry is not None and entry.czxid == grant.zxid


class Fact(NamedTuple):
    """Something that a property or a story may want to know of an event."""

    kind: str  # the names of them all: properties.base.ANY
    actor: int
    what: Any = None
    outcome: Any = None
    mark: Any = None  # the `Mark` step that said it, if it was one


class Draft:
    """A state that is being changed by one event."""

    __slots__ = (
        "actors", "behind", "board", "budget", "facts", "grants", "ready", "sessions", "tree",
    )  # fmt: skip

    def __init__(self, state: State) -> None:
        self.tree: Tree = state[TREE]
        self.sessions: list[Any] = list(state[SESSIONS])
        self.actors: list[Any] = list(state[ACTORS])
        self.budget: tuple[int, ...] = state[BUDGET]
        self.grants: tuple[Grant, ...] = state[GRANTS]
        self.board: tuple[tuple[str, str], ...] = state[BOARD]
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
            self.grants,
            self.board,
            memos,
        )
