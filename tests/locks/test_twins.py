"""Broken twins: small wrong locks that the checks of this suite must catch.

Each has one mistake. If one of them passes, the check is worth nothing.
"""

from __future__ import annotations

from typing import Any

import pytest
from fronts import Threads, eventually
from room import Room
from test_faults import kill_session

from zkkit import MultiLock, ReadWriteLock, ReentrantLock, Semaphore
from zkkit.errors import ConnectionLost
from zkkit.paths import join, split
from zkkit.recipes.locks import MultiHold, Turn
from zkkit.recipes.locks.leases import Pool
from zkkit.recipes.locks.readwrite import ReadLock
from zkkit.recipes.shared import delete_surely
from zkkit.record import Recorder
from zkkit.record.frames import wakeups
from zkkit.scripting import timed_script
from zkkit.sim.gallery.locks import PREFIX, stand_in_line, turn_of
from zkkit.steps import Children, Create, Get, Guid, Mode, Wait


class TrustsItsPredecessorsDeath(ReentrantLock):
    """Woken means first: but the node before it may have left without ever holding."""

    def _contend(self, blocking: bool) -> Any:
        guid = yield from Guid()
        node, queue = yield from stand_in_line(self.path, guid)
        try:
            turn = turn_of(queue, split(node.path)[1])
            if not turn.mine:
                yield from Get(join(self.path, turn.behind), watch=True)
                yield from Wait()
            return node
        except BaseException:
            yield from delete_surely(node.path)
            raise


class LeavesItsNodeBehind(ReentrantLock):
    """No clean-up on the way out."""

    def _contend(self, blocking: bool) -> Any:
        guid = yield from Guid()
        node, queue = yield from stand_in_line(self.path, guid)
        while not (turn := turn_of(queue, split(node.path)[1])).mine:
            yield from Get(join(self.path, turn.behind), watch=True)
            yield from Wait()
            queue = yield from Children(self.path)
        return node


class CreatesAgainAfterALostReply(ReentrantLock):
    """A second contender of one owner."""

    def _contend(self, blocking: bool) -> Any:
        while True:
            try:
                guid = yield from Guid()
                path = join(self.path, f"_c_{guid}-{PREFIX}")
                return (yield from Create(path, b"", Mode.EPHEMERAL_SEQUENTIAL))
            except ConnectionLost:
                continue


class WatchesTheParent(ReentrantLock):
    """Everybody watches the children: a herd in the queue."""

    def _contend(self, blocking: bool) -> Any:
        guid = yield from Guid()
        node, _ = yield from stand_in_line(self.path, guid)
        while True:
            queue = yield from Children(self.path, watch=True)
            if turn_of(queue, split(node.path)[1]).mine:
                return node
            yield from Wait()


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


def _at_once(node: Any, names: Any) -> Any:
    yield from ()
    return True


class _StandsBehindItself(ReadLock):
    """A downgrade granted at once, but with a number of its own (CURATOR-621)."""

    def _contend(self, blocking: bool) -> Any:
        data = yield from self._data()
        return (yield from self._line.enter(self._kind, _at_once, data=data))


class DowngradesToTheEnd(ReadWriteLock):
    def __init__(self, session: Any, path: str) -> None:
        super().__init__(session, path)
        self.read.__class__ = _StandsBehindItself


class RemembersALostHold(ReentrantLock):
    """Reenters without asking whether the session it holds in still lives (CURATOR-206)."""

    def current(self, actor: Any) -> Any:
        for holding in (yield from self._holdings()):
            if holding.actor == actor:
                return holding
        return None


class KeepsWhatItGot(MultiLock):
    """All or some."""

    def _acquire(self, blocking: bool = True, timeout: float | None = None) -> Any:
        holds = []
        for lock in self.locks:
            hold = yield from ReentrantLock.acquire.of(lock, blocking)
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
        good, bad = ReentrantLock(session, zk_path), LeavesItsNodeBehind(session, zk_path)
        owner.call(good.acquire)
        assert other.call(lambda: bad.acquire(timeout=0.3)) is None
        owner.call(good.release)
        assert not eventually(lambda: not contenders(zk_path), 0.5)


def test_a_second_contender_is_caught(front, zk_proxy, zk_path, witness, contenders):
    """A create repeated after a lost reply gives two nodes where one was expected."""
    witness.create(zk_path)
    with front.session(zk_proxy.hosts) as session:
        zk_proxy.lose_reply("create")
        front.actor().call(CreatesAgainAfterALostReply(session, zk_path).acquire)
        assert len(contenders(zk_path)) == 2


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


@caught_and_right(DowngradesToTheEnd, ReadWriteLock)
def test_a_writer_let_in_by_a_downgrade_is_caught(front, zk_hosts, zk_path, make, broken):
    """One writes, another waits to write; the first downgrades: is the other let in?"""
    with front.session(zk_hosts) as session:
        lock, rival = make(session, zk_path), make(session, zk_path)
        lock.write.acquire()
        job = front.actor().begin(lambda: rival.write.acquire(timeout=2.0))
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
        kill_session(zk_hosts, session)
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
