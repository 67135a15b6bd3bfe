"""The caches that the contract suite runs over, and what each of them covers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from kazoo.exceptions import NoNodeError
from kazoo.recipe.cache import TreeCache as KazooTreeCache
from kazoo.recipe.cache import TreeEvent

from zkkit import Cache, CachedNode, CacheEvent, ChildrenCache, NodeCache, TreeCache
from zkkit.recipes.caches import EventKind


@dataclass(frozen=True)
class Kind:
    """A kind of cache: how to make one, and which nodes it has."""

    name: str
    make: Callable[..., Any]
    covers: Callable[[str], bool]
    """Whether it has a node, by its path below the cache's own ("" for that itself)."""

    def part(self, nodes: dict[str, Any], path: str) -> dict[str, Any]:
        """Of these nodes those that it covers."""
        return {p: node for p, node in nodes.items() if self.covers(p.removeprefix(path))}

    def __str__(self) -> str:
        return self.name


def single(session: Any, path: str, **options: Any) -> Any:
    return Cache(session, path, single=True, **options)


CACHE = Kind("Cache", Cache, lambda below: True)
SINGLE = Kind("Cache-single", single, lambda below: not below)
TREE = Kind("TreeCache", TreeCache, lambda below: True)
CHILDREN = Kind("ChildrenCache", ChildrenCache, lambda below: below.count("/") == 1)
NODE = Kind("NodeCache", NodeCache, lambda below: not below)

ALL = [CACHE, SINGLE, TREE, CHILDREN, NODE]
ONE_OF_EACH = [CACHE, TREE]
"""One for each way to follow: a persistent watch, or watches on each node."""


def over(*kinds: Any) -> Any:
    """Run a test over these kinds of cache."""
    return pytest.mark.parametrize("kind", kinds, ids=str)


# --- what it is to be ---------------------------------------------------------------------------


def tree(witness: Any, path: str) -> dict[str, tuple[bytes, int, int]]:
    """What the servers have: data, czxid and mzxid of each node by path."""
    try:
        data, stat = witness.get(path)
        found = {path: (data, stat.czxid, stat.mzxid)}
        for name in witness.get_children(path):
            found |= tree(witness, f"{path}/{name}")
    except NoNodeError:
        return {}
    return found


def _seen(node: CachedNode | None) -> tuple[bytes | None, int, int] | None:
    """All of it that events tell: not what its children and its ACL leave in its stat."""
    return node and (node.data, node.stat.czxid, node.stat.mzxid)


def content(cache: Any) -> dict[str, Any]:
    """What a cache has, to be compared with `tree`."""
    return {node.path: _seen(node) for node in cache}


def _is_as_new(has: CachedNode | None, event: CacheEvent) -> bool:
    """Whether a cache that has this has what the event says, or something newer."""
    if has is None:  # deleted, now or later
        return True
    if event.new is None:
        return event.old is None or has.stat.czxid > event.old.stat.czxid
    return (has.stat.czxid, has.stat.mzxid) >= (event.new.stat.czxid, event.new.stat.mzxid)


class Told:
    """A listener that adds up what it is told, and notes what does not add up."""

    def __init__(self, cache: Any) -> None:
        self.cache = cache
        self.events: list[CacheEvent] = []
        self.sum: dict[str, CachedNode] = {}
        self.newest: dict[str, int] = {}
        self.wrong: list[str] = []
        self.threads: set[int] = set()
        cache.add_listener(self)

    def __call__(self, event: CacheEvent) -> None:
        self.events.append(event)
        self.threads.add(threading.get_ident())
        if event.node is None:
            return
        if _seen(self.sum.get(event.path)) != _seen(event.old):
            self.wrong.append(f"{event} does not follow from {self.sum.get(event.path)}")
        if not _is_as_new(self.cache.get(event.path), event):
            self.wrong.append(f"{event}, and the cache has {self.cache.get(event.path)}")
        if event.new is None:
            del self.sum[event.path]
            return
        if event.new.stat.mzxid <= self.newest.get(event.path, 0):
            self.wrong.append(f"{event} goes back from {self.newest[event.path]}")
        self.newest[event.path] = event.new.stat.mzxid
        self.sum[event.path] = event.new

    @property
    def short(self) -> list[tuple[str, str]]:
        """Kind of each event, and the name of its node."""
        return [(e.kind.value, e.path.removeprefix(self.cache.path)) for e in self.events]

    @property
    def changes(self) -> list[tuple[str, str]]:
        """The same, of nodes only."""
        return [each for each, e in zip(self.short, self.events, strict=True) if e.node]

    def adds_up(self) -> bool:
        """To what the cache has."""
        assert not self.wrong, self.wrong
        return {path: _seen(node) for path, node in self.sum.items()} == content(self.cache)


# --- kazoo's own TreeCache, to compare ----------------------------------------------------------


class KazooCache:
    """kazoo's TreeCache, as far as it can be used like one of ours."""

    def __init__(self, client: Any, path: str) -> None:
        self.path = path
        self._cache = KazooTreeCache(client, path)
        self.start, self.close = self._cache.start, self._cache.close

    def add_listener(self, listener: Callable[[CacheEvent], object]) -> None:
        """What it tells of nodes, in our words: that one was removed or that it is there."""

        def hear(event: Any) -> None:
            if event.event_data is not None:
                node = CachedNode(*event.event_data)
                if event.event_type == TreeEvent.NODE_REMOVED:
                    listener(CacheEvent(EventKind.DELETED, node.path, old=node))
                else:
                    listener(CacheEvent(EventKind.CREATED, node.path, new=node))

        self._cache.listen(hear)

    def __iter__(self) -> Any:
        return iter(self._below(self.path))

    def _below(self, path: str) -> list[CachedNode]:
        found = self._cache.get_data(path)
        if found is None:
            return []
        nodes = [CachedNode(path, found.data, found.stat)]
        for name in self._cache.get_children(path, ()):
            nodes += self._below(f"{path}/{name}")
        return nodes


KAZOO = Kind("kazoo.TreeCache", KazooCache, lambda below: True)
kazoo_keeps = pytest.param(KAZOO, id=KAZOO.name, marks=pytest.mark.front("kazoo"))
"""kazoo's own TreeCache passes this test, too."""


def kazoo_breaks(reason: str) -> Any:
    """kazoo's own TreeCache does not pass this test."""
    xfail = pytest.mark.xfail(strict=True, reason=reason, raises=AssertionError)
    return pytest.param(KAZOO, id=KAZOO.name, marks=[pytest.mark.front("kazoo"), xfail])
