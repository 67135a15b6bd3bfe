"""What is compared: kinds of locks, each with the class of every peer, and the plan of the cells.

A cell is one peer at one row for some seconds. The peers take turns as `peers.cells` says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from zkkit.bench.peers.cells import ASYNCIO, CURATOR, KAZOO, ZKKIT, ComparisonPlan

LEASES = 3
"""How many leases a semaphore has."""


@dataclass(frozen=True)
class LockKind:
    """A kind of lock, and what each peer calls it."""

    name: str
    classes: Mapping[str, str]
    leased: bool = False
    """Whether in Curator's layout it has a line and leases, each below a node of its own."""

    def as_data(self) -> str:
        """In results.json a kind is its name."""
        return self.name

    @classmethod
    def from_data(cls, name: str) -> LockKind:
        return KINDS[name]

    def nodes(self, path: str, peer: str) -> tuple[str, ...]:
        """The nodes below which it creates others, to be made beforehand: a container of its own
        could be reaped meanwhile. Below the last of them each acquisition creates exactly one."""
        inner = ("locks", "leases") if self.leased and peer != KAZOO else ()
        return path, *(f"{path}/{name}" for name in inner)


MUTEX = LockKind(
    "mutex",
    {ZKKIT: "ReentrantLock", ASYNCIO: "ReentrantLock", KAZOO: "Lock", CURATOR: "InterProcessMutex"},
)
KINDS: dict[str, LockKind] = {
    kind.name: kind
    for kind in (
        MUTEX,
        LockKind(
            "lock",
            {ZKKIT: "Lock", KAZOO: "Lock", CURATOR: "InterProcessSemaphoreMutex"},
            leased=True,
        ),
        LockKind(
            "semaphore",
            {ZKKIT: "Semaphore", KAZOO: "Semaphore", CURATOR: "InterProcessSemaphoreV2"},
            leased=True,
        ),
        LockKind(
            "read",
            {ZKKIT: "ReadWriteLock.read", KAZOO: "ReadLock", CURATOR: "InterProcessReadWriteLock"},
        ),
        LockKind(
            "write",
            {ZKKIT: "ReadWriteLock.write", KAZOO: "WriteLock",
             CURATOR: "InterProcessReadWriteLock"},
        ),
    )
}  # fmt: skip


@dataclass(frozen=True)
class LockRow:
    """One line of the comparison: so many sessions want one path."""

    kind: LockKind
    sessions: int
    unit: ClassVar[str] = "/s"
    is_rate: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return f"{self.kind.name}, {self.sessions} session{'s' if self.sessions != 1 else ''}"


@dataclass(frozen=True)
class LocksPlan(ComparisonPlan[LockRow]):
    """What to measure. Raises ValueError if that is nothing: no repeat, no time, or sessions that
    do not contend."""

    peers: tuple[str, ...]
    sessions: tuple[int, ...]
    """The numbers of sessions at the contended mutex; every kind is measured uncontended, too."""
    repeats: int
    seconds: float
    seed: int

    def __post_init__(self) -> None:
        if self.repeats < 1 or self.seconds <= 0:
            raise ValueError("a plan has at least one repeat and cells of some seconds")
        if any(number < 2 for number in self.sessions):
            raise ValueError("fewer than two sessions do not contend")

    @property
    def uncontended(self) -> tuple[LockRow, ...]:
        return tuple(LockRow(kind, 1) for kind in KINDS.values())

    @property
    def contended(self) -> tuple[LockRow, ...]:
        return tuple(LockRow(MUTEX, sessions) for sessions in self.sessions)

    @property
    def rows(self) -> tuple[LockRow, ...]:
        return self.uncontended + self.contended

    def peers_at(self, row: LockRow) -> tuple[str, ...]:
        """The peers that are measured at this row: on asyncio it is only the mutex."""
        return tuple(name for name in self.peers if name != ASYNCIO or name in row.kind.classes)
