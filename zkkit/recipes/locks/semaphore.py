"""A semaphore: so many leases and no more. Curator's InterProcessSemaphoreV2, on the same nodes.

    <path>/locks/_c_<guid>-lock-0000000007       the line: only the first in it takes leases
    <path>/leases/_c_<guid>-lease-0000000011     one node for each lease

1. Stand in line in `locks`.
2. First: create the lease nodes and list `leases`, in one flight. If fewer leases than the limit
   are ahead of each, they are ours. Otherwise wait until one is returned or the limit changes.
3. Leave the line; that is not waited for.

So at most one contender at a time is granted leases, and it alone watches. Several leases are
granted all at once or not at all: two that want two each can never have one each and wait for ever
(Curator takes them one by one, and can).

The limit is a number, the same in every process, or a SharedCount: then it may change while clients
wait. Raised, it lets waiters in at once; lowered, it takes nothing from anybody, and nobody is let
in until enough leases have been returned.

Guarantees: never more leases granted than the limit at that moment; leases in the order of asking;
several leases all at once or not at all; nothing left behind by a lost reply, a cancel, a deadline
or a crash. Whoever has a lease may return it, in whatever thread or task. With a limit above one
there is no fencing: two holders are meant to overlap, and a lease has no `token`.

Where to read on: `acquire` below is run by owned.py (who holds what, beginning again), which calls
`_contend` and so `take_leases` in leases.py: the loop, which Lock shares. The nodes are made there,
by the scripts in ../shared.py.

Cost: 4 flights for an uncontended acquire and release, of which the acquire waits for 2; after one
that met nobody 3 and 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ...scripting import Returnable, S, script, timed_script
from ...steps import Actor, Script
from ..arguments import check_blocking, check_count, checked_data
from ..counters.shared_count import SharedCount
from ..shared import all_of
from .hold import Hold
from .leases import Pool, take_leases
from .owned import OwnedLock


class Lease(Hold[S]):
    """One lease of a semaphore."""


class Leases(Returnable[S]):
    """Several leases that were taken together."""

    def __init__(self, semaphore: Semaphore[S], leases: tuple[Lease[S], ...]) -> None:
        super().__init__(semaphore, semaphore.path)
        self._leases = leases

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
        """Return all that have not been returned yet. Raises the first error that this meets
        (NoAuth, ...), when all have been tried."""
        yield from self.give_back()

    def give_back(self) -> Script[None]:
        return all_of(lease.give_back for lease in self._leases)


class Semaphore(OwnedLock[S]):
    """Up to `limit` leases across processes.

    Raises ValueError if the limit is neither a number from 1 nor a SharedCount of this session, or
    `node_data` is not bytes.
    """

    owner_only: ClassVar[bool] = False

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
        self.limit = limit
        self.single_holder = limit == 1
        self._node_data = checked_data(node_data, session.node_data)
        self._pool = Pool(self.path, limit)

    @timed_script
    def acquire(
        self, blocking: bool = True, timeout: float | None = None
    ) -> Script[Lease[S] | None]:
        """Wait for a lease; None if not blocking and there is none, or if `timeout` passes.

        Raises as `ReentrantLock.acquire`, and CorruptData if the limit is a SharedCount whose node
        holds no number.
        """
        check_blocking(blocking)
        return self._acquire(blocking)

    def _contend(self, blocking: bool) -> Script[Lease[S] | None]:
        leases = yield from self._take(1, blocking)
        return None if leases is None else leases[0]

    @timed_script
    def acquire_many(
        self, count: int, blocking: bool = True, timeout: float | None = None
    ) -> Script[Leases[S] | None]:
        """Wait for `count` leases, all at once; None as with `acquire`.

        Raises ValueError if there can never be so many, and as `acquire`.
        """
        check_count("the number of leases", count)
        check_blocking(blocking)
        if isinstance(self.limit, int) and count > self.limit:
            raise ValueError(f"{count} leases cannot be had of {self!r} with limit {self.limit}")
        return self._acquire_many(count, blocking)

    def _acquire_many(self, count: int, blocking: bool) -> Script[Leases[S] | None]:
        actor = yield from Actor()
        leases = yield from self._persevere(lambda: self._take(count, blocking))
        if leases is None:
            return None
        for lease in leases:
            yield from self._granted(lease, actor)
        return Leases(self, leases)

    def _take(self, count: int, blocking: bool) -> Script[tuple[Lease[S], ...] | None]:
        taken = yield from take_leases(self._pool, count, self._node_data, blocking)
        return None if taken is None else tuple(Lease(self, node) for node in taken)

    @script
    def participants(self) -> Script[tuple[str, ...]]:
        """The paths of all leases, the oldest first; the last ones may not be granted yet. Raises
        as `ReentrantLock.participants`."""
        return self._pool.leases.participants()
