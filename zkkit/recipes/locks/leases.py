"""A pool of leases: what Semaphore and Lock are made of. Curator's InterProcessSemaphoreV2.

    <path>/locks/_c_<guid>-lock-0000000007       a line: only the first in it may take leases
    <path>/leases/_c_<guid>-lease-0000000011     one node for each lease that is taken

1. Stand in line in `locks`.
2. First: create the lease nodes and list `leases`, in one flight. If fewer leases than the limit
   are ahead of each, they are ours. Otherwise wait until one is returned or the limit changes.
3. Leave the line; that is not waited for.

So at most one contender at a time has leases that are not granted, and it alone watches. Several
leases are granted all at once or not at all: two that want two each can never have one each and
wait for ever (Curator takes them one by one, and can).
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from ...errors import SessionLost, ZkkitError
from ...paths import join
from ...steps import Children, Create, Get, Guid, Mode, Node, Request, Script, Spawn, Together, Wait
from ..counters.shared_count import SharedCount
from ..shared import all_of, create_protected, delete_surely, find_protected, read_all, withdraw
from .line import CURATOR, Line
from .rules import first_in_line

KIND = "lease-"


class Pool(NamedTuple):
    """The leases below a path, and how many there may be."""

    path: str
    limit: int | SharedCount[Any]

    @property
    def directory(self) -> str:
        return join(self.path, "leases")

    def take(self, count: int, data: bytes, blocking: bool) -> Script[tuple[Node, ...] | None]:
        """Take so many leases, or none: None if not blocking and there are not enough."""
        kind = CURATOR.exclusive
        line = Line(join(self.path, "locks"), (kind,))
        wait_turn = line.by_predecessor(first_in_line, blocking)
        place = yield from line.enter(kind, wait_turn, data=data)
        if place is None:
            return None
        taken: tuple[Node, ...] | None = None
        try:
            taken = yield from self._take_first(count, data, blocking)
            return taken
        finally:
            leave = delete_surely(place.path)
            if taken is None:
                yield from leave
            else:
                yield from Spawn(leave, f"leaving {line.directory}")

    def _take_first(self, count: int, data: bytes, blocking: bool) -> Script[Any]:
        """The same for whoever is first in line."""
        leases = Line(self.directory, (KIND,))
        names = []
        for _ in range(count):
            names.append(CURATOR.mark((yield from Guid()), KIND))
        nodes: list[Node] = []
        try:
            nodes, seen = yield from self._create(names, data)
            for node in nodes:
                leases.check_number(node)
            watching = False
            while True:
                listed = seen[0]
                if isinstance(listed, ZkkitError):
                    raise listed
                limit = yield from self._limit(seen[1:])
                # Who is ahead counts, not how many there are: whatever somebody does by hand to the
                # line, two that wait here never wait for each other.
                if all(len(leases.ahead_of(node, listed)) < limit for node in nodes):
                    return tuple(nodes)
                if not blocking:
                    break
                if watching:
                    yield from Wait()
                # Not before it is needed: who is granted at once leaves no watch to be removed.
                watching = True
                seen = yield from read_all(*self._reads(watch=True))
        except BaseException as error:
            if not isinstance(error, SessionLost):  # or they go with their session
                yield from self._withdraw(names, nodes)
            raise
        yield from self._withdraw(names, nodes)
        return None

    def _create(self, names: list[str], data: bytes) -> Script[tuple[list[Node], Any]]:
        """Create all lease nodes: the first with its parents, the others in one more flight."""
        first, *seen = yield from create_protected(
            self.directory, names[0], *self._reads(), data=data
        )
        nodes = [first]
        if len(names) == 1:
            return nodes, seen
        mode = Mode.EPHEMERAL_SEQUENTIAL
        creates = [Create(join(self.directory, name), data, mode) for name in names[1:]]
        made = yield from Together(*creates, settle=True)
        for name, node in zip(names[1:], made, strict=True):
            if isinstance(node, ZkkitError):
                found = yield from find_protected(self.directory, name)
                again = found or (yield from create_protected(self.directory, name, data=data))
                nodes.append(again[0])
            else:
                nodes.append(node)
        return nodes, (yield from read_all(*self._reads()))

    def _withdraw(self, names: list[str], nodes: list[Node]) -> Script[None]:
        known = dict(zip(names, nodes, strict=False))
        return all_of(partial(withdraw, self.directory, name, known.get(name)) for name in names)

    def _reads(self, *, watch: bool = False) -> tuple[Request[Any], ...]:
        leases = Children(self.directory, watch)
        if isinstance(self.limit, int):
            return (leases,)
        return (leases, Get(self.limit.path, watch))

    def _limit(self, seen: Any) -> Script[int]:
        if isinstance(self.limit, int):
            return self.limit
        (found,) = seen
        if isinstance(found, ZkkitError):
            found = yield from self.limit.ensure(watch=True)
        return self.limit.read(found)

    def participants(self) -> Script[tuple[str, ...]]:
        """The paths of all leases, the oldest first."""
        return Line(self.directory, (KIND,)).participants()
