"""How a double barrier says who is let through: on nodes of its own, or on Curator's.

Both are pure: what to read, and what follows from what was read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, NamedTuple

from ...errors import NoNode
from ...paths import is_guid, join, split
from ...steps import Check, Children, Create, Data, Exists, Get, Multi, Node, Request, Script, Set
from ..shared import answer, delete_surely, read_all, there

READY = "ready"
"""The child by which Curator's members say that all have come."""


class BarrierRound(NamedTuple):
    """Who was let through together: the name of who opened the round, and all names."""

    opened_by: str = ""
    members: frozenset[str] = frozenset()

    @property
    def data(self) -> bytes:
        """What is written: a line for the opener, and one for each member."""
        return "\n".join((self.opened_by, *sorted(self.members))).encode()

    @classmethod
    def of(cls, data: bytes) -> BarrierRound:
        """The round that was written; whatever else stands there lets nobody through."""
        opened_by, *members = data.decode(errors="replace").split("\n")
        return cls(opened_by, frozenset(members))


class Way(NamedTuple):
    """How we get through: in which round, and by which request, if one is needed."""

    opened_by: str
    request: Request[Any] | None = None


class BarrierLayout(ABC):
    """What is read and written below the path of one double barrier."""

    def __init__(self, path: str, count: int) -> None:
        self.path = path
        self.count = count

    @property
    @abstractmethod
    def reads(self) -> tuple[Request[Any], ...]:
        """What those who come look at, with a watch on what lets them through."""

    @abstractmethod
    def way(self, node: Node, seen: tuple[Any, ...]) -> Way | None:
        """The way through, by what was seen; None if more must come. NoNode if our node is not
        there."""

    @abstractmethod
    def inside(self, opened_by: str) -> Script[list[str]]:
        """The names of those of that round who are inside, in order."""

    def last_out(self) -> Script[None]:
        """What the last one does before it removes its own node."""
        yield from ()

    def _members(self, node: Node, names: Iterable[str]) -> frozenset[str]:
        """Who waits or is inside, ours among them. Whatever else has been put below the path, a
        `ready`, a note, another barrier, is no member: it would let others through."""
        members = frozenset(filter(is_guid, names))
        if split(node.path)[1] not in members:
            raise NoNode(node.path)
        return members


class ByRounds(BarrierLayout):
    """zkkit's own: the data of the path name those who were let through, in one write that checks
    that all of them are there. A round is over when none of them is; its names then say nothing."""

    @property
    def reads(self) -> tuple[Request[Any], ...]:
        # In this order: whoever is named in the data and not listed after it has gone for good.
        return Get(self.path, watch=True), Children(self.path)

    def way(self, node: Node, seen: tuple[Any, ...]) -> Way | None:
        found, names = map(answer, seen)
        me, members = split(node.path)[1], self._members(node, names)
        now = BarrierRound.of(found.data)
        if me in now.members:
            return Way(now.opened_by)
        inside = now.members & members
        if inside:  # more may come, as long as somebody is inside
            return self._let(BarrierRound(now.opened_by, inside | {me}), {me, min(inside)}, found)
        if len(members) >= self.count:
            return self._let(BarrierRound(me, members), members, found)
        return None

    def _let(self, those: BarrierRound, present: Iterable[str], found: Data) -> Way:
        """Let them through, if these are there and nobody wrote meanwhile."""
        checks = [Check(join(self.path, name)) for name in sorted(present)]
        write = Set(self.path, those.data, found.stat.version)
        return Way(those.opened_by, Multi((*checks, write)))

    def inside(self, opened_by: str) -> Script[list[str]]:
        while True:
            seen = yield from read_all(Get(self.path), Children(self.path), Exists(self.path))
            try:
                found, names, after = map(answer, seen)
            except NoNode:
                return []  # all have gone, and the server has reaped the empty container
            if after is not None and after.version == found.stat.version:
                now = BarrierRound.of(found.data)
                return sorted(now.members & {*names}) if now.opened_by == opened_by else []


class ByReady(BarrierLayout):
    """Curator's: whoever counts enough members creates a node that lets everybody through."""

    @property
    def reads(self) -> tuple[Request[Any], ...]:
        return Exists(join(self.path, READY), watch=True), Children(self.path)

    def way(self, node: Node, seen: tuple[Any, ...]) -> Way | None:
        ready, names = map(answer, seen)
        members = self._members(node, names)
        if ready is not None:
            return Way(READY)
        if len(members) >= self.count:
            return Way(READY, Create(join(self.path, READY)))
        return None

    def inside(self, opened_by: str) -> Script[list[str]]:
        (names,) = yield from read_all(Children(self.path))
        return sorted(filter(is_guid, there(names) or ()))

    def last_out(self) -> Script[None]:
        return delete_surely(join(self.path, READY), outlives_session=True)


LAYOUTS: dict[str, type[BarrierLayout]] = {"zkkit": ByRounds, "curator": ByReady}
