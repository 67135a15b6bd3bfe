"""Watch a node, or a tree, by one-shot watches: for servers that know no others.

Each node has a watch on its data and one on its children. What has happened is found by comparing
what is read with what was read before: a watch that has fired says where to read, and no more.
"""

from __future__ import annotations

from typing import Any

from ...errors import NoNode
from ...paths import join
from ...steps import Children, Exists, Fire, FireKind, Get, Request, Script, Stat
from ..shared import read_all, there
from .reading import HIDDEN


class OneShots:
    """What is known of a node and, if `recursive`, of all below it. It belongs to one script."""

    def __init__(self, root: str, *, recursive: bool) -> None:
        self._root = root
        self._recursive = recursive
        self._known: dict[str, Stat] = {}

    def look(self, *paths: str) -> Script[list[Fire]]:
        """Read these nodes and watch them (none: all of them), and all that is new below them; the
        fires that a persistent watch would have had."""
        told: list[Fire] = []
        level = [*(paths or self._known.keys() | {self._root})]
        while level:
            # One flight for each level of what is new.
            reads = [read for path in level for read in self._reads(path)]
            seen = yield from read_all(*reads)
            level = [
                below
                for path, found, names in zip(level, seen[::2], seen[1::2], strict=True)
                for below in self._compare(path, _stat(found), names, told)
            ]
        return told

    def _reads(self, path: str) -> tuple[Request[Any], Request[Any]]:
        # Only for the root we wait until it comes: elsewhere exists would leave watches behind.
        data: Request[Any] = Exists(path, True) if path == self._root else Get(path, True)
        return data, Children(path, True)

    def _compare(self, path: str, stat: Stat | None, names: Any, told: list[Fire]) -> list[str]:
        """Note what is there, tell what has changed, and give what is to be read next."""
        before = self._known.get(path)
        if stat is None or (before is not None and before.czxid != stat.czxid):
            self._forget(path, told)
            before = None
        if stat is None:
            return []
        self._known[path] = stat
        if before is None:
            told.append(Fire(FireKind.CREATED, path))
        elif before.mzxid != stat.mzxid:
            told.append(Fire(FireKind.CHANGED, path))
        if isinstance(names, NoNode):
            return [path]  # it went after we saw it
        if not self._recursive:
            if before is not None and before.pzxid != stat.pzxid:
                told.append(Fire(FireKind.CHILD, path))
            return []
        below = {join(path, name) for name in there(names, HIDDEN) or ()}
        return sorted(below - self._known.keys())

    def _forget(self, path: str, told: list[Fire]) -> None:
        """It has gone, and so has all below it: the deepest first, as they were deleted."""
        inside = path.rstrip("/") + "/"
        gone = [each for each in self._known if each == path or each.startswith(inside)]
        for each in sorted(gone, reverse=True):
            del self._known[each]
            told.append(Fire(FireKind.DELETED, each))


def _stat(found: Any) -> Stat | None:
    seen = there(found, HIDDEN)
    stat: Stat | None = getattr(seen, "stat", seen)
    return stat
