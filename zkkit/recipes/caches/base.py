"""What all caches are: a content that follows the servers, and listeners that hear of each change.

The script of a cache reads, and says by `_take` what it has read; all else is here. What is known
stands in the session's table, so that it outlives a session, and so that the background script and
a caller's (`rebuild`) can both add to it: each takes over what a flight gave before anything else
happens, and flights land in the order in which they took off, so none brings back what another one
has seen go.

That is also what readers see, from the moment on when it was read: they need no server and no lock.
Listeners are told in the order of the events, where the session's callbacks run, and nobody waits
for them: so when one is called the content is as its event says, or newer. A storage that somebody
has given is user code, and written there as well, each event just before listeners hear of it.

A new session may be served by a server that lags behind what the last one saw: so the first thing
that a cache asks in a session is `Sync`.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from ...errors import Cancelled, SessionClosed, SessionLost
from ...hooks import guarded
from ...scripting import S
from ...steps import Call, Data, Mark, Notify, Recall, Remember, Script
from ..arguments import check_callback, check_flag, check_methods
from ..long_lived import LongLived, log
from .content import NOTHING, CachedNode, CacheEvent, EventKind, Known, Seen, Storage

State = Literal["latent", "started", "failed", "closed"]
STORAGE = ("put", "remove", "clear", "get", "children", "nodes", "__len__")
"""What a storage must have: the methods of the protocol."""


class _Note(NamedTuple):
    """What a cache keeps in the session's table."""

    cache: Any
    what: str


class CacheBase(LongLived[S, CacheEvent]):
    """Base of the caches. Reading the content is local, and safe from any thread.

    Raises ValueError if an option is neither True nor False, or `storage` lacks a method.
    """

    def __init__(
        self,
        session: S,
        path: str,
        *,
        data: bool = True,
        compressed: bool = False,
        storage: Storage | None = None,
        clear_on_close: bool = True,
    ) -> None:
        super().__init__(session, path)
        check_flag("data", data)
        check_flag("compressed", compressed)
        check_flag("clear_on_close", clear_on_close)
        if storage is not None:
            check_methods("storage", storage, *STORAGE)
        self._keeps_data = data
        self._compressed = compressed
        self._clears = clear_on_close
        self._storage = storage
        self._is_stored = storage is None
        self._known_note = _Note(self, "known")

    # --- the content ----------------------------------------------------------------------

    def get(self, path: str | None = None) -> CachedNode | None:
        """The node with this path (the cache's own if none is given), or None. Raises ValueError if
        it is no text."""
        return self._content.get(self._asked(path))

    def children(self, path: str | None = None) -> Mapping[str, CachedNode]:
        """The nodes just below this path, by name. Raises as `get`."""
        return self._content.children(self._asked(path))

    def _asked(self, path: str | None) -> str:
        if not isinstance(path, str | None):
            raise ValueError(f"path must be text, or None for that of the cache, not {path!r}")
        return self.path if path is None else path

    def __iter__(self) -> Iterator[CachedNode]:
        """All nodes, as they are when the loop begins, by path."""
        content = self._content
        return iter(sorted(content.all() if isinstance(content, Known) else content.nodes()))

    def __len__(self) -> int:
        return len(self._content)

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and self._content.get(path) is not None

    def __bool__(self) -> bool:
        return True  # an empty cache is one, too

    @property
    def _content(self) -> Known | Storage:
        if self._clears and self._is_closed:
            return NOTHING
        if self._storage is not None:
            return self._storage
        known: Known | None = self.session.noted(self._known_note)
        return known or NOTHING

    @property
    def initialized(self) -> bool:
        """Whether all that was there at first has been read. Listeners hear of it in their turn."""
        return self._is_stored and bool(self.session.noted(_Note(self, "initialized")))

    @property
    def state(self) -> State:
        """latent, started, failed (by an error, which is in the log: it follows no more), or
        closed: by `close`, or with its session."""
        life = self.session.noted(self)
        if life is None:
            return "latent"
        if life.closing or self.session.state == "closed":
            return "closed"
        return "started" if life.failed is None else "failed"

    # --- for the recipes ------------------------------------------------------------------

    def _take(self, seen: Seen, *, silently: bool = False) -> Script[None]:
        """Take over what was read, and have it told. It takes no time."""
        known = yield from self._known()
        after, events, touched = known.after(seen)
        if after is known:
            return
        yield from Remember(self._known_note, after)
        for event in events:
            if event.node is not None and not silently:
                yield from Mark("cached", event.path, event.node.stat.mzxid, event.kind.value)
        yield from Notify(self._write, events, silently, touched)

    def _take_without(self, found: Sequence[str], *, silently: bool = False) -> Script[None]:
        """Everything was looked for, and only this was found: all else is gone."""
        known = yield from self._known()
        yield from self._take(known.without(found), silently=silently)

    def _known(self) -> Script[Known]:
        return (yield from Recall(self._known_note)) or NOTHING

    def _forget(self) -> Script[None]:
        """Know nothing, and tell nobody."""
        yield from Remember(self._known_note, None)
        if self._storage is not None:
            yield from Notify(self._storage.clear)

    def _say(self, kind: EventKind) -> Script[None]:
        """Tell something that is not about a node."""
        yield from Notify(self._write, [CacheEvent(kind, self.path)], False)

    def _say_initialized(self, *, again: bool = False) -> Script[None]:
        """All that was there has been read. Said once, also where sessions are lost, unless it is
        to be said `again`."""
        note = _Note(self, "initialized")
        if again or not (yield from Recall(note)):
            yield from Remember(note, True)
            yield from self._say(EventKind.INITIALIZED)

    def _cached(self, path: str, found: Data | None) -> CachedNode | None:
        """A node as it is to be cached."""
        if found is None:
            return None
        data = self._decoded(found.data) if self._keeps_data else None
        return CachedNode(path, data, found.stat)

    def _decoded(self, data: bytes) -> bytes | None:
        if not self._compressed:
            return data
        try:
            return gzip.decompress(data)
        except (OSError, EOFError, zlib.error):
            return None

    # --- where callbacks run --------------------------------------------------------------

    def _write(
        self, events: Sequence[CacheEvent], silently: bool, touched: Sequence[CachedNode] = ()
    ) -> None:
        for node in touched:
            self._store(node.path, node)
        for event in events:
            if self._is_closed:
                return
            if event.node is not None:
                self._store(event.path, event.new)
            elif event.kind is EventKind.INITIALIZED:
                self._is_stored = True
            if event.new is not None and event.new.data is None and self._keeps_data:
                log.warning(
                    "%r: the data of %s are not compressed (gzip), so it has none here: write "
                    "them compressed, or make the cache without compressed=True",
                    self,
                    event.path,
                )
            if not silently and self._is_told(event):
                self._call_open(self._listeners, event)

    def _store(self, path: str, node: CachedNode | None) -> None:
        """Keep what there is now at this path in the storage that we were given."""
        if self._storage is None or self._is_closed:
            return
        with guarded(log, "the storage of %r failed, and lacks what is new at %s", self, path):
            if node is None:
                self._storage.remove(path)
            else:
                self._storage.put(node)

    def _is_told(self, event: CacheEvent) -> bool:
        """Whether listeners are to hear of it."""
        return True

    # --- the life -------------------------------------------------------------------------

    def _go_on(self) -> Script[None]:
        try:
            if self._storage is not None:
                # What somebody kept from before is known: only what differs from it is news.
                kept: dict[str, CachedNode] = yield from Call(self._kept, self._storage)
                yield from Remember(self._known_note, Known(kept))
            yield from super()._go_on()
        except Cancelled:
            if self._clears:
                yield from self._forget()
            raise

    def _kept(self, storage: Storage) -> dict[str, CachedNode]:
        with guarded(log, "the storage of %r failed: what it has is not known", self):
            return {node.path: node for node in storage.nodes()}
        return {}


class ToldOfConnection(CacheBase[S]):
    """A cache that tells as well when the connection breaks, when it has read everything again, and
    when a session is lost."""

    def _live(self) -> Script[None]:
        try:
            yield from self._follow()
        except SessionClosed:
            raise
        except SessionLost:
            yield from self._say_away(EventKind.LOST)
            raise

    def _follow(self) -> Script[None]:
        """The background script, from its start: once for each session."""
        raise NotImplementedError

    def _say_away(self, kind: EventKind) -> Script[None]:
        """The connection broke, or the session is lost: say so, unless it was said already."""
        if (yield from Recall(_Note(self, "away"))) not in (kind, EventKind.LOST):
            yield from Remember(_Note(self, "away"), kind)
            yield from self._say(kind)

    def _say_back(self) -> Script[None]:
        """Everything has been read: say so if somebody was told that we were away."""
        if (yield from Recall(_Note(self, "away"))):
            yield from Remember(_Note(self, "away"), None)
            yield from self._say(EventKind.RECONNECTED)


class CacheListener:
    """Hears some of the events of a cache: give functions for what you want to hear.

        cache.add_listener(CacheListener(created=print, after_initialized=True))

    `created(new)`, `changed(old, new)`, `deleted(old)`, `initialized()`. With `after_initialized`
    nothing is heard of what was there at first. Raises ValueError for what is no function, or would
    have to be awaited.
    """

    def __init__(
        self,
        *,
        created: Callable[[CachedNode], object] | None = None,
        changed: Callable[[CachedNode, CachedNode], object] | None = None,
        deleted: Callable[[CachedNode], object] | None = None,
        initialized: Callable[[], object] | None = None,
        after_initialized: bool = False,
    ) -> None:
        given = {
            "created": created, "changed": changed, "deleted": deleted, "initialized": initialized
        }  # fmt: skip
        for name, function in given.items():
            if function is not None:
                check_callback(name, function)
        check_flag("after_initialized", after_initialized)
        self._created, self._changed, self._deleted = created, changed, deleted
        self._initialized = initialized
        self._listens = not after_initialized

    def __call__(self, event: CacheEvent) -> None:
        if event.kind is EventKind.INITIALIZED:
            self._listens = True
            if self._initialized is not None:
                self._initialized()
        elif not self._listens:
            return
        elif event.old is None and event.new is not None:
            if self._created is not None:
                self._created(event.new)
        elif event.old is not None and event.new is None:
            if self._deleted is not None:
                self._deleted(event.old)
        elif event.old is not None and event.new is not None and self._changed is not None:
            self._changed(event.old, event.new)
