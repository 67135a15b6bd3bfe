"""Which locks there are, where they lie, and how each of their holds excludes others.

Every kind of lock is there twice: in one place it is taken for milliseconds, by many, and in the
other for seconds, so that faults find somebody who holds it. A MultiLock takes two paths that
others take one at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from zkkit import Lock, MultiLock, ReadWriteLock, ReentrantLock, Semaphore
from zkkit.check.chaos.history import EXCLUSIVE, LEASE, SHARED
from zkkit.recipes.locks.multi import MultiHold

ROOT = "/chaos"
LEDGER = f"{ROOT}/ledger"

QUICK, LONG = "quick", "long"
PLACES = (QUICK, LONG)
KINDS = ("reentrant", "lock", "read", "write", "semaphore", "multi")
LOCKS = tuple(f"{place}/{kind}" for place in PLACES for kind in KINDS)

LIMITS = {f"{ROOT}/{place}/semaphore": 2 for place in PLACES}
"""The semaphores, and how many leases each has."""
FENCED = tuple(f"{ROOT}/{place}/{name}" for place in PLACES for name in ("reentrant", "lock", "rw"))
"""The paths whose holds have a token."""

_LEASE_DIRECTORIES = ("locks", "leases")
DIRECTORIES = frozenset(
    [LEDGER]
    + [f"{ROOT}/{place}" for place in PLACES]
    + [*FENCED, *LIMITS]
    + [
        f"{ROOT}/{place}/{name}/{below}"
        for place in PLACES
        for name in ("lock", "semaphore")
        for below in _LEASE_DIRECTORIES
    ]
)
"""All that may stay below the root: what is not one of these is somebody's lock node."""


class Wanted(NamedTuple):
    """A lock that an actor takes."""

    name: str
    lock: Any

    def parts(self, hold: Any) -> list[tuple[str, str, int | None]]:
        """What a hold of it gives: path, mode and token of each."""
        if isinstance(self.lock, MultiLock):
            paths = [member.path for member in self.lock.locks]
            return [(p, EXCLUSIVE, token) for p, token in zip(paths, hold.token, strict=True)]
        if isinstance(self.lock, Semaphore):
            return [(self.lock.path, LEASE, None)]
        return [(self.lock.path, SHARED if self.name.endswith("/read") else EXCLUSIVE, hold.token)]


def session_of(hold: Any) -> str:
    """The session that a hold is lost with."""
    first = hold.holds[0] if isinstance(hold, MultiHold) else hold
    return f"{first.session_id:#x}"


def wanted(session: Any, place: str, kinds: Sequence[str] = KINDS) -> list[Wanted]:
    """The locks of a place, for one actor."""
    return [Wanted(f"{place}/{kind}", _lock(session, f"{ROOT}/{place}", kind)) for kind in kinds]


def _lock(session: Any, place: str, kind: str) -> Any:
    match kind:
        case "reentrant":
            return ReentrantLock(session, f"{place}/reentrant")
        case "lock":
            return Lock(session, f"{place}/lock")
        case "semaphore":
            path = f"{place}/semaphore"
            return Semaphore(session, path, LIMITS[path])
        case "multi":
            return MultiLock(session, [f"{place}/reentrant", Lock(session, f"{place}/lock")])
    return getattr(ReadWriteLock(session, f"{place}/rw"), kind)
