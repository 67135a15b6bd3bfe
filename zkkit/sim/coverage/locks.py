"""Locks, leases, readers and writers: two or three actors that each acquire once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...recipes.counters import SharedCount
from ...recipes.herd import ChildrenWatchLock, HerdLock, HerdReadWriteLock
from ...recipes.locks import Lock, MultiLock, ReadWriteLock, ReentrantLock, Semaphore
from ...recipes.locks.leases import UNCONTENDED
from ...steps import Remember, Script
from ..lives import use
from ..properties import (
    Property,
    of_a_fair_lock,
    of_a_lock,
    of_leases,
    of_readers_and_writers,
)
from ..steps import Work
from ..world import SimSession
from .cast import LOST, Begin, Cast, Life

# --- lives ----------------------------------------------------------------------------------


def using(make: Callable[[SimSession], Any]) -> Life:
    """Acquires the lock that is made of its session, works, releases."""

    def live(session: SimSession) -> Begin:
        lock = make(session)
        return lambda deadline: use(lock, timeout=deadline)

    return live


def downgrading(session: SimSession) -> Begin:
    """Writes, then goes on as a reader before it lets others write."""
    both = ReadWriteLock(session, "/l")

    def begin(deadline: float | None) -> Script[None]:
        if (yield from both.write.acquire.of(timeout=deadline)) is None:
            return
        try:
            reads = yield from both.read.acquire.of(timeout=deadline)
        except BaseException:
            yield from both.write.release.of()
            raise
        try:
            yield from both.write.release.of()
            if reads is not None:
                yield from Work()
        finally:
            if reads is not None:
                yield from both.read.release.of()

    return begin


def taking_two(session: SimSession) -> Begin:
    """Takes two leases at once, and gives them back."""
    pool = Semaphore(session, "/l", 2)

    def begin(deadline: float | None) -> Script[None]:
        leases = yield from pool.acquire_many.of(2, timeout=deadline)
        if leases is None:
            return
        try:
            yield from Work()
        finally:
            yield from leases.give_back()

    return begin


def optimistic(life: Life) -> Life:
    """The same, by one whose session met nobody at this pool the last time."""

    def live(session: SimSession) -> Begin:
        begin = life(session)

        def after(deadline: float | None) -> Script[Any]:
            yield from Remember(UNCONTENDED, ("/l",))
            return (yield from begin(deadline))

        return after

    return live


# --- what is asked of them --------------------------------------------------------------------


_ONE, _TWO = of_leases(1, fails=LOST), of_leases(2, fails=LOST)
_TWO_AT_ONCE = of_leases(2, at_once=2, fails=LOST)
_EXCLUSIVE = of_a_lock(fails=LOST)
_FAIR = of_a_fair_lock(fails=LOST)
_READ_WRITE = of_readers_and_writers(fails=LOST)
_SEVERAL = of_a_fair_lock(places=2, fails=LOST)


# --- the casts --------------------------------------------------------------------------------

POOL = ("/l", "/l/locks", "/l/leases")
_LOCKS: tuple[tuple[str, Callable[[SimSession], Any], Sequence[Property]], ...] = (
    ("ReentrantLock", lambda s: ReentrantLock(s, "/l"), _FAIR),
    ("HerdLock", lambda s: HerdLock(s, "/l"), _EXCLUSIVE),
    ("ChildrenWatchLock", lambda s: ChildrenWatchLock(s, "/l"), _EXCLUSIVE),
    ("Lock, kazoo's layout", lambda s: Lock(s, "/l", layout="kazoo"), _FAIR),
    ("WriteLock", lambda s: ReadWriteLock(s, "/l").write, _FAIR),
)
_REENTRANT = using(lambda s: ReentrantLock(s, "/l"))
_READ = using(lambda s: ReadWriteLock(s, "/l").read)
_FIRST = using(lambda s: ReadWriteLock(s, "/l", reader_rule="first-writer").read)
_WRITE = using(lambda s: ReadWriteLock(s, "/l").write)
_LOCK = using(lambda s: Lock(s, "/l"))
_LEASE = using(lambda s: Semaphore(s, "/l", 2))
_COUNTED = using(lambda s: Semaphore(s, "/l", SharedCount(s, "/n", seed=1)))
_BOTH = using(lambda s: MultiLock(s, ["/a", "/b"]))
_NAIVE_READ = using(lambda s: HerdReadWriteLock(s, "/l").read)
_NAIVE_WRITE = using(lambda s: HerdReadWriteLock(s, "/l").write)

FAMILIES: dict[str, tuple[Cast, ...]] = {
    "lock": (
        *[
            Cast(name, (using(make),) * count, properties, shared=shared)
            for name, make, properties in _LOCKS
            for count in (2, 3)
            for shared in (False, True)
        ],
        Cast("ReentrantLock", (_REENTRANT,) * 3, _FAIR, one_process=True),
        Cast("Lock", (_LOCK,) * 2, _EXCLUSIVE, POOL),
        Cast("Lock", (_LOCK,) * 2, _EXCLUSIVE, POOL, shared=True),
        Cast("Lock", (_LOCK,) * 3, _EXCLUSIVE, POOL, preemptions=2),
        Cast("Lock, optimistic", (optimistic(_LOCK),) * 2, _EXCLUSIVE, POOL),
        Cast("Lock, optimistic", (optimistic(_LOCK),) * 2, _EXCLUSIVE, POOL, shared=True),
        Cast("Lock, one of them optimistic", (optimistic(_LOCK), _LOCK), _EXCLUSIVE, POOL),
        Cast("Lock, optimistic", (optimistic(_LOCK),) * 3, _EXCLUSIVE, POOL, preemptions=1),
    ),
    "semaphore": (
        Cast("Semaphore, 2 leases", (_LEASE,) * 3, _TWO, POOL, preemptions=2),
        Cast("Semaphore, 2 leases, both at once", (taking_two, _LEASE), _TWO_AT_ONCE, POOL),
        Cast("Semaphore, SharedCount 1", (_COUNTED,) * 2, _ONE, POOL),
        Cast(
            "Semaphore, 2 leases, optimistic", (optimistic(_LEASE),) * 3, _TWO, POOL, preemptions=1
        ),
        Cast(
            "Semaphore, 2 leases, both at once, optimistic",
            (optimistic(taking_two), optimistic(_LEASE)),
            _TWO_AT_ONCE,
            POOL,
        ),
    ),
    "readers and writers": (
        Cast("ReadWriteLock, reader and writer", (_READ, _WRITE), _READ_WRITE),
        Cast("ReadWriteLock, 2 readers and a writer", (_READ, _READ, _WRITE), _READ_WRITE),
        Cast("ReadWriteLock, 2 writers and a reader", (_WRITE, _WRITE, _READ), _READ_WRITE),
        Cast("ReadWriteLock, the same by first-writer", (_WRITE, _WRITE, _FIRST), _READ_WRITE),
        Cast("ReadWriteLock, downgrade and writer", (downgrading, _WRITE), _READ_WRITE),
        Cast(
            "HerdReadWriteLock, 2 readers and a writer",
            (_NAIVE_READ, _NAIVE_READ, _NAIVE_WRITE),
            _READ_WRITE,
        ),
    ),
    "several locks": (
        Cast("MultiLock of two", (_BOTH,) * 2, _SEVERAL, ("/a", "/b")),
        Cast("MultiLock of two", (_BOTH,) * 3, _SEVERAL, ("/a", "/b")),
    ),
}
"""The casts of each family."""
