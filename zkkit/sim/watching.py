"""The watches of one session, as a server keeps them.

A server has two tables, data watches and child watches. In each it keeps one kind per session and
path: a later one replaces an earlier one. One-shot watches are used up by firing. A persistent
watch stands in both tables; a recursive one hears of everything below its path, but never of
"child". A deleted node that was watched in both ways is told of once.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, TypeAlias

from ..errors import NoWatcher
from ..kernel import WatchKey, WatchKind, watch_of
from ..steps import Fire, FireKind, Request
from .tree import Change


class ServerTable(IntEnum):
    """The two tables of a server; the value is what removeWatches calls them."""

    CHILD = 1
    DATA = 2


Watches: TypeAlias = frozenset[tuple[ServerTable, str, WatchKind]]
NO_WATCHES: Watches = frozenset()

TABLES = {
    WatchKind.CHILD: (ServerTable.CHILD,),
    WatchKind.DATA: (ServerTable.DATA,),
    WatchKind.PERSISTENT: (ServerTable.CHILD, ServerTable.DATA),
    WatchKind.RECURSIVE: (ServerTable.CHILD, ServerTable.DATA),
}
"""The tables that each kind of watch stands in."""


def after_request(watches: Watches, request: Request[Any]) -> Watches:
    """The watches after a request that was served without an error."""
    key = watch_of(request)
    return watches if key is None else with_watch(watches, key)


def with_watch(watches: Watches, key: WatchKey) -> Watches:
    """The watches after one more was asked for."""
    tables = TABLES[key.kind]
    others = frozenset(w for w in watches if w[0] not in tables or w[1] != key.path)
    return others | {(table, key.path, key.kind) for table in tables}


def remove(watches: Watches, path: str, kind: int) -> Watches:
    """removeWatches: kind 1 a child watch, 2 a data watch, 3 whatever is there."""
    left = frozenset(w for w in watches if w[1] != path or kind not in (w[0], 3))
    if left == watches:
        raise NoWatcher(path)
    return left


def fire(watches: Watches, changes: tuple[Change, ...]) -> tuple[Watches, list[Fire]]:
    """The watches that are left after these changes, and what the session is told."""
    fires: list[Fire] = []
    for change, path in changes:
        if not watches:
            break
        tables = _FIRED[change]
        heard = False
        for watch in watches:
            table, watched, kind = watch
            if table not in tables:
                continue
            if kind is WatchKind.RECURSIVE:
                heard = heard or (change is not FireKind.CHILD and _is_below(path, watched))
            elif watched == path:
                heard = True
                if not kind.persistent:
                    watches = watches - {watch}
        if heard:
            fires.append(Fire(change, path))
    return watches, fires


_FIRED = {
    FireKind.CREATED: (ServerTable.DATA,),
    FireKind.CHANGED: (ServerTable.DATA,),
    FireKind.DELETED: (ServerTable.DATA, ServerTable.CHILD),
    FireKind.CHILD: (ServerTable.CHILD,),
}


def _is_below(path: str, above: str) -> bool:
    """Whether `path` is `above` or a node somewhere below it."""
    return path == above or above == "/" or path.startswith(above + "/")
