"""A semaphore: so many leases and no more. Curator's InterProcessSemaphoreV2, on the same nodes.

    <path>/locks/_c_<guid>-lock-0000000007       the line: only the first in it takes leases
    <path>/leases/_c_<guid>-lease-0000000011     one node for each lease

The limit is a number, the same in every process, or a SharedCount: then it may change while clients
wait. Raised, it lets waiters in at once; lowered, it takes nothing from anybody, and nobody is let
in until enough leases have been returned.

Guarantees: never more leases granted than the limit at that moment; leases in the order of asking;
several leases all at once or not at all; nothing left behind by a lost reply, a cancel, a deadline
or a crash. Whoever has a lease may return it, in whatever thread or task. With a limit above one
there is no fencing: two holders are meant to overlap, and a lease has no `token`.

Cost: 4 flights for an uncontended acquire and release, of which the acquire waits for 2; after one
that met nobody 3 and 1.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, ClassVar

from ...scripting import Recipe, Returnable, S, script, timed_script
from ...steps import Actor, Node, Script
from ..arguments import check_blocking, check_count, check_data
from ..counters.shared_count import SharedCount
from ..shared import all_of, delete_surely
from .hold import Hold
from .leases import Pool
from .owned import OwnedLock


class Lease(Hold[S]):
    """One lease of a semaphore."""


class Leases(Recipe[S], Returnable):
    """Several leases that were taken together."""

    def __init__(self, semaphore: Semaphore[S], leases: tuple[Lease[S], ...]) -> None:
        self.session = semaphore.session
        self.path = semaphore.path
        self._semaphore = semaphore
        self._leases = leases

    @property
    def recorded_as(self) -> str:
        return self._semaphore.recorded_as

    def __iter__(self) -> Iterator[Lease[S]]:
        return iter(self._leases)

    def __len__(self) -> int:
        return len(self._leases)

    @property
    def valid(self) -> bool:
        """Whether all of them surely still hold."""
        return all(lease.valid for lease in self._leases)

    @script
    def release(self) -> Script[None]:
        """Return all that have not been returned yet."""
        yield from self.give_back()

    def give_back(self) -> Script[None]:
        return all_of(lease.give_back for lease in self._leases)


class Semaphore(OwnedLock[S]):
    """Up to `limit` leases across processes."""

    bound: ClassVar[bool] = False

    def __init__(
        self,
        session: S,
        path: str,
        limit: int | SharedCount[S],
        *,
        node_data: bytes | None = None,
    ) -> None:
        super().__init__(session, path)
        if not isinstance(limit, SharedCount):
            check_count("the limit of a semaphore", limit, other=", or a SharedCount")
        elif limit.session is not session:
            raise ValueError("the SharedCount of a semaphore must be of its session")
        check_data(node_data)
        self.limit = limit
        self.fences = limit == 1
        self._node_data = session.node_data if node_data is None else node_data
        self._pool = Pool(self.path, limit)

    def _contend(self, blocking: bool) -> Script[Node | None]:
        taken = yield from self._pool.take(1, self._node_data, blocking)
        return None if taken is None else taken[0]

    def _hold(self, node: Node, actor: Hashable) -> Script[Lease[S]]:
        yield from ()
        return Lease(self, node, node.stat.czxid)

    def _let_go(self, hold: Hold[Any]) -> Script[None]:
        return delete_surely(hold.path)

    @timed_script
    def acquire_many(
        self, count: int, blocking: bool = True, timeout: float | None = None
    ) -> Script[Leases[S] | None]:
        """Wait for `count` leases, all at once; None as with `acquire`."""
        check_count("the number of leases", count)
        check_blocking(blocking)
        if isinstance(self.limit, int) and count > self.limit:
            raise ValueError(f"{count} leases cannot be had of {self!r} with limit {self.limit}")
        return self._acquire_many(count, blocking)

    def _acquire_many(self, count: int, blocking: bool) -> Script[Leases[S] | None]:
        actor = yield from Actor()
        taken = yield from self._persevere(
            lambda: self._pool.take(count, self._node_data, blocking)
        )
        if taken is None:
            return None
        leases = []
        for node in taken:
            lease = yield from self._hold(node, actor)
            yield from self._granted(lease, actor)
            leases.append(lease)
        return Leases(self, tuple(leases))

    @script
    def participants(self) -> Script[tuple[str, ...]]:
        """The paths of all leases, the oldest first; the last ones may not be granted yet."""
        return self._pool.participants()
