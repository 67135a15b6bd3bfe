"""What is compared: kinds of locks, each with the class of every peer, and the plan of the cells.

A cell is one peer at one row for some seconds. In a repeat the peers of a row run one after the
other, in an order that changes from repeat to repeat until each order has been; the rows run
forwards, then backwards. So neither a machine that grows warmer nor a JVM that grows faster favours
a peer, and the peers of one repeat can be compared as a pair.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations

ZKKIT, KAZOO, CURATOR = "zkkit", "kazoo", "Curator"
LEASES = 3
"""Of the semaphores."""


@dataclass(frozen=True)
class Kind:
    """A kind of lock, and what each peer calls it."""

    name: str
    classes: Mapping[str, str]
    leased: bool = False
    """Whether in Curator's layout it has a line and leases, each below a node of its own."""

    def nodes(self, path: str, peer: str) -> tuple[str, ...]:
        """The nodes below which it creates others, to be made beforehand: a container of its own
        could be reaped meanwhile. Below the last of them each acquisition creates exactly one."""
        inner = ("locks", "leases") if self.leased and peer != KAZOO else ()
        return path, *(f"{path}/{name}" for name in inner)


MUTEX = Kind("mutex", {ZKKIT: "ReentrantLock", KAZOO: "Lock", CURATOR: "InterProcessMutex"})
KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        MUTEX,
        Kind(
            "lock",
            {ZKKIT: "Lock", KAZOO: "Lock", CURATOR: "InterProcessSemaphoreMutex"},
            leased=True,
        ),
        Kind(
            "semaphore",
            {ZKKIT: "Semaphore", KAZOO: "Semaphore", CURATOR: "InterProcessSemaphoreV2"},
            leased=True,
        ),
        Kind(
            "read",
            {ZKKIT: "ReadWriteLock.read", KAZOO: "ReadLock", CURATOR: "InterProcessReadWriteLock"},
        ),
        Kind(
            "write",
            {ZKKIT: "ReadWriteLock.write", KAZOO: "WriteLock",
             CURATOR: "InterProcessReadWriteLock"},
        ),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One line of the comparison: so many sessions want one path."""

    kind: Kind
    sessions: int

    @property
    def name(self) -> str:
        return f"{self.kind.name}, {self.sessions} session{'s' if self.sessions != 1 else ''}"


@dataclass(frozen=True)
class Planned:
    """One cell to be measured."""

    row: Row
    peer: str
    repeat: int


@dataclass(frozen=True)
class SpeedPlan:
    """What to measure. The seed decides in which order the peers' orders come."""

    peers: tuple[str, ...]
    sessions: tuple[int, ...]
    """Of the contended mutex; every kind is measured uncontended besides."""
    repeats: int
    seconds: float
    seed: int

    def __post_init__(self) -> None:
        if self.repeats < 1 or self.seconds <= 0:
            raise ValueError("a plan has at least one repeat and cells of some seconds")
        if any(number < 2 for number in self.sessions):
            raise ValueError("fewer than two sessions do not contend")

    @property
    def uncontended(self) -> tuple[Row, ...]:
        return tuple(Row(kind, 1) for kind in KINDS.values())

    @property
    def contended(self) -> tuple[Row, ...]:
        return tuple(Row(MUTEX, sessions) for sessions in self.sessions)

    @property
    def rows(self) -> tuple[Row, ...]:
        return self.uncontended + self.contended

    def cells(self, rows: tuple[Row, ...]) -> Iterator[Planned]:
        """All cells of these rows, in their order."""
        orders = list(permutations(self.peers))
        random.Random(self.seed).shuffle(orders)
        for repeat in range(self.repeats):
            order = orders[repeat % len(orders)]
            for row in rows if repeat % 2 == 0 else reversed(rows):
                for peer in order:
                    yield Planned(row, peer, repeat)

    def __len__(self) -> int:
        return len(self.rows) * len(self.peers) * self.repeats
