"""The designs of a cache, and what each costs by arithmetic.

A tree of N nodes is read and then followed; M of the nodes have children. One thing changes at a
time, and the next when the cache has done with it.

    cache-watches       a data watch and a children watch for each node. To load: a sync, and of
                        each node its data and its children. Data that change fire one watch, and
                        are read again, which sets it again. A new child fires its parent's: the
                        parent is listed again, the child is read and listed, each with a watch. A
                        deleted child fires its own and its parent's: both are looked at again, the
                        child by two requests that find nothing and set no watch
    cache-persistent    one persistent, recursive watch. To load: a sync, the watch, the data of
                        each node and the children of those that have some. Whatever happens to a
                        node fires once, and the node is read again by one request; no watch is set

All of it is exact, on any machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from zkkit import Cache, Session, TreeCache
from zkkit.recipes.caches.base import CacheBase
from zkkit.scripting import Blocking

CHANGES = ("changed", "created", "deleted")
"""What can happen to a node, as listeners are told."""


class PerEvent(NamedTuple):
    """What a cache spends on one change."""

    fires: int
    requests: int
    watches: int


@dataclass(frozen=True)
class CacheDesign:
    """One way to build a cache."""

    name: str
    make: Callable[[Session, str], CacheBase[Blocking]]
    does: str
    watches: Callable[[int, int], int]
    """How many watches are set to load N nodes, M of which have children."""
    requests: Callable[[int, int], int]
    """How many requests are sent for that."""
    per_event: Mapping[str, PerEvent]
    told: str
    """The law of loading, as people write it."""

    def as_data(self) -> str:
        """In results.json a design is its name."""
        return self.name

    @classmethod
    def from_data(cls, name: str) -> CacheDesign:
        """The design of that name."""
        return CACHES[name]


WATCHES = CacheDesign(
    "cache-watches",
    lambda session, path: TreeCache(session, path),
    "TreeCache: two watches for each node, each good for one fire",
    lambda n, m: 2 * n,
    lambda n, m: 2 * n + 1,
    {
        "changed": PerEvent(fires=1, requests=1, watches=1),
        "created": PerEvent(fires=1, requests=3, watches=3),
        "deleted": PerEvent(fires=2, requests=3, watches=1),
    },
    "2N watches and 2N+1 requests to load N nodes",
)
PERSISTENT = CacheDesign(
    "cache-persistent",
    lambda session, path: Cache(session, path),
    "Cache: one persistent watch for the whole tree",
    lambda n, m: 1,
    lambda n, m: n + m + 2,
    dict.fromkeys(CHANGES, PerEvent(fires=1, requests=1, watches=0)),
    "1 watch and N+M+2 requests to load N nodes of which M have children",
)

CACHES = {design.name: design for design in (WATCHES, PERSISTENT)}
