"""Which locks there are, where they lie, and how each of their holds excludes others. An election
is one of them here: to lead is to hold. Beside them lie counters, a tree, gates and meetings.

Every kind of lock is there twice: in one place it is taken for milliseconds, by many, and in the
other for seconds, so that faults find somebody who holds it. (A selector is there once, for both;
the locks of which herds come, and the one in kazoo's layout, are taken for milliseconds only.)
A MultiLock takes two paths that others take one at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from zkkit import (
    ChildrenWatchLock,
    HerdElection,
    HerdLock,
    HerdReadWriteLock,
    LeaderLatch,
    Lock,
    MultiLock,
    ReadWriteLock,
    ReentrantLock,
    Semaphore,
)
from zkkit.chaos.election import StormElection
from zkkit.check.chaos.history import EXCLUSIVE, LEASE, SHARED
from zkkit.recipes.locks.multi import MultiHold

ROOT = "/chaos"
LEDGER = f"{ROOT}/ledger"
COUNTER = f"{ROOT}/counter"
SHARED_COUNT = f"{ROOT}/shared-count"
NUMBERS = f"{ROOT}/numbers"
"""A counter whose numbers are reserved a block at a time, and given out one by one."""
RECEIPTS = tuple(f"{counter}-receipts" for counter in (COUNTER, SHARED_COUNT, NUMBERS))
"""Receipts tell a session whether an addition counted; they go with the session."""
TREE = f"{ROOT}/tree"
"""Actors change this tree, and caches follow it."""
COLD = f"{TREE}/cold"
"""The part of it whose nodes change seldom."""
GATES = f"{ROOT}/gates"
"""The barriers, one for each process; they are there while they are closed."""
MEETINGS = f"{ROOT}/meetings"
"""The double barriers; their members are below them."""

SELECTOR = f"{ROOT}/selector"
"""The election whose leader is a function. It leads for milliseconds and for seconds."""

QUICK, LONG = "quick", "long"
PLACES = (QUICK, LONG)
KINDS = ("reentrant", "lock", "read", "write", "semaphore", "multi", "latch", "herd-election")
HERDS = ("herd", "children-watch", "herd-read", "herd-write")
QUICK_KINDS = (*KINDS, *HERDS, "kazoo-lock")
LOCKS = (
    *(f"{QUICK}/{kind}" for kind in QUICK_KINDS),
    *(f"{LONG}/{kind}" for kind in KINDS),
    "selector",
)

DEEDS = ("reentry", "downgrade", "cancel", "next_run")
"""What actors do beside acquiring and releasing. Threads cannot be cancelled."""

LIMITS = {f"{ROOT}/{place}/semaphore": 2 for place in PLACES}
"""The semaphores, and how many leases each has."""
FENCED = (
    *(
        f"{ROOT}/{place}/{name}"
        for place in PLACES
        for name in ("reentrant", "lock", "rw", "latch")
    ),
    *(f"{ROOT}/{QUICK}/{name}" for name in ("children-watch", "herd-rw", "kazoo-lock")),
    SELECTOR,
)
"""The paths whose holds have a token."""

LATCHES = [partial(LeaderLatch, error_policy=policy) for policy in ("suspended", "lost")]
"""A broken connection is the end of the leadership of every other candidate; those between lead on
while it is proved that they may."""

_LEASE_DIRECTORIES = ("locks", "leases")
DIRECTORIES = frozenset(
    [LEDGER, TREE, GATES, MEETINGS, f"{MEETINGS}/some", f"{MEETINGS}/all"]
    + [COUNTER, SHARED_COUNT, NUMBERS, *RECEIPTS]
    + [f"{ROOT}/{place}" for place in PLACES]
    + [f"{ROOT}/{place}/herd-election" for place in PLACES]
    + [f"{ROOT}/{QUICK}/herd"]
    + [*FENCED, *LIMITS]
    + [
        f"{ROOT}/{place}/{name}/{below}"
        for place in PLACES
        for name in ("lock", "semaphore")
        for below in _LEASE_DIRECTORIES
    ]
)
"""All that may stay below the root: what is not one of these is somebody's lock node."""


class LockToTake(NamedTuple):
    """A lock that an actor takes."""

    name: str
    lock: Any
    reentrant: bool = False
    read_side: Any = None
    """The LockToTake that the owner of a write lock may take at once, to read on afterwards."""
    guards: bool = True
    """Whether its holds can guard a write."""

    @property
    def inside(self) -> list[LockToTake]:
        """What its owner may take while it holds it."""
        return [self] * self.reentrant + [self.read_side] * (self.read_side is not None)

    def parts(self, hold: Any) -> list[tuple[str, str, int | None]]:
        """What a hold of it gives: path, mode and token of each."""
        if isinstance(self.lock, MultiLock):
            paths = [member.path for member in self.lock.locks]
            return [(p, EXCLUSIVE, token) for p, token in zip(paths, hold.token, strict=True)]
        if isinstance(self.lock, Semaphore):
            return [(self.lock.path, LEASE, None)]
        return [(self.lock.path, SHARED if self.name.endswith("read") else EXCLUSIVE, hold.token)]


def session_of(hold: Any) -> str:
    """The session that a hold is lost with."""
    first = hold.holds[0] if isinstance(hold, MultiHold) else hold
    return f"{first.session_id:#x}"


def locks_to_take(session: Any, place: str, kinds: Sequence[str]) -> list[LockToTake]:
    """Locks of these kinds in a place, for one actor."""
    return [_lock(session, place, kind) for kind in kinds]


def _lock(session: Any, place: str, kind: str) -> LockToTake:
    name, parent = f"{place}/{kind}", f"{ROOT}/{place}"
    match kind:
        case "reentrant":
            return LockToTake(name, ReentrantLock(session, f"{parent}/reentrant"), True)
        case "lock":
            return LockToTake(name, Lock(session, f"{parent}/lock"))
        case "kazoo-lock":
            return LockToTake(name, Lock(session, f"{parent}/kazoo-lock", layout="kazoo"))
        case "children-watch":
            return LockToTake(name, ChildrenWatchLock(session, f"{parent}/children-watch"))
        case "herd":
            return LockToTake(name, HerdLock(session, f"{parent}/herd"), guards=False)
        case "herd-read":
            return LockToTake(name, HerdReadWriteLock(session, f"{parent}/herd-rw").read)
        case "herd-write":
            return LockToTake(name, HerdReadWriteLock(session, f"{parent}/herd-rw").write)
        case "semaphore":
            path = f"{parent}/semaphore"
            return LockToTake(name, Semaphore(session, path, LIMITS[path]))
        case "latch":
            return LockToTake(name, StormElection(session, f"{parent}/latch", LATCHES))
        case "herd-election":
            path = f"{parent}/herd-election"
            return LockToTake(name, StormElection(session, path, [HerdElection]), guards=False)
        case "multi":
            second = Lock(session, f"{parent}/lock")
            return LockToTake(name, MultiLock(session, [f"{parent}/reentrant", second]))
    both = ReadWriteLock(session, f"{parent}/rw")
    read = LockToTake(f"{place}/read", both.read, True)
    return read if kind == "read" else LockToTake(name, both.write, True, read)
