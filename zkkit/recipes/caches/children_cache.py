"""A local copy of a node's children: Curator's PathChildrenCache.

    <path>              its children watched
      <name>            watched

1. List the children with a watch; where the node is not there, watch for it (`Exists`). The cache
   creates nothing, parents neither.
2. Read the children that are not watched yet in one flight, each with a watch. What is no longer
   listed is gone.
3. Wait until watches fire. List again, read again what they told of, go on with 2.
4. When the connection broke all watches are gone: begin again, and tell of what differs.

**To start.** `start_mode="normal"`: listeners are told of the children that are there as created.
"build_initial": they are read before `start` returns, and nobody is told. "post_initialized": as
normal, and `initialized` is told when all of them were.

**Guarantees.** Those of Cache, for the children. **Not guaranteed.** As of Cache; and `rebuild` and
`clear` tell nothing, so from then on the events add up to what has changed since.

**Connection loss, expiry, close.** As of Cache. Listeners are told `suspended`, `lost`, and
`reconnected` when everything has been read again.

**Costs.** 1 flight to begin with (Sync), 1 to list and 1 to read; a watch for each child and one
more. Of a change 1 fire and 1 request; of a new child 1 fire and 2 requests in 2 flights; of a
deletion 2 fires and 2 requests.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from ...paths import split, validate
from ...scripting import S, script
from ...steps import Children, Fire, Get, Script, Sync
from ..arguments import check_choice
from ..shared import read_all, there, until_answered
from .base import ToldOfConnection
from .content import CacheEvent, EventKind
from .reading import HIDDEN, below, is_cut_off, next_fires, read_many, read_or_await

StartMode = Literal["normal", "build_initial", "post_initialized"]
_MODES: tuple[StartMode, ...] = ("normal", "build_initial", "post_initialized")


class ChildrenCache(ToldOfConnection[S]):
    """The children of a node. `data=False`: without their data.

    Raises ValueError if an option makes no sense.
    """

    def __init__(
        self,
        session: S,
        path: str,
        *,
        data: bool = True,
        compressed: bool = False,
        start_mode: StartMode = "normal",
        clear_on_close: bool = True,
    ) -> None:
        super().__init__(
            session, path, data=data, compressed=compressed, clear_on_close=clear_on_close
        )
        check_choice("start mode", start_mode, _MODES)
        self._start_mode = start_mode

    @script
    def start(self) -> Script[None]:
        """Begin to follow the children. Raises AlreadyStarted if it was started before, NotStarted
        if it is closed meanwhile."""
        return super().start.of()

    def _prepare(self) -> Script[None] | None:
        builds = self._start_mode == "build_initial"
        return self._read_now(forced=True, silently=True) if builds else None

    @script
    def rebuild(self) -> Script[None]:
        """Read all children now, and do not tell listeners. Raises NotStarted."""
        yield from self._check_started()
        yield from self._read_now(forced=True, silently=True)

    @script
    def rebuild_node(self, path: str) -> Script[None]:
        """Read this child now, and do not tell listeners. Raises NotStarted, and ValueError if it
        is not a child of the cache's path."""
        if split(validate(path))[0] != self.path:
            raise ValueError(f"{path} is not a child of {self.path}, so it is not in {self!r}")
        return self._rebuild_node(path)

    @script
    def clear(self) -> Script[None]:
        """Forget the content, and do not tell listeners. A child comes back when it changes, or by
        `refresh` or `rebuild`. Raises NotStarted."""
        yield from self._check_started()
        yield from self._forget()

    @script
    def refresh(self, *, forced: bool = False) -> Script[None]:
        """List the children now, read those that are not known (`forced`: all of them), and tell
        listeners what is new. Raises NotStarted."""
        yield from self._check_started()
        yield from self._read_now(forced=forced, silently=False)

    @script
    def clear_and_refresh(self) -> Script[None]:
        """Forget the content, then read it again: listeners are told of all as created. Raises
        NotStarted."""
        yield from self._check_started()
        yield from self._forget()
        yield from self._read_now(forced=True, silently=False)

    # --- reading ---------------------------------------------------------------------------

    def _rebuild_node(self, path: str) -> Script[None]:
        yield from self._check_started()
        _, found = yield from read_all(Sync(path), Get(path))
        node = self._cached(path, there(found, HIDDEN))
        yield from self._take({path: node}, silently=True)

    def _read_now(self, *, forced: bool, silently: bool) -> Script[None]:
        """What there is now, without watches: those are the background script's."""
        _, names = yield from read_all(Sync(self.path), Children(self.path))
        paths = below(self.path, there(names, HIDDEN) or ())
        yield from self._take_without(paths, silently=silently)
        if not forced:
            known = yield from self._known()
            paths = [path for path in paths if path not in known.nodes]
        yield from self._read(paths, silently=silently)

    def _read(
        self, paths: list[str], *, watch: bool = False, silently: bool = False
    ) -> Script[list[str]]:
        """Read these children, and take them over. Gives those that are there."""
        found = yield from read_many([Get(path, watch) for path in paths])
        seen = dict(zip(paths, found, strict=True))
        yield from self._take(
            {path: self._cached(path, node) for path, node in seen.items()}, silently=silently
        )
        return [path for path, node in seen.items() if node is not None]

    # --- following -------------------------------------------------------------------------

    def _follow(self) -> Script[None]:
        yield from until_answered(Sync(self.path))
        while True:
            watched: set[str] = set()
            yield from self._list(watched)
            yield from self._say_back()
            yield from self._say_initialized()
            while not is_cut_off(fires := (yield from next_fires())):
                yield from self._look(watched, fires)
            yield from self._say_away(EventKind.SUSPENDED)

    def _look(self, watched: set[str], fires: Iterable[Fire]) -> Script[None]:
        """Read again what watches told of."""
        told = list(dict.fromkeys(fire.path for fire in fires))
        again = [path for path in told if path != self.path]
        watched.difference_update(again)
        watched.update((yield from self._read(again, watch=True)))
        if self.path in told:
            yield from self._list(watched)

    def _list(self, watched: set[str]) -> Script[None]:
        """List the children, and read those that are not watched yet."""
        names = (yield from read_or_await(Children(self.path, watch=True))) or ()
        paths = below(self.path, names)
        yield from self._take_without(paths)
        watched.intersection_update(paths)
        new = [path for path in paths if path not in watched]
        watched.update((yield from self._read(new, watch=True)))

    def _is_told(self, event: CacheEvent) -> bool:
        return event.kind is not EventKind.INITIALIZED or self._start_mode == "post_initialized"
