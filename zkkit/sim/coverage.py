"""What of the locks has been explored, as the tables of docs/simulator.md, line by line:

    python -m zkkit.sim.coverage            every lock; some minutes
    python -m zkkit.sim.coverage whole      those that it bounds, with wider bounds or none

Every lock, two or three actors that each acquire once, and at most one fault of each kind: all
interleavings, or where that is too much, those with few preemptions. The table says which.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ..errors import SessionLost
from ..recipes.counters import SharedCount
from ..recipes.herd import ChildrenWatchLock, HerdLock, HerdReadWriteLock
from ..recipes.locks import Lock, MultiLock, ReadWriteLock, ReentrantLock, Semaphore
from ..recipes.locks.leases import MET_NOBODY
from ..steps import Note, Script
from .explore import Verdict, explore
from .faults import KINDS, NO_FAULTS, one
from .lives import use
from .properties import (
    AtMost,
    EndsWell,
    NobodyTakesAway,
    NoLostWakeup,
    NothingLeft,
    Property,
    ReadersAndWriters,
    RealGrants,
    of_a_fair_lock,
    of_a_lock,
)
from .world import SimSession, Work, World

# No ZooKeeper fails over so; a lapse matters to who acquires again (tests/locks has it).
FAULTS = ("", *[kind for kind in KINDS if kind not in ("failover", "lapse")])

_STATES = 20_000_000  # more than any of them has

Begin = Callable[[float | None], Script[Any]]
Life = Callable[[SimSession], Begin]
"""What an actor does: given its session, then a deadline or none, its script."""


class Cast(NamedTuple):
    """Actors, what each of them does, and what is asked of them all."""

    name: str
    lives: tuple[Life, ...]
    properties: Callable[[], Sequence[Property]]
    nodes: tuple[str, ...] = ("/l",)
    shared: bool = False
    preemptions: int | None = None

    @property
    def few(self) -> bool:
        """Whether it is explored in a moment."""
        return len(self.lives) < 3 and self.nodes != _POOL

    def __str__(self) -> str:
        where = ", one session" if self.shared else ""
        bound = "" if self.preemptions is None else f", preemptions up to {self.preemptions}"
        return f"{self.name}: {len(self.lives)}{where}{bound}"

    def world(self, deadline: float | None) -> World:
        """The world they live in."""
        world = World(*self.nodes)
        common = world.connect("the session") if self.shared else None
        for number, life in enumerate(self.lives):
            name = chr(ord("A") + number)
            session = common or world.connect(f"{name}'s session")
            begin = life(session)
            world.actor(name, session, lambda begin=begin: begin(deadline))  # type: ignore[misc]
        return world

    def under(self, fault: str) -> Verdict:
        """Every interleaving within the bounds, with at most one such fault ("": without)."""
        world = self.world(1.0 if fault == "deadline" else None)
        faults = one(fault) if fault else NO_FAULTS
        return explore(
            world,
            faults=faults,
            properties=self.properties(),
            states=_STATES,
            preemptions=self.preemptions,
        )


# --- lives ----------------------------------------------------------------------------------


def using(make: Callable[[SimSession], Any]) -> Life:
    """Acquires the lock that is made of its session, works, releases."""

    def live(session: SimSession) -> Begin:
        lock = make(session)
        return lambda deadline: use(lock, timeout=deadline)

    return live


def reading(rule: str = "last-writer") -> Life:
    return using(lambda session: ReadWriteLock(session, "/l", reader_rule=rule).read)


def writing(session: SimSession) -> Begin:
    return using(lambda session: ReadWriteLock(session, "/l").write)(session)


def downgrading(session: SimSession) -> Begin:
    """Writes, then goes on as a reader before it lets others write."""
    both = ReadWriteLock(session, "/l")
    read, write = type(both.read), type(both.write)

    def begin(deadline: float | None) -> Script[None]:
        if (yield from write.acquire.of(both.write, timeout=deadline)) is None:
            return
        try:
            reads = yield from read.acquire.of(both.read, timeout=deadline)
        except BaseException:
            yield from write.release.of(both.write)
            raise
        try:
            yield from write.release.of(both.write)
            yield from Work()
        finally:
            if reads is not None:
                yield from read.release.of(both.read)

    return begin


def taking_two(session: SimSession) -> Begin:
    """Takes two leases at once, and gives them back."""
    pool = Semaphore(session, "/l", 2)

    def begin(deadline: float | None) -> Script[None]:
        leases = yield from Semaphore.acquire_many.of(pool, 2, timeout=deadline)
        if leases is None:
            return
        try:
            yield from Work()
        finally:
            yield from leases.give_back()

    return begin


def hopeful(life: Life) -> Life:
    """The same, by one whose session met nobody at this pool the last time."""

    def live(session: SimSession) -> Begin:
        begin = life(session)

        def after(deadline: float | None) -> Script[Any]:
            yield from Note(MET_NOBODY, ("/l",))
            return (yield from begin(deadline))

        return after

    return live


# --- what is asked of them --------------------------------------------------------------------


def _exclusive() -> Sequence[Property]:
    return (*of_a_lock(), EndsWell(SessionLost))


def _fair() -> Sequence[Property]:
    return (*of_a_fair_lock(), EndsWell(SessionLost))


def _common() -> tuple[Property, ...]:
    nothing_left, ends_well = NothingLeft(while_holding=False), EndsWell(SessionLost)
    return RealGrants(), NoLostWakeup(), nothing_left, NobodyTakesAway(), ends_well


def _readers_and_writers() -> Sequence[Property]:
    return (ReadersAndWriters(), *_common())


def _naive_readers_and_writers() -> Sequence[Property]:
    return (ReadersAndWriters(lambda path: "-W-" in path), *_common())


def _at_most(count: int) -> Callable[[], Sequence[Property]]:
    return lambda: (AtMost(count), *_common())


# --- the casts --------------------------------------------------------------------------------

_POOL = ("/l", "/l/locks", "/l/leases")
_EXCLUSIVE: tuple[
    tuple[str, Callable[[SimSession], Any], Callable[[], Sequence[Property]]], ...
] = (
    ("ReentrantLock", lambda s: ReentrantLock(s, "/l"), _fair),
    ("HerdLock", lambda s: HerdLock(s, "/l"), _exclusive),
    ("ChildrenWatchLock", lambda s: ChildrenWatchLock(s, "/l"), _at_most(1)),
    ("Lock, kazoo's layout", lambda s: Lock(s, "/l", layout="kazoo"), _fair),
    ("WriteLock", lambda s: ReadWriteLock(s, "/l").write, _fair),
)
_READ, _FIRST = reading(), reading("first-writer")
_LOCK = using(lambda s: Lock(s, "/l"))
_LEASE = using(lambda s: Semaphore(s, "/l", 2))
_COUNTED = using(lambda s: Semaphore(s, "/l", SharedCount(s, "/n", seed=1)))
_BOTH = using(lambda s: MultiLock(s, ["/a", "/b"]))
_NAIVE_READ = using(lambda s: HerdReadWriteLock(s, "/l").read)
_NAIVE_WRITE = using(lambda s: HerdReadWriteLock(s, "/l").write)

CASTS = (
    *[
        Cast(name, (using(make),) * count, properties, shared=shared)
        for name, make, properties in _EXCLUSIVE
        for count in (2, 3)
        for shared in (False, True)
    ],
    Cast("Lock", (_LOCK,) * 2, _at_most(1), _POOL),
    Cast("Lock", (_LOCK,) * 2, _at_most(1), _POOL, shared=True),
    Cast("Lock", (_LOCK,) * 3, _at_most(1), _POOL, preemptions=2),
    Cast("Semaphore, 2 leases", (_LEASE,) * 3, _at_most(2), _POOL, preemptions=2),
    Cast("Semaphore, 2 leases, both at once", (taking_two, _LEASE), _at_most(2), _POOL),
    Cast("Semaphore, SharedCount 1", (_COUNTED,) * 2, _at_most(1), _POOL),
    Cast("Lock, hopeful", (hopeful(_LOCK),) * 2, _at_most(1), _POOL),
    Cast("Lock, hopeful", (hopeful(_LOCK),) * 2, _at_most(1), _POOL, shared=True),
    Cast("Lock, one of them hopeful", (hopeful(_LOCK), _LOCK), _at_most(1), _POOL),
    Cast("Lock, hopeful", (hopeful(_LOCK),) * 3, _at_most(1), _POOL, preemptions=1),
    Cast(
        "Semaphore, 2 leases, hopeful",
        (hopeful(_LEASE),) * 3,
        _at_most(2),
        _POOL,
        preemptions=1,
    ),
    Cast(
        "Semaphore, 2 leases, both at once, hopeful",
        (hopeful(taking_two), hopeful(_LEASE)),
        _at_most(2),
        _POOL,
    ),
    Cast("ReadWriteLock, reader and writer", (_READ, writing), _readers_and_writers),
    Cast("ReadWriteLock, 2 readers and a writer", (_READ, _READ, writing), _readers_and_writers),
    Cast("the same, 2 writers and a reader", (writing, writing, _READ), _readers_and_writers),
    Cast("the same, by first-writer", (writing, writing, _FIRST), _readers_and_writers),
    Cast("ReadWriteLock, downgrade and writer", (downgrading, writing), _readers_and_writers),
    Cast(
        "HerdReadWriteLock, 2 readers and a writer",
        (_NAIVE_READ, _NAIVE_READ, _NAIVE_WRITE),
        _naive_readers_and_writers,
    ),
    Cast("MultiLock of two", (_BOTH,) * 2, _fair, ("/a", "/b")),
    Cast("MultiLock of two", (_BOTH,) * 3, _fair, ("/a", "/b")),
)


_WIDER = {1: 2, 2: None}
WHOLE = tuple(
    cast._replace(preemptions=_WIDER[cast.preemptions]) for cast in CASTS if cast.preemptions
)
"""The bounded ones with wider bounds, or without: every interleaving."""


def table(casts: Sequence[Cast]) -> Iterator[str]:
    """The states covered, line by line; what does not hold says so."""
    yield f"| lock: actors | {' | '.join(fault or 'none' for fault in FAULTS)} |"
    yield "|---" + "|---:" * len(FAULTS) + "|"
    for cast in casts:
        cells = [_covered(cast.under(fault)) for fault in FAULTS]
        yield f"| {cast} | {' | '.join(cells)} |"


def _covered(verdict: Verdict) -> str:
    said = {True: "", False: "broken: ", None: "unknown: "}[verdict.holds]
    return f"{said}{verdict.states:,}"


if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["whole"]):
        sys.exit("usage: python -m zkkit.sim.coverage [whole]")
    for line in table(WHOLE if sys.argv[1:] else CASTS):
        print(line, flush=True)
