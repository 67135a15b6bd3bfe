"""A local copy of a tree, by two watches for each node: Curator's TreeCache.

    <root>              data and children watched
      <name>            data and children watched
        <name>          ...

1. Read the tree from the top, of each level all nodes and their children in one flight, each with a
   watch. Tell of each node, then `initialized`, once in each session. If the root is not there,
   watch for it: a cache creates nothing.
2. Wait until watches fire. In one flight read again what they told of, with a new watch for each
   that is used up: data that changed, children that came or went, both where a node was deleted.
3. Children that are not watched yet: read them as in 1.
4. When the connection broke all watches are gone: read the tree again, and tell of what differs.

**Guarantees.** Those of Cache: it comes to be what the servers have, no node goes back, a node that
was created anew is told as deleted and created, the events add up to the content, it creates
nothing. Dead nodes stay dead: one script reads, so no late answer brings one back.

**Not guaranteed.** As of Cache. A `selector` that raises has said no, and that is logged.

**Connection loss, expiry, close.** As of Cache. Listeners are told `suspended`, `lost`, and
`reconnected` when everything has been read again.

**Costs.** 1 flight to begin with (Sync) and 1 for each level; 2 watches and 2 requests for each
node. Of a change 1 fire and 1 request; of a new child 1 fire and 3 requests in 2 flights; of a
deletion 2 fires and 3 requests. A new connection sets all watches again. Cache does it all with one
watch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from ...hooks import guarded
from ...scripting import S
from ...steps import Call, Children, Fire, FireKind, Get, Request, Script, Sync
from ..arguments import check_methods
from ..long_lived import log
from ..shared import until_answered
from .base import CacheBase, ToldOfConnection
from .content import EventKind
from .reading import below, is_cut_off, next_fires, read_many, read_or_await


class Selector(Protocol):
    """Which part of a tree is cached; it is asked about paths."""

    def traverses(self, path: str) -> bool:
        """Whether the children of this node are looked at."""

    def accepts(self, path: str) -> bool:
        """Whether this node, which is not the root, is cached, and with it what is below it."""


class TreeCache(ToldOfConnection[S]):
    """A tree of nodes, followed by watches on each of them. `max_depth`: how far below the root (0:
    only the root). `data=False`: nodes without their data. Raises ValueError if `max_depth` is no
    such number, or `selector` no such object."""

    def __init__(
        self,
        session: S,
        path: str,
        *,
        max_depth: int | None = None,
        selector: Selector | None = None,
        data: bool = True,
        compressed: bool = False,
        clear_on_close: bool = True,
    ) -> None:
        super().__init__(
            session, path, data=data, compressed=compressed, clear_on_close=clear_on_close
        )
        if max_depth is not None and (
            isinstance(max_depth, bool) or not isinstance(max_depth, int) or max_depth < 0
        ):
            raise ValueError(
                f"max_depth must be a whole number from 0 (the root alone), or None for no "
                f"bound, not {max_depth!r}"
            )
        if selector is not None:
            check_methods("selector", selector, "traverses", "accepts")
        self._max_depth = max_depth
        self._selector = selector

    def _follow(self) -> Script[None]:
        yield from until_answered(Sync(self.path))
        each = WatchesEach(self, max_depth=self._max_depth, selector=self._selector)
        first = True
        while True:
            yield from each.read_tree()
            yield from self._say_back()
            if first:
                yield from self._say_initialized(again=True)
                first = False
            while not is_cut_off(fires := (yield from next_fires())):
                yield from each.look(fires)
            yield from self._say_away(EventKind.SUSPENDED)


class WatchesEach:
    """Reads a tree for a cache, with two watches for each node."""

    def __init__(
        self,
        cache: CacheBase[Any],
        *,
        max_depth: int | None = None,
        selector: Selector | None = None,
    ) -> None:
        self._cache = cache
        self._root = cache.path
        self._max_depth = max_depth
        self._selector = selector
        self._watched: set[str] = set()
        """The nodes that are read again when they change."""

    def read_tree(self) -> Script[None]:
        """All there is, level by level; all watches are gone."""
        self._watched.clear()
        yield from self._read_below([self._root])
        yield from self._cache._take_without(sorted(self._watched))

    def _read_below(self, level: list[str]) -> Script[None]:
        """These nodes, and what is below them."""
        while level:
            level = yield from self._read(level, level)

    def look(self, fires: Iterable[Fire]) -> Script[None]:
        """Read again what watches told of."""
        fires = tuple(fires)
        # Of what we could not read for a while (its ACL) neither is known.
        anew = {fire.path for fire in fires} - self._watched
        data = [f.path for f in fires if f.kind is not FireKind.CHILD or f.path in anew]
        names = [f.path for f in fires if f.kind is not FireKind.CHANGED or f.path in anew]
        yield from self._read_below((yield from self._read(_once(data), _once(names))))

    def _read(self, data: Sequence[str], names: Sequence[str]) -> Script[list[str]]:
        """Read these nodes, and of these the children, with watches. Gives the children that are
        not watched yet."""
        lists = yield from self._traversed(names)
        reads: list[Request[Any]] = [Get(path, watch=True) for path in data]
        reads += [Children(path, watch=True) for path in lists]
        found = yield from read_many(reads)
        seen = dict(zip(data, found[: len(data)], strict=True))
        self._watched.difference_update(seen)
        self._watched.update(path for path, node in seen.items() if node is not None)
        cache = self._cache
        yield from cache._take({path: cache._cached(path, node) for path, node in seen.items()})
        if self._root in data and seen[self._root] is None:
            came = yield from read_or_await(Get(self._root, watch=True))
            if came is not None:
                return [self._root]  # between the two
        children = [
            path
            for parent, listed in zip(lists, found[len(data) :], strict=True)
            for path in below(parent, listed or ())
            if path not in self._watched
        ]
        return (yield from self._accepted(children))

    # --- which of them --------------------------------------------------------------------

    def _traversed(self, paths: Sequence[str]) -> Script[Sequence[str]]:
        """Those of which the children are looked at."""
        if self._max_depth is not None:
            most = self._max_depth + self._depth(self._root)
            paths = [path for path in paths if self._depth(path) < most]
        if self._selector is None:
            return paths
        return (yield from Call(self._choose, self._selector.traverses, paths))  # type: ignore[no-any-return]

    def _accepted(self, paths: list[str]) -> Script[list[str]]:
        if self._selector is None or not paths:
            return paths
        return (yield from Call(self._choose, self._selector.accepts, paths))  # type: ignore[no-any-return]

    def _choose(self, question: Any, paths: Sequence[str]) -> list[str]:
        """What the user's code says yes to."""
        chosen = []
        for path in paths:
            with guarded(log, "the selector of %r failed for %s, which is left out", self, path):
                if question(path):
                    chosen.append(path)
        return chosen

    def _depth(self, path: str) -> int:
        return 0 if path == "/" else path.count("/")


def _once(paths: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(paths))
