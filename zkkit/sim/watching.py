"""The watches of one session, as a server keeps them.

A server has two tables, data watches and child watches. In each it keeps one mode per session and
path: a later one replaces an earlier one. One-shot watches are used up by firing. A persistent
watch stands in both tables; a recursive one hears of everything below its path, but never of
"child". A deleted node that was watched in both ways is told of once.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, TypeAlias

from ..errors import NoWatcher
from ..paths import split
from ..steps import Children, Exists, Fire, FireKind, Get, Request, Watch
from .tree import Change


class WatchMode(IntEnum):
    """How long a watch lives and how far it hears."""

    ONE_SHOT = 0
    PERSISTENT = 1
    RECURSIVE = 2


class Table(IntEnum):
    """The two tables of a server; the value is what removeWatches calls them."""

    CHILD = 1
    DATA = 2


Watches: TypeAlias = frozenset[tuple[Table, str, WatchMode]]
NO_WATCHES: Watches = frozenset()


def after_request(watches: Watches, request: Request[Any], found: bool) -> Watches:
    """The watches after a request that was served; `found`: the node was there."""
    if isinstance(request, Watch):
        mode = WatchMode.RECURSIVE if request.recursive else WatchMode.PERSISTENT
        return _put(_put(watches, Table.DATA, request.path, mode), Table.CHILD, request.path, mode)
    if isinstance(request, Exists) and request.watch:
        return _put(watches, Table.DATA, request.path, WatchMode.ONE_SHOT)
    if isinstance(request, Get) and request.watch and found:
        return _put(watches, Table.DATA, request.path, WatchMode.ONE_SHOT)
    if isinstance(request, Children) and request.watch and found:
        return _put(watches, Table.CHILD, request.path, WatchMode.ONE_SHOT)
    return watches


def _put(watches: Watches, table: Table, path: str, mode: WatchMode) -> Watches:
    others = frozenset(w for w in watches if w[0] is not table or w[1] != path)
    return others | {(table, path, mode)}


def remove(watches: Watches, path: str, kind: int) -> Watches:
    """removeWatches: kind 1 a child watch, 2 a data watch, 3 whatever is there."""
    left = frozenset(w for w in watches if w[1] != path or kind not in (w[0], 3))
    if left == watches:
        raise NoWatcher(path)
    return left


def fire(watches: Watches, changes: tuple[Change, ...]) -> tuple[Watches, list[Fire]]:
    """The watches that are left after these changes, and what the session is told."""
    told: list[Fire] = []
    for kind, path in changes:
        if not watches:
            break
        tables = _TABLES[kind]
        heard = False
        for watch in watches:
            table, watched, mode = watch
            if table not in tables:
                continue
            if mode is WatchMode.RECURSIVE:
                heard = heard or (kind is not FireKind.CHILD and is_below(path, watched))
            elif watched == path:
                heard = True
                if mode is WatchMode.ONE_SHOT:
                    watches = watches - {watch}
        if heard:
            told.append(Fire(kind, path))
    return watches, told


def told_instead(watches: Watches, told: Fire) -> Fire | None:
    """What a session tells those who wait for a change of the children, where its recursive watch
    on the same node makes the server say nothing of it."""
    if told.kind not in (FireKind.CREATED, FireKind.DELETED) or told.path == "/":
        return None
    parent = split(told.path)[0]
    hears_all = (Table.CHILD, parent, WatchMode.RECURSIVE) in watches
    return Fire(FireKind.CHILD, parent) if hears_all else None


_TABLES = {
    FireKind.CREATED: (Table.DATA,),
    FireKind.CHANGED: (Table.DATA,),
    FireKind.DELETED: (Table.DATA, Table.CHILD),
    FireKind.CHILD: (Table.CHILD,),
}


def is_below(path: str, above: str) -> bool:
    """Whether `path` is `above` or a node somewhere below it."""
    return path == above or above == "/" or path.startswith(above + "/")
