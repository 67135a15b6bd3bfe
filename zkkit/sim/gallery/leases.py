"""Leases, readers and writers, leaders: each right, and with one mistake."""

from __future__ import annotations

from typing import Any, ClassVar

from ...errors import ConnectionLost, NoNode
from ...paths import join, sequence_of, serial_distance, split
from ...recipes.locks.reentrant import PREFIX, ReentrantLock
from ...recipes.shared import create_protected, list_children, withdraw
from ...steps import Children, Create, Delete, Get, Guid, Mark, Mode, Node, Script, Wait
from ..world import Work


def _before(queue: tuple[str, ...], node: Node, *prefixes: str) -> list[str]:
    """The names before this node's in line, the nearest last."""
    places = {name: _place(name, prefixes) for name in (*queue, split(node.path)[1])}
    own = places[split(node.path)[1]] or 0
    distances = {n: serial_distance(p, own) for n, p in places.items() if p is not None}
    return sorted((n for n, d in distances.items() if d < 0), key=lambda n: distances[n])


def _place(name: str, prefixes: tuple[str, ...]) -> int | None:
    numbers = (sequence_of(name, prefix) for prefix in prefixes)
    return next((number for number in numbers if number is not None), None)


def _outwait(path: str) -> Script[None]:
    """Wait until this node may have gone."""
    try:
        yield from Get(path, watch=True)
        yield from Wait()
    except (NoNode, ConnectionLost):
        pass


# --- leases -------------------------------------------------------------------------------


class TwoLeases(ReentrantLock[Any]):
    """The first two in line have a lease. All others wait for anybody before them to leave."""

    count: ClassVar[int] = 2

    def _contend(self, blocking: bool) -> Script[Node | None]:
        guid = yield from Guid()
        node: Node | None = None
        try:
            node, queue = yield from self._enter(guid)
            while len(before := _before(queue, node, PREFIX)) >= self.count:
                yield from self._sleep(before)
                queue = yield from list_children(self.path)
            return node
        except BaseException:
            yield from withdraw(self.path, guid, node)
            raise

    def _enter(self, guid: str) -> Script[tuple[Node, tuple[str, ...]]]:
        return create_protected(self.path, guid, PREFIX, data=b"")

    def _sleep(self, before: list[str]) -> Script[None]:
        names = yield from Children(self.path, watch=True)
        if all(name in names for name in before):
            yield from Wait()


class SleepsBesideAFreeLease(TwoLeases):
    """Waits for the one whose place it would take, though any other's leaving would do (Curator's
    maxLeases)."""

    def _sleep(self, before: list[str]) -> Script[None]:
        return _outwait(join(self.path, before[-self.count]))


class CountsThenTakes(TwoLeases):
    """Counts the leases taken before it takes one: others count at the same time."""

    def _enter(self, guid: str) -> Script[tuple[Node, tuple[str, ...]]]:
        queue = yield from list_children(self.path)
        node, _ = yield from create_protected(self.path, guid, PREFIX, data=b"")
        return node, queue


# --- readers and writers ------------------------------------------------------------------

READ, WRITE = "__READ__", "__WRIT__"


class WriteLock(ReentrantLock[Any]):
    """Writers and readers in one queue: a writer waits for all before it, nearest first."""

    kind: ClassVar[str] = WRITE

    def _contend(self, blocking: bool) -> Script[Node | None]:
        guid = yield from Guid()
        node: Node | None = None
        try:
            node, queue = yield from create_protected(self.path, guid, self.kind, data=b"")
            while behind := self._behind(_before(queue, node, READ, WRITE)):
                yield from _outwait(join(self.path, behind))
                queue = yield from list_children(self.path)
            return node
        except BaseException:
            yield from withdraw(self.path, guid, node)
            raise

    def _behind(self, before: list[str]) -> str:
        return before[-1] if before else ""


class ReadLock(WriteLock):
    """A reader waits for the last writer before it."""

    kind: ClassVar[str] = READ

    def _behind(self, before: list[str]) -> str:
        return next((name for name in reversed(before) if WRITE in name), "")


class TrustsAReader(ReadLock):
    """A reader is just before it, so it reads as well: that one may be waiting for a writer."""

    def _behind(self, before: list[str]) -> str:
        return before[-1] if before and WRITE in before[-1] else ""


# --- leaders ------------------------------------------------------------------------------

LATCH = "latch-"


def stands_for_election(path: str) -> Script[None]:
    """Create a node, then look: the first leads, all others wait for the one just before."""
    node = yield from Create(join(path, LATCH), b"", Mode.EPHEMERAL_SEQUENTIAL)
    while before := _before((yield from Children(path)), node, LATCH):
        yield from _outwait(join(path, before[-1]))
    yield from _lead(node)


def looks_then_stands(path: str) -> Script[None]:
    """Looks for a leader before it creates its node: two of them see nobody."""
    leader = yield from Children(path)
    node = yield from Create(join(path, LATCH), b"", Mode.EPHEMERAL_SEQUENTIAL)
    while leader and (before := _before((yield from Children(path)), node, LATCH)):
        yield from _outwait(join(path, before[-1]))
    yield from _lead(node)


def _lead(node: Node) -> Script[None]:
    yield from Mark("acquired", node.path, node.stat.czxid)
    yield from Work()
    yield from Mark("released", node.path, node.stat.czxid)
    yield from Delete(node.path)
