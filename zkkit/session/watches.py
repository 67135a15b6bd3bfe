"""Who waits for which watch.

A watch belongs to the run that set it, but the server holds one per session, path and kind. So the
session counts users: a fire wakes them all, and only the last one to leave has the watch removed
on the server. A watch counts from its reply on: a fire that arrives before the reply was meant for
those who had set it earlier.

Which watch the server is asked for, where it has another one on the same path, and who hears of
which event, are rules of the kernel (zkkit.kernel). Setting a persistent watch right after it was
turned into a one-shot one would be too late for what happens in between; removing one of two on a
path removes both. So a persistent watch that stands for others stays until the last has left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from ..kernel import (
    PERSISTENT,
    RECURSIVE,
    WatchKey,
    WatchKind,
    child_event,
    hearers,
    used_up,
    watch_to_ask,
)
from ..steps import Fire, FireKind

U = TypeVar("U")


class _Entry(Generic[U]):
    __slots__ = ("armed", "asking", "forsaken", "users")

    def __init__(self) -> None:
        self.users: list[U] = []
        self.armed = False  # the server has it
        self.asking = 0  # requests under way that will set this watch
        self.forsaken = False  # those under way rely on a persistent watch that was refused


class WatchTable(Generic[U]):
    """The watches of one session. `remove` is called for a watch that nobody needs any more,
    `set_again` for a persistent one that is to take the place of a recursive one."""

    def __init__(
        self, remove: Callable[[WatchKey], None], set_again: Callable[[WatchKey], None]
    ) -> None:
        self._entries: dict[WatchKey, _Entry[U]] = {}
        self._persistent = 0  # how many of them are: mostly none, which makes everything simple
        self._overdue: dict[str, WatchKey] = {}  # persistent, no longer wanted, still on the server
        self._remove = remove
        self._set_again = set_again

    def asked(self, key: WatchKey) -> WatchKey | None:
        """A request that sets this watch is about to be sent. Gives the watch that it should ask
        for: another one, or none, where the server would mix them up."""
        standing: WatchKind | None = None
        if key.kind is PERSISTENT:
            if WatchKey(RECURSIVE, key.path) in self._entries:
                standing = RECURSIVE
        elif not key.kind.persistent and self._stands_in(key.path):
            standing = PERSISTENT
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = _Entry()
            self._persistent += key.kind.persistent
        entry.asking += 1
        return watch_to_ask(key, standing)

    def _stands_in(self, path: str) -> bool:
        """Whether the server has a persistent watch on this path, or is being asked for one."""
        if not self._persistent and not self._overdue:
            return False
        entries = [self._entries.get(key) for key in _persistent_keys(path)]
        return path in self._overdue or any(e and (e.armed or e.asking) for e in entries)

    def answered(self, key: WatchKey, user: U | None, was_set: bool) -> list[U]:
        """Its reply is here; `user` is None if it has left meanwhile. Gives those who relied on a
        persistent watch that was refused: they must look again."""
        entry = self._entries.get(key)
        if entry is None:
            return []  # that session is over
        entry.asking -= 1
        entry.armed = entry.armed or was_set
        if user is not None and was_set and user not in entry.users:
            entry.users.append(user)
        if entry.forsaken:
            return self._forsake(key.path)
        overdue, standing = self._overdue.get(key.path), self._standing_on(key.path)
        if overdue is not None and standing is not None:
            del self._overdue[key.path]
            if standing != overdue:
                self._set_again(standing)
        self._drop_if_idle(key)
        refused = key.kind.persistent and not was_set and not self._stands_in(key.path)
        return self._forsake(key.path) if refused else []

    def _forsake(self, path: str) -> list[U]:
        """Give up the one-shot watches on this path: nobody knows whether the server has them."""
        found: list[U] = []
        for key in (WatchKey(WatchKind.DATA, path), WatchKey(WatchKind.CHILD, path)):
            entry = self._entries.get(key)
            if entry is not None:
                entry.forsaken = True
                _add_new(found, entry.users)
                self._use_up(key, entry)
        return found

    def _standing_on(self, path: str) -> WatchKey | None:
        """The persistent watch that the server should have on this path."""
        for key in _persistent_keys(path) if self._persistent else ():
            entry = self._entries.get(key)
            if entry is not None and entry.users:
                return key
        return None

    def fired(self, kind: FireKind, path: str) -> list[tuple[U, Fire]]:
        """Whom to wake, and with what; one-shot watches are used up by it."""
        woken = self._heard(Fire(kind, path))
        if self._persistent or self._overdue:
            instead = child_event(kind, path)
            if instead is not None and self._is_recursive(instead.path):
                woken += self._heard(instead)
        return woken

    def _heard(self, fire: Fire) -> list[tuple[U, Fire]]:
        users: list[U] = []
        for key in hearers(fire.kind, fire.path) if self._persistent else used_up(fire):
            entry = self._entries.get(key)
            if entry is not None:
                _add_new(users, entry.users)
                if not key.kind.persistent:
                    self._use_up(key, entry)
        return [(user, fire) for user in users]

    def _is_recursive(self, path: str) -> bool:
        """Whether the server has a recursive watch here, which displaces the others."""
        standing = self._standing_on(path) or self._overdue.get(path)
        return standing is not None and standing.kind is RECURSIVE

    def disconnected(self) -> list[tuple[U, str]]:
        """All watches are gone from the server: whom to wake, and about which path. Users of
        persistent watches stay and are woken when `persistent` ones have been set again."""
        woken: list[tuple[U, str]] = []
        self._overdue.clear()
        for key, entry in list(self._entries.items()):
            if key.kind.persistent:
                entry.armed = False
                continue
            woken.extend((user, key.path) for user in entry.users)
            self._use_up(key, entry)
        return woken

    def persistent(self) -> list[tuple[WatchKey, list[U]]]:
        """The persistent watches in use, to be set again after a reconnect. On one path the
        recursive one comes last, and wins."""
        used = [(k, e) for k, e in self._entries.items() if k.kind.persistent and e.users]
        for _, entry in used:
            entry.armed = True
        return [(k, list(e.users)) for k, e in sorted(used, key=lambda each: each[0].kind.value)]

    def paths_of(self, user: U) -> list[str]:
        """Which watches would wake it."""
        return [key.path for key, entry in self._entries.items() if user in entry.users]

    def left(self, user: U, keys: set[WatchKey]) -> None:
        """`user` has ended: these watches are no longer wanted by it."""
        for key in keys:
            entry = self._entries.get(key)
            if entry is not None and user in entry.users:
                entry.users.remove(user)
                self._drop_if_idle(key)

    def _use_up(self, key: WatchKey, entry: _Entry[U]) -> None:
        entry.users = []
        entry.armed = False
        self._drop_if_idle(key)

    def _drop_if_idle(self, key: WatchKey) -> None:
        entry = self._entries[key]
        if entry.users or entry.asking:
            return
        del self._entries[key]
        if key.kind.persistent:
            self._persistent -= 1
        elif not self._persistent and not self._overdue:
            if entry.armed:
                self._remove(key)
            return
        standing = self._standing_on(key.path)
        if standing is not None:
            if key.kind is RECURSIVE:
                self._set_again(standing)
        elif any(WatchKey(kind, key.path) in self._entries for kind in WatchKind):
            # Removing a persistent watch would take the others on its path with it: later.
            if key.kind.persistent and entry.armed:
                self._overdue.setdefault(key.path, key)
            elif entry.armed and key.path not in self._overdue:
                self._remove(key)
        elif key.path in self._overdue:
            self._remove(self._overdue.pop(key.path))
        elif entry.armed:
            self._remove(key)

    def clear(self) -> None:
        """The session is over, and its watches with it."""
        self._entries.clear()
        self._persistent = 0
        self._overdue.clear()


def _persistent_keys(path: str) -> tuple[WatchKey, WatchKey]:
    return WatchKey(RECURSIVE, path), WatchKey(PERSISTENT, path)


def _add_new(into: list[Any], more: list[Any]) -> None:
    into.extend(user for user in more if user not in into)
