"""Who waits for which watch.

A watch belongs to the run that set it, but the server holds one per session, path and kind. So the
session counts users: a fire wakes them all, and only the last one to leave has the watch removed
on the server. A watch counts from its reply on: a fire that arrives before the reply was meant for
those who had set it earlier.

Servers (before 3.9 at least) keep one mode per session and path: a one-shot watch set beside a
persistent one turns it into a one-shot watch, removing one removes both, and of the two persistent
kinds the later one wins. Setting it right afterwards would be too late for what happens in between.
So where the server has a persistent watch nobody asks for a one-shot watch: the persistent one
wakes those as well, and stays until the last of them has left. Where both persistent kinds are
wanted only the recursive one is asked for, and its events of children stand for the child events
that the other kind, or a one-shot watch, would have had.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, Generic, NamedTuple, TypeVar

from ..steps import Fire, FireKind

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
    __slots__ = ("armed", "asking", "forsaken", "users")

    def __init__(self) -> None:
        self.users: list[U] = []
        self.armed = False  # the server has it
        self.asking = 0  # requests under way that will set this watch
        self.forsaken = False  # those under way rely on a persistent watch that was refused


class WatchTable(Generic[U]):
    """The watches of one session. `remove` is called for a watch that nobody needs any more,
    `set_again` for a persistent one that is to take the place of a recursive one."""

    def __init__(self, remove: Callable[[Key], None], set_again: Callable[[Key], None]) -> None:
        self._entries: dict[Key, _Entry[U]] = {}
        self._overdue: dict[str, Key] = {}  # persistent, no longer wanted, still on the server
        self._remove = remove
        self._set_again = set_again

    def asked(self, key: Key) -> Key | None:
        """A request that sets this watch is about to be sent. Gives the watch that it should ask
        for: another one, or none, where the server would mix them up."""
        ask: Key | None = key
        if key.kind is WatchKind.PERSISTENT:
            recursive = Key(WatchKind.RECURSIVE, key.path)
            ask = recursive if recursive in self._entries else key
        elif not key.kind.lasting and self._stands_in(key.path):
            ask = None
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = _Entry()
        entry.asking += 1
        return ask

    def _stands_in(self, path: str) -> bool:
        """Whether the server has a persistent watch on this path, or is being asked for one."""
        entries = [self._entries.get(key) for key in _lasting_keys(path)]
        return path in self._overdue or any(e and (e.armed or e.asking) for e in entries)

    def answered(self, key: Key, user: U | None, was_set: bool) -> list[U]:
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
        overdue, lasting = self._overdue.get(key.path), self._lasting_on(key.path)
        if overdue is not None and lasting is not None:
            del self._overdue[key.path]
            if lasting != overdue:
                self._set_again(lasting)
        self._drop_if_idle(key)
        refused = key.kind.lasting and not was_set and not self._stands_in(key.path)
        return self._forsake(key.path) if refused else []

    def _forsake(self, path: str) -> list[U]:
        """Give up the one-shot watches on this path: nobody knows whether the server has them."""
        found: list[U] = []
        for key in (Key(WatchKind.DATA, path), Key(WatchKind.CHILD, path)):
            entry = self._entries.get(key)
            if entry is not None:
                entry.forsaken = True
                _add_new(found, entry.users)
                self._use_up(key, entry)
        return found

    def _lasting_on(self, path: str) -> Key | None:
        """The persistent watch that the server should have on this path."""
        for key in _lasting_keys(path):
            entry = self._entries.get(key)
            if entry is not None and entry.users:
                return key
        return None

    def fired(self, kind: FireKind, path: str) -> list[tuple[U, Fire]]:
        """Whom to wake, and with what; one-shot watches are used up by it."""
        fire = Fire(kind, path)
        return [(user, fire) for user in self._told(kind, path)] + self._told_instead(kind, path)

    def _told(self, kind: FireKind, path: str) -> list[U]:
        woken: list[U] = []
        for watch in _ONE_SHOT[kind]:
            key = Key(watch, path)
            entry = self._entries.get(key)
            if entry is not None:
                _add_new(woken, entry.users)
                self._use_up(key, entry)
        _add_new(woken, self._lasting_users(kind, path))
        return woken

    def _told_instead(self, kind: FireKind, path: str) -> list[tuple[U, Fire]]:
        """Where a recursive watch has displaced others: the child events they would have had."""
        parent = path.rpartition("/")[0] or "/"
        recursive = Key(WatchKind.RECURSIVE, parent)
        if (
            path == parent
            or kind not in (FireKind.CREATED, FireKind.DELETED)
            or (self._lasting_on(parent) or self._overdue.get(parent)) != recursive
        ):
            return []
        displaced: list[U] = []
        for watch in (WatchKind.PERSISTENT, WatchKind.CHILD):
            key = Key(watch, parent)
            entry = self._entries.get(key)
            if entry is not None:
                _add_new(displaced, entry.users)
                if not watch.lasting:
                    self._use_up(key, entry)
        return [(user, Fire(FireKind.CHILD, parent)) for user in displaced]

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
        self._overdue.clear()
        for key, entry in list(self._entries.items()):
            if key.kind.lasting:
                entry.armed = False
                continue
            woken.extend((user, key.path) for user in entry.users)
            self._use_up(key, entry)
        return woken

    def lasting(self) -> list[tuple[Key, list[U]]]:
        """The persistent watches in use, to be set again after a reconnect. On one path the
        recursive one comes last, and wins."""
        used = [(k, e) for k, e in self._entries.items() if k.kind.lasting and e.users]
        for _, entry in used:
            entry.armed = True
        return [(k, list(e.users)) for k, e in sorted(used, key=lambda each: each[0].kind.value)]

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
        lasting = self._lasting_on(key.path)
        if lasting is not None:
            if key.kind is WatchKind.RECURSIVE:
                self._set_again(lasting)
        elif any(Key(kind, key.path) in self._entries for kind in WatchKind):
            # Removing a persistent watch would take the others on its path with it: later.
            if key.kind.lasting and entry.armed:
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
        self._overdue.clear()


def _lasting_keys(path: str) -> tuple[Key, Key]:
    return Key(WatchKind.RECURSIVE, path), Key(WatchKind.PERSISTENT, path)


def _add_new(into: list[Any], more: list[Any]) -> None:
    into.extend(user for user in more if user not in into)
