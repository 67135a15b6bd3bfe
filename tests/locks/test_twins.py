"""Broken twins: small wrong locks that the checks of this suite must catch.

Each has one mistake. If one of them passes, the check is worth nothing. Some of them are the
simulator's too: here they run on real servers.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.fronts import Threads
from tests.support.rooms import Room
from zkkit import MultiLock, ReadWriteLock, ReentrantLock, Semaphore
from zkkit.paths import protected
from zkkit.recipes.locks import Hold, MultiHold, Turn
from zkkit.recipes.locks.leases import Pool
from zkkit.recipes.locks.readwrite import ReadLock
from zkkit.recipes.shared import create_protected
from zkkit.record import Recorder
from zkkit.record.counts import wakeups
from zkkit.scripting import timed_script
from zkkit.sim.gallery.locks import (
    CreatesAgain,
    LeavesAnOrphan,
    TrustsItsPredecessorsDeath,
    WatchesTheParent,
)
from zkkit.steps import Guid
from zkkit.testing import eventually, expire_session, throughout


class LetsOneMoreIn(Semaphore):
    """Compares with the limit as if its own lease did not count."""

    def __init__(self, session: Any, path: str, limit: int) -> None:
        super().__init__(session, path, limit)
        self._pool = Pool(path, limit + 1)


class ReadsUnderAWriter(ReadWriteLock):
    """Its readers look at nobody."""

    def __init__(self, session: Any, path: str) -> None:
        super().__init__(session, path)
        self.read._rule = lambda ahead: Turn(True)


class _StandsBehindItself(ReadLock):
    """A downgrade granted at once, but with a number of its own (CURATOR-621)."""

    def _contend(self, blocking: bool) -> Any:
        name = protected((yield from Guid()), self._kind)
        (node,) = yield from create_protected(self.path, name, data=b"")
        return Hold(self, node)


class DowngradesToTheEnd(ReadWriteLock):
    def __init__(self, session: Any, path: str) -> None:
        super().__init__(session, path)
        self.read.__class__ = _StandsBehindItself


class KnowsInALineOfReaders(ReadWriteLock):
    """A writer that is let in by the going of the writer ahead, without a look at who is there."""

    def __init__(self, session: Any, path: str) -> None:
        super().__init__(session, path)
        self.write._line = self.write._line._replace(append_only=True)


class RemembersALostHold(ReentrantLock):
    """Reenters without asking whether the session it holds in still lives (CURATOR-206)."""

    def current(self, actor: Any) -> Any:
        for owned in (yield from self._ownerships()):
            if owned.actor == actor:
                return owned
        return None


class KeepsWhatItGot(MultiLock):
    """All or some."""

    def _acquire(self, blocking: bool = True, timeout: float | None = None) -> Any:
        holds = []
        for lock in self.locks:
            hold = yield from lock.acquire.of(blocking)
            if hold is None:
                return None
            holds.append(hold)
        return MultiHold(self, tuple(holds))

    acquire = timed_script(_acquire)


@pytest.fixture
def front():
    front = Threads()
    yield front
    front.end()


def inside_when_the_middle_one_leaves(front: Any, lock_class: Any, hosts: str, path: str) -> int:
    """A holds, B waits behind A, C behind B; B gives up. How many are inside then?"""
    room = Room()

    def come_in(lock: Any) -> None:
        if lock.acquire(timeout=1.0):
            room.enter(lock)

    with front.session(hosts) as session:
        first, second, third = (lock_class(session, path) for _ in range(3))
        a, b, c = front.actors(3)
        a.call(lambda: come_in(first))
        leaving = b.begin(lambda: second.acquire(timeout=0.5))
        assert eventually(lambda: len(session.children(path)) == 2)
        waiting = c.begin(lambda: come_in(third))
        assert leaving.result(5) is None
        waiting.result(5)
    return room.inside


def test_a_trusted_death_is_caught(front, zk_hosts, zk_path):
    """Where a wakeup is taken for a grant two are inside; the right lock lets one in."""
    count = inside_when_the_middle_one_leaves
    assert count(front, TrustsItsPredecessorsDeath, zk_hosts, zk_path) == 2
    assert count(front, ReentrantLock, zk_hosts, zk_path + "-right") == 1


def test_an_orphan_is_caught(front, zk_hosts, zk_path, contenders):
    """A lock that does not clean up leaves a contender that the check finds."""
    with front.session(zk_hosts) as session:
        owner, other = front.actors(2)
        good, bad = ReentrantLock(session, zk_path), LeavesAnOrphan(session, zk_path)
        owner.call(good.acquire)
        assert other.call(lambda: bad.acquire(timeout=0.3)) is None
        owner.call(good.release)
        throughout(lambda: contenders(zk_path), 0.5)


def test_a_second_contender_is_caught(front, zk_proxy, zk_path, witness, contenders):
    """A create repeated after a lost reply gives two nodes where one was expected."""
    witness.create(zk_path)
    with front.session(zk_proxy.hosts) as session:
        zk_proxy.lose_reply("create")
        front.actor().begin(CreatesAgain(session, zk_path).acquire)  # it waits behind itself
        eventually(lambda: len(contenders(zk_path)) == 2)


def test_a_herd_in_the_queue_is_caught(front, zk_hosts, zk_path, when):
    """Where everybody watches the parent a release wakes more than one."""
    count = 5
    with front.session(zk_hosts) as session:
        lock = WatchesTheParent(session, zk_path)
        gate = front.actor()
        gate.call(lock.acquire)
        recorder = Recorder()
        session.hooks.add(recorder)
        jobs = []
        for number, actor in enumerate(front.actors(count), start=2):
            jobs += [actor.begin(lock.acquire), actor.begin(lock.release)]
            assert eventually(lambda n=number: len(session.children(zk_path)) == n)
        gate.call(lock.release)
        for job in jobs:
            job.result(10)
        assert len(wakeups(recorder)) > count


def caught_and_right(twin: Any, right: Any) -> Any:
    """Run a check on a broken twin, which must fail it, and on the right one, which must not."""
    return pytest.mark.parametrize(
        ("make", "broken"), [(twin, True), (right, False)], ids=["twin", "right"]
    )


@caught_and_right(LetsOneMoreIn, Semaphore)
def test_one_lease_too_many_is_caught(front, zk_hosts, zk_path, make, broken):
    """Two leases are taken of two: is there a third?"""
    with front.session(zk_hosts) as session:
        semaphore = make(session, zk_path, 2)
        assert semaphore.acquire(False) and semaphore.acquire(False)
        assert (semaphore.acquire(False) is not None) == broken


@caught_and_right(ReadsUnderAWriter, ReadWriteLock)
def test_reading_under_a_writer_is_caught(front, zk_hosts, zk_path, make, broken):
    """One writes: may another one read?"""
    with front.session(zk_hosts) as session:
        lock = make(session, zk_path)
        lock.write.acquire()
        assert (front.call(lambda: lock.read.acquire(False)) is not None) == broken


@pytest.mark.parametrize(
    ("make", "broken"),
    [(DowngradesToTheEnd, True), (KnowsInALineOfReaders, True), (ReadWriteLock, False)],
    ids=["to-the-end", "knows", "right"],
)
def test_a_writer_let_in_by_a_downgrade_is_caught(front, zk_hosts, zk_path, make, broken):
    """One writes, another waits to write; the first downgrades: is the other let in?"""
    with front.session(zk_hosts) as session, front.session(zk_hosts) as other:
        lock, rival = make(session, zk_path), make(other, zk_path)
        lock.write.acquire()
        job = front.actor().begin(lambda: rival.write.acquire(timeout=1.0))
        assert eventually(lambda: len(session.children(zk_path)) == 2)
        reading = lock.read.acquire()
        lock.write.release()
        assert eventually(job.done, 5)
        assert (job.result() is not None) == broken
        assert reading.valid


@caught_and_right(RemembersALostHold, ReentrantLock)
def test_a_lost_hold_that_counts_is_caught(front, zk_hosts, zk_path, make, broken):
    """A hold is lost, another one has the lock: is its old owner let in again?"""
    with front.session(zk_hosts) as session, front.session(zk_hosts) as other:
        lock = make(session, zk_path)
        hold = lock.acquire()
        expire_session(zk_hosts, session)
        assert front.call(lambda: make(other, zk_path).acquire(timeout=10))
        assert eventually(lambda: not hold.valid, 10)
        assert (lock.acquire(timeout=0.5) is not None) == broken


@caught_and_right(KeepsWhatItGot, MultiLock)
def test_some_of_several_is_caught(front, zk_hosts, zk_path, make, broken):
    """The second of two is taken: is the first left free?"""
    with front.session(zk_hosts) as session:
        front.call(lambda: ReentrantLock(session, f"{zk_path}/b").acquire())
        assert make(session, [f"{zk_path}/a", f"{zk_path}/b"]).acquire(False) is None
        free = front.call(lambda: ReentrantLock(session, f"{zk_path}/a").acquire(False))
        assert (free is None) == broken
