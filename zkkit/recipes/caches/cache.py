"""A local copy of a tree, by one watch for all of it: Curator's CuratorCache.

    <root>              watched once, with everything below it (addWatch, persistent and recursive)
      <name>            ...
        <name>

1. Set a persistent watch on the root. It need not be there: a cache creates nothing.
2. Read the tree from the top: of each level all nodes in one flight, then the children of those
   that have some in another. Tell of each node, then `initialized`, once.
3. Wait until the watch fires. Read all nodes it has told of by then, in one flight: one request for
   each, whatever happened to it.
4. When the connection broke the session sets the watch again and says so: read the tree again, and
   tell of what differs.

**Guarantees.** Once the servers are quiet the content is what they have. No node goes back to
something older (mzxid), in this session or the next. A node that was deleted and created again,
also behind our back, is told as deleted and created (czxid), though its version may be the same.
The events add up to the content, but for what children and ACLs leave in a stat. It creates
nothing.

**Not guaranteed.** A node that changed twice between two looks is told once: the cache shows what
is there, not what was. A node's stat is that of its own last read: its children come and go without
it. The nodes of a transaction are not seen at one moment. What may not be read (its ACL) is not
there; when its ACL allows it, it is read as soon as something happens to it (a change of an ACL is
told to nobody, and newer servers send no event to whoever may not read).

**Connection loss.** The content stays as it was; it is read again as soon as there is a connection.
**Expiry.** The same, in the next session, after a Sync: its server may lag. **Close.** The content
is cleared, unless `clear_on_close=False`. If the session is closed it stays as it is.

**Costs.** 1 flight to set the watch and at most 2 for each level; 1 watch whatever the number of
nodes; of each change 1 fire and 1 request. TreeCache has two watches for each node.

**Curator.** CuratorCache compares versions only, and so misses a node that was created anew during
a partition. Where servers have no persistent watches (before 3.6) this one watches each node, as
CuratorCacheBridge does.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...errors import Unimplemented
from ...scripting import S
from ...steps import Children, Data, Fire, FireKind, Get, Script, Sync, Together, Watch
from ..arguments import check_flag
from ..shared import until_answered
from .base import CacheBase
from .content import Storage
from .reading import below, is_cut_off, next_fires, read_many
from .tree_cache import WatchesEach


class Cache(CacheBase[S]):
    """A tree of nodes, or with `single` one node, followed by one persistent watch.

    Raises ValueError if an option makes no sense.
    """

    def __init__(
        self,
        session: S,
        path: str,
        *,
        single: bool = False,
        compressed: bool = False,
        storage: Storage | None = None,
        clear_on_close: bool = True,
    ) -> None:
        super().__init__(
            session, path, compressed=compressed, storage=storage, clear_on_close=clear_on_close
        )
        check_flag("single", single)
        self._single = single

    def _live(self) -> Script[None]:
        # First the watch: what happens from now on is heard of, and read after the tree.
        watch = Together(Sync(self.path), Watch(self.path, not self._single))
        try:
            yield from until_answered(watch)
        except Unimplemented:
            yield from self._follow_each()
        while True:
            yield from self._read_tree()
            yield from self._say_initialized()
            while not is_cut_off(fires := (yield from next_fires())):
                yield from self._look(fires)

    def _look(self, fires: Iterable[Fire]) -> Script[None]:
        """Read again what the watch told of."""
        heard: dict[str, set[FireKind]] = {}
        for fire in fires:
            if fire.kind is not FireKind.CHILD:
                heard.setdefault(fire.path, set()).add(fire.kind)
        known = yield from self._known()
        nodes = yield from self._read(heard)
        for path, kinds in heard.items():
            # It was there and we could not read it, nor list it: what is below was not heard of.
            if kinds == {FireKind.CHANGED} and path in nodes and path not in known.nodes:
                yield from self._read_levels([path])

    def _read_tree(self) -> Script[None]:
        """All there is."""
        yield from self._take_without((yield from self._read_levels([self.path])))

    def _read_levels(self, level: list[str]) -> Script[list[str]]:
        """These nodes and what is below them, level by level. Gives the paths of all."""
        found: list[str] = []
        while level:
            nodes = yield from self._read(level)
            found += nodes
            # Whoever has no children yet: the watch tells of those that come.
            parents = [path for path, node in nodes.items() if node.stat.children]
            if self._single:
                break
            listed = yield from read_many([Children(path) for path in parents])
            level = [
                path
                for parent, names in zip(parents, listed, strict=True)
                for path in below(parent, names or ())
            ]
        return found

    def _read(self, paths: Iterable[str]) -> Script[dict[str, Data]]:
        """Look at these nodes, and take them over. Gives those that are there."""
        paths = list(paths)
        seen = dict(zip(paths, (yield from read_many([Get(p) for p in paths])), strict=True))
        yield from self._take({path: self._cached(path, node) for path, node in seen.items()})
        return {path: node for path, node in seen.items() if node is not None}

    def _follow_each(self) -> Script[None]:
        """Where there are no persistent watches, watch each node."""
        each = WatchesEach(self, max_depth=0 if self._single else None)
        while True:
            yield from each.read_tree()
            yield from self._say_initialized()
            while not is_cut_off(fires := (yield from next_fires())):
                yield from each.look(fires)
