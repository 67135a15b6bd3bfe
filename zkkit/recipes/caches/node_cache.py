"""A local copy of one node: Curator's NodeCache.

    <path>              watched

1. Get the node with a watch; where there is none, look for it with a watch (`Exists`), which fires
   when it is created. The cache creates nothing, parents neither.
2. Take over what was read, wait until the watch fires, and read again.

**Guarantees.** Those of Cache, for one node. Listeners are told that it changed only if its data
differ: writing the same data again is no news, though the stat follows. So events add up to the
content by their data; the `old` node of one may have a newer stat than listeners were told of. That
it was deleted and created again is news.

**Connection loss, expiry, close.** As of Cache.

**Costs.** 1 flight to begin with (Sync) and 1 to read; 1 watch. Of a change 1 fire and 1 request,
of a deletion 1 fire and 2 requests.
"""

from __future__ import annotations

from ...scripting import S, script
from ...steps import Get, Script, Sync
from ..arguments import check_flag
from ..shared import read_all, there, until_answered
from .base import CacheBase
from .content import CacheEvent
from .reading import HIDDEN, next_fires, read_or_await


class NodeCache(CacheBase[S]):
    """One node. With `build_initial` it is read before `start` returns, and listeners are not told
    of that. Raises ValueError if an option makes no sense."""

    def __init__(
        self,
        session: S,
        path: str,
        *,
        build_initial: bool = False,
        compressed: bool = False,
        clear_on_close: bool = True,
    ) -> None:
        super().__init__(session, path, compressed=compressed, clear_on_close=clear_on_close)
        check_flag("build_initial", build_initial)
        self._builds = build_initial

    @script
    def start(self) -> Script[None]:
        """Begin to follow the node. Raises AlreadyStarted if it was started before, NotStarted if
        it is closed meanwhile."""
        return super().start.of()

    def _prepare(self) -> Script[None] | None:
        return self._read_now() if self._builds else None

    @script
    def rebuild(self) -> Script[None]:
        """Read the node now, and do not tell listeners. Raises NotStarted if it is not started."""
        yield from self._check_started()
        yield from self._read_now()

    def _read_now(self) -> Script[None]:
        _, found = yield from read_all(Sync(self.path), Get(self.path))
        node = self._cached(self.path, there(found, HIDDEN))
        yield from self._take({self.path: node}, silently=True)

    def _live(self) -> Script[None]:
        yield from until_answered(Sync(self.path))
        while True:
            found = yield from read_or_await(Get(self.path, watch=True))
            yield from self._take({self.path: self._cached(self.path, found)})
            yield from self._say_initialized()
            yield from next_fires()

    def _is_told(self, event: CacheEvent) -> bool:
        if event.old is not None and event.new is not None:
            return event.old.data != event.new.data
        return True
