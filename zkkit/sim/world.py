"""The world: a model of ZooKeeper as its clients see it, and the actors that live in it.

    world = World("/l")                                   # with a container at /l
    a, b = world.connect("A"), world.connect("B")         # two sessions
    world.take(a, Create("/l/x", mode=Mode.EPHEMERAL))    # one step, then everything is quiet
    world.fires(b)                                        # what b's watches told it meanwhile

That is the quiet way, step after step. The other way is to add actors and let `explore` try
everything that could happen between their steps:

    for name in "AB":
        session = world.connect(name)
        lock = ReentrantLock(session, "/l")
        world.actor(name, session, lambda lock=lock: use(lock))
    explore(world)
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import SessionLost, Unsupported, ZkkitError
from ..paths import validate
from ..retry import NEVER, RetryPolicy
from ..scripting import Blocking, Recipe
from ..steps import Fire, Mode, Request, Script, Step
from . import tree as trees
from .tree import Change, Tree, apply
from .watching import NO_WATCHES, Watches, after_request, fire, remove

if TYPE_CHECKING:
    from .faults import Faults
    from .machine import Machine


@dataclass(frozen=True, slots=True)
class Work(Step[None]):
    """What an actor does while it holds something: it takes as long as it likes. Only in the
    simulator: the others get time to move."""


@dataclass(frozen=True, slots=True)
class Say(Step[None]):
    """Something that a property should know and only the script can tell, such as `Say("arrives")`
    or `Say("added", 1)`. Only in the simulator."""

    what: str
    amount: int = 0


class SimSession(Blocking):
    """A session in a world. Recipes are built on it; `explore` runs their scripts."""

    def __init__(self, number: int, name: str, retry: RetryPolicy, node_data: bytes) -> None:
        self.number = number
        self.name = name
        self._retry = retry
        self._node_data = node_data

    @property
    def retry(self) -> RetryPolicy:
        return self._retry

    @property
    def node_data(self) -> bytes:
        return self._node_data

    def run_script(
        self, body: Script[Any], *, timeout: float | None, recipe: Recipe[Any], give_up: bool
    ) -> Any:
        body.close()
        raise Unsupported(
            "in the simulator a recipe's methods are not called: actors run their scripts",
            hint="world.actor(name, session, lambda: Recipe.method.of(recipe)); explore(world)",
        )

    def actor(self) -> Hashable:
        return None  # nobody calls here: actors are the explorer's

    def noted(self, key: Hashable) -> Any:
        return None  # a state has notes, the session itself has none

    def is_held(self, session_id: int, path: str, zxid: int) -> bool:
        return False  # only a session that is running can tell

    def when_lost(
        self, session_id: int, path: str, zxid: int, callback: Callable[[], object]
    ) -> None:
        """Nobody is called back here: in the simulator user code runs by `Call` only."""

    def __repr__(self) -> str:
        return f"<SimSession {self.name}>"


class ActorPlan(NamedTuple):
    """Whoever runs a script: its name, its session, and how to begin its script."""

    name: str
    session: int
    begin: Callable[[], Script[Any]]


class World:
    """A model ensemble with its sessions and actors.

    `nodes` are there from the beginning, as containers. `next_sequence` is where their counters
    stand: 2**31 - 1 is the last number. With `wraps` the next one is -2147483648, as ZooKeeper's
    documentation has it, and as servers do as long as other creations are under way. Without it
    the last number is given again and again: what servers of 3.6 and newer do otherwise.
    """

    def __init__(self, *nodes: str, next_sequence: int = 0, wraps: bool = True) -> None:
        for path in nodes:
            validate(path)
        self.tree: Tree = Tree(wraps=wraps).with_nodes(nodes, Mode.CONTAINER, next_sequence)
        self.sessions: list[SimSession] = []
        self.actors: list[ActorPlan] = []
        self.careless_watches = False
        """A session that breaks rule 8: a run that ends takes its watches from the server even if
        others need them. For the gallery of mistakes."""
        self.cancels = 1
        """How often an actor may be cancelled. A session that keeps rule 2 throws it once."""
        self._watches: list[Watches] = []
        self._fires: list[list[Fire]] = []
        self._open: list[bool] = []

    # --- building -----------------------------------------------------------------------

    def connect(
        self, name: str = "", *, retry: RetryPolicy = NEVER, node_data: bytes = b""
    ) -> SimSession:
        """A new session. The retry policy bounds how often recipes begin again."""
        number = len(self.sessions)
        session = SimSession(number, name or f"session {number + 1}", retry, node_data)
        self.sessions.append(session)
        self._watches.append(NO_WATCHES)
        self._fires.append([])
        self._open.append(True)
        return session

    def actor(self, name: str, session: SimSession, begin: Callable[[], Script[Any]]) -> None:
        """Add an actor. `begin()` must give the same script, from its start, every time."""
        if any(plan.name == name for plan in self.actors):
            raise ValueError(f"there is an actor called {name} already")
        first = begin()
        if not isinstance(first, Generator):
            raise TypeError(f"the actor {name} must begin with a script, not {first!r}")
        first.close()
        self.actors.append(ActorPlan(name, session.number, begin))

    def machine(self, faults: Faults) -> Machine:
        """The rules by which this world moves when it is explored."""
        from .machine import Machine

        return Machine(self, faults)

    # --- step by step, quietly ----------------------------------------------------------

    def take(self, session: SimSession, request: Request[Any]) -> Any:
        """Serve one request and let all watches fire. Gives the result or raises the error."""
        self._check_open(session)
        outcome, self.tree, changes = apply(self.tree, request, session_id(session.number, 0))
        self._fire(changes)
        found = not isinstance(outcome, ZkkitError) and outcome is not None
        number = session.number
        self._watches[number] = after_request(self._watches[number], request, found)
        if isinstance(outcome, ZkkitError):
            raise outcome
        return outcome

    def remove_watch(self, session: SimSession, path: str, kind: int) -> None:
        """removeWatches: kind 1 a child watch, 2 a data watch, 3 any."""
        self._check_open(session)
        self._watches[session.number] = remove(self._watches[session.number], path, kind)

    def fires(self, session: SimSession) -> list[Fire]:
        """What the session's watches have told it since the last time it was asked."""
        told, self._fires[session.number] = self._fires[session.number], []
        return told

    def close(self, session: SimSession) -> None:
        """End a session: its ephemeral nodes go."""
        self._check_open(session)
        number = session.number
        self._open[number] = False
        self._watches[number] = NO_WATCHES
        self.tree, changes = trees.end_session(self.tree, session_id(number, 0))
        self._fire(changes)

    def reap(self, path: str) -> None:
        """Remove an emptied container or a TTL node whose time is over, as the server does."""
        if path not in trees.reapable(self.tree):
            raise ValueError(f"a server would not reap {path}")
        self.tree, changes = trees.reap(self.tree, path)
        self._fire(changes)

    def _fire(self, changes: tuple[Change, ...]) -> None:
        for number, watches in enumerate(self._watches):
            self._watches[number], told = fire(watches, changes)
            self._fires[number] += told

    def _check_open(self, session: SimSession) -> None:
        if not self._open[session.number]:
            raise SessionLost(f"{session.name} is over")


def session_id(number: int, incarnation: int) -> int:
    """The id of a client's session: a new one for each incarnation."""
    return (incarnation + 1) * 1000 + number + 1
