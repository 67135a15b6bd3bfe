"""What a cache knows, and what becomes of it when something is read: pure, shared by all caches.

    CachedNode          a node as it was read
    CacheEvent          what listeners are told
    Known               nodes by path; `after(seen)` gives what is known then, the events, and
                        the nodes of which only the stat is newer
    Storage             where somebody wants the content kept; Memory is one of dictionaries

**Never back.** A node that was created or changed before what is known (czxid, mzxid) is nothing
new: a server that lags has shown it. What its children and its ACL leave in its stat is taken over
when it is newer, without an event. **Created anew.** Another czxid is another node, whatever its
version: deleted, then created. So every event follows from the one before, and the events of a path
add up to what is known of it.

**Order.** What was read together is told together: deletions first, the deepest ones before what is
above them; then what came and what changed, as the servers did it, by zxid.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple, Protocol

from ...paths import split
from ...steps import Stat


class CachedNode(NamedTuple):
    """A node as a cache knows it. `data` is None if the cache keeps no data, or could not
    decompress them."""

    path: str
    data: bytes | None
    stat: Stat


class EventKind(StrEnum):
    """What a cache tells."""

    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"
    INITIALIZED = "initialized"
    SUSPENDED = "suspended"
    RECONNECTED = "reconnected"
    LOST = "lost"


class CacheEvent(NamedTuple):
    """One thing that happened: created has a `new` node, deleted an `old` one, changed both, all
    others neither. `path` is the node's, or the cache's own."""

    kind: EventKind
    path: str
    old: CachedNode | None = None
    new: CachedNode | None = None

    @property
    def node(self) -> CachedNode | None:
        """The node it is about: as it is now, or as it was before it was deleted."""
        return self.new or self.old


Seen = Mapping[str, "CachedNode | None"]
"""What was read: for each path the node, or None where there is none."""


class Known:
    """The nodes that a cache knows, by path. It is never changed: a change gives another one. So
    whoever reads needs no lock, and a loop over it sees one moment."""

    def __init__(
        self, nodes: Mapping[str, CachedNode], below: Mapping[str, Names] | None = None
    ) -> None:
        self.nodes = nodes
        if below is None:
            below = {}
            _put(below, nodes.values())
        self._below = below

    def get(self, path: str) -> CachedNode | None:
        return self.nodes.get(path)

    def children(self, path: str) -> Mapping[str, CachedNode]:
        return dict(self._below.get(path, ()))

    def all(self) -> list[CachedNode]:
        return list(self.nodes.values())

    def __len__(self) -> int:
        return len(self.nodes)

    def after(self, seen: Seen) -> tuple[Known, list[CacheEvent], list[CachedNode]]:
        """What is known when this has been read, what is told of it, and what is not told: nodes
        of which only the stat is newer, by their children or their ACL."""
        gone: list[CacheEvent] = []
        come: list[CacheEvent] = []
        touched: list[CachedNode] = []
        for path, new in seen.items():
            old = self.nodes.get(path)
            if old == new or (old is not None and new is not None and _is_older(new, old)):
                continue
            if old is not None and new is not None and new.stat.czxid == old.stat.czxid:
                if new.stat.mzxid == old.stat.mzxid:
                    touched.append(new)
                else:
                    come.append(CacheEvent(EventKind.CHANGED, path, old, new))
                continue
            if old is not None:
                gone.append(CacheEvent(EventKind.DELETED, path, old))
            if new is not None:
                come.append(CacheEvent(EventKind.CREATED, path, None, new))
        if not gone and not come and not touched:
            return self, [], []
        gone.sort(key=_depth, reverse=True)
        come.sort(key=_zxid)
        nodes, below = dict(self.nodes), dict(self._below)
        for event in gone:
            del nodes[event.path]
        new_ones = [*(event.new for event in come if event.new is not None), *touched]
        nodes.update((node.path, node) for node in new_ones)
        _remove(below, (event.path for event in gone))
        _put(below, new_ones)
        return Known(nodes, below), gone + come, touched

    def without(self, paths: Iterable[str]) -> Seen:
        """What was seen if of all that is known only these paths were found."""
        return dict.fromkeys(self.nodes.keys() - frozenset(paths))


Names = Mapping[str, CachedNode]
"""The nodes below one, by name."""


def _put(below: dict[str, Names], nodes: Iterable[CachedNode]) -> None:
    copied: dict[str, dict[str, CachedNode]] = {}
    for node in nodes:
        parent, name = split(node.path)
        if name:
            if parent not in copied:
                below[parent] = copied[parent] = dict(below.get(parent, ()))
            copied[parent][name] = node


def _remove(below: dict[str, Names], paths: Iterable[str]) -> None:
    copied: dict[str, dict[str, CachedNode]] = {}
    for path in paths:
        parent, name = split(path)
        if name:
            if parent not in copied:
                below[parent] = copied[parent] = dict(below.get(parent, ()))
            copied[parent].pop(name, None)
    for parent, names in copied.items():
        if not names:
            del below[parent]


NOTHING = Known({})


def _is_older(new: CachedNode, old: CachedNode) -> bool:
    """Whether there is nothing new in it."""
    return _age(new.stat) <= _age(old.stat)


def _age(stat: Stat) -> tuple[int, ...]:
    """Grows with the node's own changes, then with those of its children, then of its ACL."""
    return (stat.czxid, stat.mzxid, stat.pzxid, stat.cversion, stat.aversion)


def _depth(event: CacheEvent) -> int:
    return event.path.count("/")


def _zxid(event: CacheEvent) -> int:
    assert event.new is not None
    stat = event.new.stat
    return stat.czxid if event.kind is EventKind.CREATED else stat.mzxid


class Storage(Protocol):
    """Where somebody wants a cache to keep its content. It is written by one thread at a time (the
    session's callbacks: user code), each event just before listeners hear of it; and read by any.
    What it raises is logged: it then lacks that change, and the cache goes on."""

    def put(self, node: CachedNode) -> object:
        """Keep this node, instead of the one with this path if there is one."""

    def remove(self, path: str) -> object:
        """Keep it no more; nothing happens if it is not there."""

    def clear(self) -> object:
        """Keep nothing."""

    def get(self, path: str) -> CachedNode | None:
        """The node with this path, or None."""

    def children(self, path: str) -> Mapping[str, CachedNode]:
        """The nodes just below this path, by name."""

    def nodes(self) -> Iterable[CachedNode]:
        """All of them, in any order, as they are at this moment."""

    def __len__(self) -> int: ...


class Memory:
    """A storage of dictionaries. Each read is a single operation of a dictionary, which no other
    thread can come between: so it needs no lock."""

    def __init__(self) -> None:
        self._nodes: dict[str, CachedNode] = {}
        self._children: dict[str, dict[str, CachedNode]] = {}

    def put(self, node: CachedNode) -> None:
        parent, name = split(node.path)
        self._nodes[node.path] = node
        if name:
            self._children.setdefault(parent, {})[name] = node

    def remove(self, path: str) -> None:
        parent, name = split(path)
        self._nodes.pop(path, None)
        siblings = self._children.get(parent, {})
        siblings.pop(name, None)
        if not siblings:
            self._children.pop(parent, None)

    def clear(self) -> None:
        self._nodes, self._children = {}, {}

    def get(self, path: str) -> CachedNode | None:
        return self._nodes.get(path)

    def children(self, path: str) -> Mapping[str, CachedNode]:
        return self._children.get(path, {}).copy()

    def nodes(self) -> Iterable[CachedNode]:
        return list(self._nodes.values())

    def __len__(self) -> int:
        return len(self._nodes)
