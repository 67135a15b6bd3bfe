"""The locks the contract suite runs over, and what each of them claims."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from kazoo.exceptions import LockTimeout

from zkkit import (
    ChildrenWatchLock,
    HerdLock,
    HerdReadWriteLock,
    Lock,
    MultiLock,
    ReadWriteLock,
    ReentrantLock,
    Semaphore,
)
from zkkit.errors import NotOwner

Make = Callable[[Any, str], Any]


@dataclass(frozen=True)
class Kind:
    """A kind of lock: how to make one, and what it claims beyond what all of them do."""

    name: str
    make: Make
    rival: Make | None = None
    """What keeps it out, if not another of its kind."""
    reentrant: bool = False
    owner_only: bool = True
    """Only the actor that acquired may release."""
    guards: bool = True
    """Its holds guard transactions."""
    fair: bool = True
    """Granted in the order of arrival."""
    wakes_one: bool = True
    """At most one waiter is woken by a release."""

    def rival_of(self, session: Any, path: str) -> Any:
        """A lock that keeps locks of this kind out while it is held."""
        return (self.rival or self.make)(session, path)

    @property
    def exclusive(self) -> bool:
        return self.rival is None

    def __str__(self) -> str:
        return self.name


def holds_of(hold: Any) -> list[Any]:
    """The single holds a hold consists of."""
    return list(getattr(hold, "holds", [hold]))


REENTRANT = Kind("ReentrantLock", ReentrantLock, reentrant=True)
LOCK = Kind("Lock", Lock, owner_only=False)
KAZOO_LAYOUT = Kind(
    "Lock-kazoo", lambda session, path: Lock(session, path, layout="kazoo"), owner_only=False
)
WRITE = Kind("write", lambda session, path: ReadWriteLock(session, path).write, reentrant=True)
READ = Kind(
    "read",
    lambda session, path: ReadWriteLock(session, path).read,
    rival=WRITE.make,
    reentrant=True,
)
SEMAPHORE = Kind("Semaphore-1", lambda session, path: Semaphore(session, path, 1), owner_only=False)
MULTI = Kind(
    "MultiLock",
    lambda session, path: MultiLock(session, [f"{path}/a", f"{path}/b"]),
    reentrant=True,
)
HERD = Kind("HerdLock", HerdLock, guards=False, fair=False, wakes_one=False)
CHILDREN = Kind("ChildrenWatchLock", ChildrenWatchLock, wakes_one=False)
HERD_WRITE = Kind(
    "HerdReadWriteLock.write",
    lambda session, path: HerdReadWriteLock(session, path).write,
    wakes_one=False,
)
PERSISTENT = Kind(
    "persistent",
    lambda session, path: ReentrantLock(session, path, persistent=True),
    reentrant=True,
)

ALL = [
    REENTRANT, LOCK, KAZOO_LAYOUT, WRITE, READ, SEMAPHORE, MULTI, HERD, CHILDREN, HERD_WRITE,
]  # fmt: skip

ONE_OF_EACH = [REENTRANT, LOCK, HERD]
"""One lock for each way to wait and to clean up: a node in a line, a place in a line that guards a
lease, a fixed name. The others differ from these in names and rules, not in what a fault can hit,
so the slow faults are inflicted on these only."""

DIRECTORIES = frozenset({"locks", "leases", "a", "b"})
"""Children of a lock's path that are no contenders but directories of them."""


# --- kazoo's own Lock, to compare -------------------------------------------------------------


class KazooLock:
    """kazoo's Lock, as far as it can be called like one of ours."""

    def __init__(self, client: Any, path: str) -> None:
        self._lock = client.Lock(path)

    def acquire(self, blocking: bool = True, timeout: float | None = None) -> Any:
        try:
            return KazooHold(self._lock) if self._lock.acquire(blocking, timeout) else None
        except LockTimeout:
            return None

    def release(self) -> None:
        if not self._lock.release():
            raise NotOwner("kazoo says so by giving False", path=self._lock.path)

    def __enter__(self) -> Any:
        return self._lock.__enter__()

    def __exit__(self, *exc: object) -> None:
        self._lock.__exit__(*exc)


class KazooHold:
    """All that kazoo knows of a lock that it holds."""

    def __init__(self, lock: Any) -> None:
        self._lock = lock
        self.path = f"{lock.path}/{lock.node}"

    @property
    def valid(self) -> bool:
        return bool(self._lock.is_acquired)

    def release(self) -> None:
        self._lock.release()


KAZOO = Kind("kazoo.Lock", KazooLock, owner_only=False, guards=False)


def over(*kinds: Any) -> Any:
    """Run a test over these kinds of lock."""
    return pytest.mark.parametrize("kind", kinds, ids=str)


kazoo_keeps = pytest.param(KAZOO, id=KAZOO.name, marks=pytest.mark.front("kazoo"))
"""kazoo's own Lock passes this test, too."""


def kazoo_breaks(reason: str, raises: type[BaseException] = AssertionError) -> Any:
    """kazoo's own Lock does not pass this test; `reason` names its issue. Slow: it fails by letting
    a time pass, and it changes with kazoo's version, not with ours."""
    xfail = pytest.mark.xfail(strict=True, reason=reason, raises=raises)
    marks = [pytest.mark.front("kazoo"), pytest.mark.slow, xfail]
    return pytest.param(KAZOO, id=KAZOO.name, marks=marks)


def only_on(front: str, kind: Kind, *marks: Any) -> Any:
    """This kind on one front is enough."""
    return pytest.param(kind, id=kind.name, marks=[pytest.mark.front(front), *marks])


def slowly(kind: Kind) -> Any:
    """This kind on every front, but not every day."""
    return pytest.param(kind, id=kind.name, marks=pytest.mark.slow)
