"""Who waits for which watch.

A watch belongs to the run that set it, but the server holds one per session, path and kind. So the
session counts users: a fire wakes them all, and only the last one to leave has the watch removed
on the server. A watch counts from its reply on: a fire that arrives before the reply was meant for
those who had set it earlier.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, Generic, NamedTuple, TypeVar

from ..steps import FireKind

U = TypeVar("U")


class WatchKind(Enum):
    """The value is what removeWatches calls it."""

    CHILD = 1
    DATA = 2
    PERSISTENT = 3
    RECURSIVE = 4

    @property
    def removal(self) -> int:
        """The server knows both persistent kinds as 'any'."""
        return min(self.value, 3)

    @property
    def lasting(self) -> bool:
        return self in (WatchKind.PERSISTENT, WatchKind.RECURSIVE)


class Key(NamedTuple):
    """A watch on the server."""

    kind: WatchKind
    path: str


_ONE_SHOT = {
    FireKind.CREATED: (WatchKind.DATA,),
    FireKind.CHANGED: (WatchKind.DATA,),
    FireKind.DELETED: (WatchKind.DATA, WatchKind.CHILD),
    FireKind.CHILD: (WatchKind.CHILD,),
}


class _Entry(Generic[U]):
    __slots__ = ("armed", "asking", "users")

    def __init__(self) -> None:
        self.users: list[U] = []
        self.armed = False  # the server has it
        self.asking = 0  # requests under way that will set this watch


class WatchTable(Generic[U]):
    """The watches of one session. `remove` is called for a watch that nobody needs any more."""

    def __init__(self, remove: Callable[[Key], None]) -> None:
        self._entries: dict[Key, _Entry[U]] = {}
        self._remove = remove

    def asked(self, key: Key) -> None:
        """A request that sets this watch was sent."""
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = _Entry()
        entry.asking += 1

    def answered(self, key: Key, user: U | None, was_set: bool) -> None:
        """Its reply is here; `user` is None if it has left meanwhile."""
        entry = self._entries.get(key)
        if entry is None:
            return  # that session is over
        entry.asking -= 1
        entry.armed = entry.armed or was_set
        if user is not None and was_set and user not in entry.users:
            entry.users.append(user)
        self._drop_if_idle(key)

    def fired(self, kind: FireKind, path: str) -> list[U]:
        """The users to wake; one-shot watches are used up by it."""
        woken: list[U] = []
        for watch in _ONE_SHOT[kind]:
            key = Key(watch, path)
            entry = self._entries.get(key)
            if entry is not None:
                _add_new(woken, entry.users)
                self._use_up(key, entry)
        _add_new(woken, self._lasting_users(kind, path))
        return woken

    def _lasting_users(self, kind: FireKind, path: str) -> list[U]:
        found: list[U] = []
        entry = self._entries.get(Key(WatchKind.PERSISTENT, path))
        if entry is not None:
            _add_new(found, entry.users)
        if kind is FireKind.CHILD:
            return found  # recursive watches hear of the children themselves
        above = path
        while True:
            entry = self._entries.get(Key(WatchKind.RECURSIVE, above))
            if entry is not None:
                _add_new(found, entry.users)
            if above == "/":
                return found
            above = above.rpartition("/")[0] or "/"

    def disconnected(self) -> list[tuple[U, str]]:
        """All watches are gone from the server: whom to wake, and about which path. Users of
        lasting watches stay and are woken when `lasting` has been set again."""
        woken: list[tuple[U, str]] = []
        for key, entry in list(self._entries.items()):
            if key.kind.lasting:
                continue
            woken.extend((user, key.path) for user in entry.users)
            self._use_up(key, entry)
        return woken

    def lasting(self) -> list[tuple[Key, list[U]]]:
        """The persistent watches in use, to be set again after a reconnect."""
        return [(k, list(e.users)) for k, e in self._entries.items() if k.kind.lasting and e.users]

    def left(self, user: U, keys: set[Key]) -> None:
        """`user` has ended: these watches are no longer wanted by it."""
        for key in keys:
            entry = self._entries.get(key)
            if entry is not None and user in entry.users:
                entry.users.remove(user)
                self._drop_if_idle(key)

    def _use_up(self, key: Key, entry: _Entry[U]) -> None:
        entry.users = []
        entry.armed = False
        self._drop_if_idle(key)

    def _drop_if_idle(self, key: Key) -> None:
        entry = self._entries[key]
        if entry.users or entry.asking:
            return
        del self._entries[key]
        # The server removes a persistent watch only together with all others on its path: where
        # there are some it stays, and fires for nobody.
        shared = key.kind.lasting and any(other.path == key.path for other in self._entries)
        if entry.armed and not shared:
            self._remove(key)

    def clear(self) -> None:
        """The session is over, and its watches with it."""
        self._entries.clear()

    def __len__(self) -> int:
        return sum(bool(entry.users) for entry in self._entries.values())


def _add_new(into: list[Any], more: list[Any]) -> None:
    into.extend(user for user in more if user not in into)
