"""Leases, readers and writers, leaders: each right, and with one mistake."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import ConnectionLost, NoNode
from ...paths import join, split
from ...recipes.locks.line import CURATOR
from ...recipes.locks.linelock import LineLock
from ...recipes.locks.readwrite import ReadLock, ReadWriteLock, WriteLock
from ...recipes.locks.reentrant import ReentrantLock
from ...recipes.locks.rules import Place, Turn, ahead_of, first
from ...recipes.locks.semaphore import Semaphore
from ...recipes.shared import list_children
from ...steps import Children, Create, Delete, Get, Guid, Mark, Mode, Node, Script, Wait
from ..world import Work
from .locks import stand_in_line

# --- leases -------------------------------------------------------------------------------


class TwoLeases(Semaphore[Any]):
    """A semaphore of two."""

    def __init__(self, session: Any, path: str) -> None:
        super().__init__(session, path, 2)


class SleepsBesideAFreeLease(ReentrantLock[Any]):
    """Waits for the one whose place it would take, though any other's leaving would do (Curator's
    maxLeases)."""

    def __init__(self, session: Any, path: str) -> None:
        super().__init__(session, path, rule=first(2))


class CountsThenTakes(ReentrantLock[Any]):
    """Counts the leases taken before it takes one: others count at the same time."""

    def _contend(self, blocking: bool) -> Script[Node | None]:
        while len((yield from list_children(self.path, watch=True))) >= 2:
            yield from Wait()
        node, _ = yield from stand_in_line(self.path, (yield from Guid()))
        return Node(*node)


# --- readers and writers ------------------------------------------------------------------


def reader(session: Any, path: str) -> ReadLock[Any]:
    """One who reads."""
    return ReadWriteLock(session, path).read


def writer(session: Any, path: str) -> WriteLock[Any]:
    """One who writes."""
    return ReadWriteLock(session, path).write


def trusts_a_reader(session: Any, path: str) -> LineLock[Any]:
    """A reader is just before it, so it reads as well: that one may be waiting for a writer."""

    def rule(ahead: Sequence[Place]) -> Turn:
        if ahead and ahead[-1].kind == CURATOR.write:
            return Turn(False, ahead[-1].name)
        return Turn(True)

    kinds = (CURATOR.read, CURATOR.write)
    return LineLock(session, path, kind=CURATOR.read, kinds=kinds, rule=rule)


# --- leaders ------------------------------------------------------------------------------

LATCH = "latch-"


def stands_for_election(path: str) -> Script[None]:
    """Create a node, then look: the first leads, all others wait for the one just before."""
    node = yield from Create(join(path, LATCH), b"", Mode.EPHEMERAL_SEQUENTIAL)
    while before := _before((yield from Children(path)), node):
        yield from _outwait(join(path, before[-1].name))
    yield from _lead(node)


def looks_then_stands(path: str) -> Script[None]:
    """Looks for a leader before it creates its node: two of them see nobody."""
    leader = yield from Children(path)
    node = yield from Create(join(path, LATCH), b"", Mode.EPHEMERAL_SEQUENTIAL)
    while leader and (before := _before((yield from Children(path)), node)):
        yield from _outwait(join(path, before[-1].name))
    yield from _lead(node)


def _lead(node: Node) -> Script[None]:
    yield from Mark("acquired", node.path, node.stat.czxid)
    yield from Work()
    yield from Mark("released", node.path, node.stat.czxid)
    yield from Delete(node.path)


def _before(names: tuple[str, ...], node: Node) -> Sequence[Place]:
    return ahead_of(split(node.path)[1], names, (LATCH,)) or ()


def _outwait(path: str) -> Script[None]:
    """Wait until this node may have gone."""
    try:
        yield from Get(path, watch=True)
        yield from Wait()
    except (NoNode, ConnectionLost):
        pass
