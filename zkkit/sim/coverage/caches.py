"""Caches: one who caches, or two, and one who changes what is cached."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import NodeExists, NoNode, SessionLost
from ...recipes.caches import Cache, ChildrenCache, NodeCache, TreeCache
from ...recipes.shared import until_answered
from ...steps import Create, Delete, Request, Script, Set
from ..properties import of_a_cached_tree
from ..steps import Work
from ..world import SimSession
from .cast import LOST, Begin, Cast, Life

# --- lives ----------------------------------------------------------------------------------


class CacheOfOldServers(Cache[SimSession]):
    """A cache where the servers have no persistent watches."""

    def _live(self) -> Script[None]:
        return self._follow_each()


def caching(make: Callable[[SimSession], Any]) -> Life:
    """Starts the cache that is made of its session, lets it follow, closes it."""

    def live(session: SimSession) -> Begin:
        cache = make(session)

        return lambda deadline: _follow(cache)

    return live


def refreshing(session: SimSession) -> Begin:
    """Reads the children itself, while the cache follows them."""
    cache = ChildrenCache(session, "/l")
    return lambda deadline: _follow(cache, lambda: cache.refresh.of(forced=True))


def changing_itself(session: SimSession) -> Begin:
    """Has a cache, and makes a child anew meanwhile."""
    cache, begin = TreeCache(session, "/l"), _AGAIN(session)
    return lambda deadline: _follow(cache, lambda: begin(deadline))


def _follow(cache: Any, *meanwhile: Callable[[], Script[None]]) -> Script[None]:
    try:
        yield from cache.start.of()
        try:
            for script in meanwhile:
                yield from script()
            yield from Work()
        except SessionLost:
            yield from Work()  # the cache goes on
    finally:
        yield from cache.close.of()


def changing(*requests: Request[Any]) -> Life:
    """Makes these changes, one after the other. Twice the same is once."""

    def live(session: SimSession) -> Begin:
        def begin(deadline: float | None) -> Script[None]:
            for request in requests:
                try:
                    yield from until_answered(request)
                except (NodeExists, NoNode):
                    pass  # somebody else did it, or we did

        return begin

    return live


# --- the casts --------------------------------------------------------------------------------

_NODE = changing(Set("/l", b"1"), Delete("/l"), Create("/l", b"2"))
_CHILD = changing(Create("/l/a"), Set("/l/a", b"1"), Delete("/l/a"))
_COMES, _GOES = changing(Create("/l/a"), Set("/l/a", b"1")), changing(Delete("/l/a"))
_AGAIN = changing(Delete("/l/a"), Create("/l/a"))
_DEEP = changing(Create("/l/a"), Create("/l/a/b"), Delete("/l/a/b"), Delete("/l/a"))

_TREE = of_a_cached_tree("/l", fails=LOST)
_ROOT = of_a_cached_tree("/l", lambda path: path == "/l", fails=LOST)
_CHILDREN = of_a_cached_tree("/l", lambda path: path.count("/") == 2, fails=LOST)

_CACHE = caching(lambda s: Cache(s, "/l"))
_EACH = caching(lambda s: CacheOfOldServers(s, "/l"))
_SINGLE = caching(lambda s: Cache(s, "/l", single=True))
_TREE_CACHE = caching(lambda s: TreeCache(s, "/l"))
_NODE_CACHE = caching(lambda s: NodeCache(s, "/l"))
_CHILDREN_CACHE = caching(lambda s: ChildrenCache(s, "/l"))

FAMILIES: dict[str, tuple[Cast, ...]] = {
    "cache": (
        Cast("Cache, a child comes and goes", (_CACHE, _CHILD), _TREE),
        Cast("Cache, a child is made anew", (_CACHE, _AGAIN), _TREE, ("/l", "/l/a")),
        Cast("Cache, a branch comes and goes", (_CACHE, _DEEP), _TREE),
        Cast("Cache, by watches on each node", (_EACH, _CHILD), _TREE),
        Cast("Cache of a single node", (_SINGLE, _NODE), _ROOT),
        Cast("TreeCache, a child comes and goes", (_TREE_CACHE, _CHILD), _TREE),
        Cast("TreeCache, a child is made anew", (_TREE_CACHE, _AGAIN), _TREE, ("/l", "/l/a")),
        Cast("TreeCache, a branch comes and goes", (_TREE_CACHE, _DEEP), _TREE),
        Cast("ChildrenCache, a child comes and goes", (_CHILDREN_CACHE, _CHILD), _CHILDREN),
        Cast(
            "ChildrenCache, a child is made anew",
            (_CHILDREN_CACHE, _AGAIN),
            _CHILDREN,
            ("/l", "/l/a"),
        ),
        Cast("ChildrenCache, refreshed meanwhile", (refreshing, _CHILD), _CHILDREN),
        Cast("NodeCache, made anew", (_NODE_CACHE, _NODE), _ROOT),
        Cast("Cache, two who change", (_CACHE, _COMES, _GOES), _TREE),
        Cast("TreeCache, two who change", (_TREE_CACHE, _COMES, _GOES), _TREE),
        Cast("ChildrenCache, two who change", (_CHILDREN_CACHE, _COMES, _GOES), _CHILDREN),
        Cast(
            "Cache beside a TreeCache and its changes",
            (_CACHE, changing_itself),
            _TREE,
            ("/l", "/l/a"),
            shared=True,
        ),
    ),
}
