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
        world.actor(name, session, use, lock)
    explore(world, of_a_lock())
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable
from functools import partial
from typing import Any, ParamSpec

from ..errors import SessionLost, Unsupported, ZkkitError
from ..paths import validate
from ..retry import NEVER, RetryPolicy, check_policy
from ..scripting import Blocking, InSession
from ..steps import Fire, Mode, Request, Script
from . import tree as trees
from .faults import Faults
from .machine import Machine
from .roster import ActorPlan, Setting
from .state import session_id
from .tree import ANY_ORDER, LISTINGS, Change, ServerRules, StartNode, Tree, apply
from .watching import NO_WATCHES, Watches, after_request, fire, remove

P = ParamSpec("P")


class SimSession(Blocking):
    """A session in a world. Recipes are built on it; `explore` runs their scripts. To call their
    methods is Unsupported."""

    def __init__(self, number: int, name: str, retry: RetryPolicy, node_data: bytes) -> None:
        self.number = number
        self.name = name
        self.retry = retry
        self.node_data = node_data
        # What the world knows of it where steps are taken one by one.
        self.is_open = True
        self.watches: Watches = NO_WATCHES
        self.fires: list[Fire] = []

    @property
    def state(self) -> str:
        return "connected"  # as far as can be known outside of a story

    def run_script(
        self, body: Script[Any], *, timeout: float | None, owner: InSession[Any], otherwise: Any
    ) -> Any:
        raise _not_called(body)

    def begin_script(self, body: Script[Any], *, owner: InSession[Any]) -> None:
        raise _not_called(body)

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


def _not_called(body: Script[Any]) -> Unsupported:
    body.close()
    return Unsupported(
        "in the simulator a recipe's methods are not called: actors run their scripts",
        hint="world.actor(name, session, recipe.method.of); explore(world, of_a_lock())",
    )


class World:
    """A model ensemble with its sessions and actors.

    `nodes` are there from the beginning: a path as a container, a `StartNode` with its data, mode
    and counter. `next_sequence` is where the counters of those containers stand: 2**31 - 1 is the
    last number. With `wraps` the next one is -2147483648, as ZooKeeper's documentation has it, and
    as servers do as long as other creations are under way. Without it the last number is given
    again and again: what servers of 3.6 and newer do otherwise.

    `listing` is the order in which children are listed: "sorted", "reversed", "shuffled" (always in
    the same way) or "any": the explorer then tries the first two for each listing. A server
    promises no order.

    With `one_process` all sessions are those of one process, and find on its board what any of them
    posts; faults strike one session all the same. Otherwise each is alone: it finds nothing there,
    as on a board that has forgotten all.

    Raises InvalidPath if one of the nodes is no path, ValueError for another order or a start node
    that cannot be.
    """

    def __init__(
        self,
        *nodes: str | StartNode,
        next_sequence: int = 0,
        wraps: bool = True,
        listing: str = "sorted",
        one_process: bool = False,
    ) -> None:
        if listing not in (*LISTINGS, ANY_ORDER):
            known = ", ".join((*LISTINGS, ANY_ORDER))
            raise ValueError(f"children cannot be listed {listing!r}; the orders are {known}")
        containers = [node for node in nodes if isinstance(node, str)]
        start = [node for node in nodes if isinstance(node, StartNode)]
        for path in (*containers, *[node.path for node in start]):
            validate(path)
        tree = Tree(rules=ServerRules(wraps, listing))
        tree = tree.with_nodes(containers, Mode.CONTAINER, next_sequence)
        self.tree: Tree = tree.with_start(start)
        self.one_process = one_process
        self.sessions: list[SimSession] = []
        self.actors: list[ActorPlan] = []
        self.careless_watches = False
        """A session that breaks rule 8: a run that ends takes its watches from the server even if
        others need them. For the gallery of mistakes."""
        self.cancels = 1
        """How often an actor may be cancelled. A session that keeps rule 2 throws it once."""

    # --- building -----------------------------------------------------------------------

    def connect(
        self, name: str = "", *, retry: RetryPolicy = NEVER, node_data: bytes = b""
    ) -> SimSession:
        """A new session. The retry policy bounds how often recipes begin again: ValueError for what
        is none."""
        check_policy(retry)
        number = len(self.sessions)
        session = SimSession(number, name or f"session {number + 1}", retry, node_data)
        self.sessions.append(session)
        return session

    def actor(
        self,
        name: str,
        session: SimSession,
        function: Callable[P, Script[Any]],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> None:
        """Add an actor: it runs the script that `function(*args, **kwargs)` gives. That must be the
        same script, from its start, every time.

        Raises TypeError if it gives no script, or the same generator again, and ValueError if there
        is an actor of this name.
        """
        begin = partial(function, *args, **kwargs)
        if any(plan.name == name for plan in self.actors):
            raise ValueError(f"there is an actor called {name} already")
        first = begin()
        if not isinstance(first, Generator):
            raise TypeError(f"the actor {name} must begin with a script, not {first!r}")
        if begin() is first:
            raise TypeError(
                f"the actor {name} must begin with a new script each time, not always with "
                f"{first!r}: give the generator function, not what it gave"
            )
        first.close()
        self.actors.append(ActorPlan(name, session.number, begin))

    @property
    def setting(self) -> Setting:
        """The world as it is when it is explored."""
        names = tuple(session.name for session in self.sessions)
        actors = tuple(self.actors)
        return Setting(
            self.tree, names, actors, self.careless_watches, self.cancels, self.one_process
        )

    def machine(self, faults: Faults) -> Machine:
        """The rules by which this world moves when it is explored. Raises ValueError if it does not
        know one of the faults."""
        return Machine(self.setting, faults)

    # --- step by step, quietly ----------------------------------------------------------

    def take(self, session: SimSession, request: Request[Any]) -> Any:
        """Serve one request and let all watches fire. Gives the result, or raises what the server
        answers (NoNode, MultiFailed, ...); SessionLost if the session is over."""
        self._check_open(session)
        outcome, self.tree, changes = apply(self.tree, request, session_id(session.number, 0))
        self._fire(changes)
        if isinstance(outcome, ZkkitError):
            raise outcome
        session.watches = after_request(session.watches, request)
        return outcome

    def remove_watch(self, session: SimSession, path: str, kind: int) -> None:
        """removeWatches: kind 1 a child watch, 2 a data watch, 3 any. Raises NoWatcher if there is
        none, SessionLost if the session is over."""
        self._check_open(session)
        session.watches = remove(session.watches, path, kind)

    def fires(self, session: SimSession) -> list[Fire]:
        """What the session's watches have told it since the last time it was asked."""
        fires, session.fires = session.fires, []
        return fires

    def close(self, session: SimSession) -> None:
        """End a session: its ephemeral nodes go. Raises SessionLost if it is over already."""
        self._check_open(session)
        session.is_open = False
        session.watches = NO_WATCHES
        owned = self.tree.owned(session_id(session.number, 0))
        self.tree, changes = trees.without(self.tree, owned)
        self._fire(changes)

    def reap(self, path: str) -> None:
        """Remove an emptied container or a TTL node whose time is over, as the server does. Raises
        ValueError if it would not."""
        if path not in trees.reapable(self.tree):
            raise ValueError(f"a server would not reap {path}")
        self.tree, changes = trees.without(self.tree, [path])
        self._fire(changes)

    def _fire(self, changes: tuple[Change, ...]) -> None:
        for session in self.sessions:
            session.watches, fires = fire(session.watches, changes)
            session.fires += fires

    def _check_open(self, session: SimSession) -> None:
        if not session.is_open:
            raise SessionLost(f"{session.name} is over")
