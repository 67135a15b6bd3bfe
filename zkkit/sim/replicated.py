"""Why not a replicated cache: a store that answers before its replicas know.

The well-known cache lock: a key that is set if it is absent, with a lease that runs out, on a
primary whose writes reach the replicas later. When the primary fails, a replica takes its place,
and what it had not yet seen was never written: it had been acknowledged all the same.

    /lock               the key "lock", as it stands
      primary           where all requests go
      replica-1         on each replica: what the primary has, or what it had before

    explore(cache_contenders(2), [NoOverlap()], faults=one("failover"))

finds two holders; with `synchronous=True`, where a write is acknowledged when all replicas have it,
there are none. That mends the failover, and nothing else: a holder that is slower than its lease
(`one("pause")`) meets the next one in both, and has no token to be told from it by.

A key with a lease is an ephemeral node here, and the lease its session: "A's lease" expires. All
faults of a world can happen in this one, and one more: a failover.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from ..errors import NodeExists
from ..paths import join, split
from ..recipes.shared import pause, surely
from ..steps import Create, Delete, Guid, Mark, Mode, Node, Request, Script
from .actors import Actors
from .choices import Choices
from .faults import KINDS, Faults
from .machine import Machine
from .roster import Setting
from .servers import Finder, SimServers
from .state import BUDGET, ID, TREE, Draft, Event, Fact, State
from .steps import Work
from .tree import Tree, apply
from .watch_users import WatchUsers
from .world import World

KEY = "/lock"
PRIMARY = "/lock/primary"


# --- the lock -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SetIfAbsent(Request[Node]):
    """Set a key, with a lease, if it is not there: else NodeExists."""

    path: str
    value: str


@dataclass(frozen=True, slots=True)
class DeleteIfMine(Request[None]):
    """Delete a key if it still has this value."""

    path: str
    value: str


def use_cache_lock() -> Script[None]:
    """Take the lock, work, give it back."""
    mine = yield from Guid()
    key: Node | None = None
    try:
        while key is None:
            try:
                key = yield from SetIfAbsent(PRIMARY, mine)
            except NodeExists:
                yield from pause(1.0)
        yield from Mark("acquired", key.path, key.stat.czxid)
        yield from Work()
    finally:
        if key is not None:
            yield from Mark("released", key.path, key.stat.czxid)
        yield from surely(lambda: iter(DeleteIfMine(PRIMARY, mine)))


def cache_contenders(
    count: int, *, replicas: int = 1, synchronous: bool = False
) -> ReplicatedStore:
    """A store with `count` actors A, B, ... that each use the lock once."""
    world = ReplicatedStore(replicas=replicas, synchronous=synchronous)
    for number in range(count):
        name = chr(ord("A") + number)
        world.actor(name, world.connect(f"{name}'s lease"), use_cache_lock)
    return world


# --- the store ------------------------------------------------------------------------------


class ReplicatedStore(World):
    """A primary and its replicas. `synchronous`: a write is acknowledged when all have it, and they
    get it at one go. A request under way at a failover reaches the new primary."""

    def __init__(self, *, replicas: int = 1, synchronous: bool = False) -> None:
        if replicas < 1:
            raise ValueError(f"a store with {replicas} replicas has nobody to take over")
        super().__init__(KEY)
        self.replicas = [join(KEY, f"replica-{n}") for n in range(1, replicas + 1)]
        self.synchronous = synchronous

    @property
    def setting(self) -> Setting:
        return super().setting._replace(kinds=(*KINDS, "failover"))

    def machine(self, faults: Faults) -> Machine:
        servers = partial(StoreServers, replicas=self.replicas, synchronous=self.synchronous)
        return Machine(self.setting, faults, servers)


class StoreServers(SimServers):
    """The primary and the replicas, in place of an ensemble."""

    def __init__(
        self, actors: Actors, watches: WatchUsers, *, replicas: list[str], synchronous: bool
    ) -> None:
        super().__init__(actors, watches)
        self._replicas = replicas
        self._synchronous = synchronous
        self.events["replicate"] = self._on_replicate
        self.events["failover"] = self._on_failover

    def choices(self, choices: Choices) -> tuple[Finder, Finder]:
        def moves(state: State) -> list[Event]:
            nodes = state[TREE].nodes
            late = [r for r in self._replicas if nodes.get(r) != nodes.get(PRIMARY)]
            return [*choices.moves(state), *[("replicate", replica) for replica in late]]

        def misfortunes(state: State) -> list[Event]:
            left = state[BUDGET][choices.place["failover"]]
            failovers = [("failover", replica) for replica in self._replicas if left]
            return [*choices.misfortunes(state), *failovers]

        return moves, misfortunes

    def _on_replicate(self, draft: Draft, replica: str) -> None:
        draft.tree = _copied(draft.tree, PRIMARY, replica)

    def _on_failover(self, draft: Draft, replica: str) -> None:
        draft.tree = _copied(draft.tree, replica, PRIMARY)

    def serve(self, draft: Draft, s: int, owner: int, request: Any, listing: str = "") -> Any:
        """Let the primary do what a request asks for; it is acknowledged at once."""
        tree = draft.tree
        do: Request[Any] | None = None
        if isinstance(request, SetIfAbsent):
            do = Create(request.path, request.value.encode(), Mode.EPHEMERAL)
        elif (found := tree.nodes.get(request.path)) and found.data == request.value.encode():
            do = Delete(request.path)
        outcome: Any = None
        if do is not None:
            outcome, tree, _ = apply(tree, do, draft.sessions[s][ID])
        for replica in self._replicas if self._synchronous else ():
            tree = _copied(tree, PRIMARY, replica)
        draft.tree = tree
        draft.facts.append(Fact("applied", owner, request, outcome))
        return outcome


def _copied(tree: Tree, source: str, target: str) -> Tree:
    """The tree with the key on one server as it is on another."""
    nodes = dict(tree.nodes)
    key, name = nodes[KEY], split(target)[1]
    if source in nodes:
        nodes[target] = nodes[source]
        nodes[KEY] = key._replace(children=key.children | {name})
    else:
        nodes.pop(target, None)
        nodes[KEY] = key._replace(children=key.children - {name})
    return Tree(nodes, tree.zxid, tree.rules)
