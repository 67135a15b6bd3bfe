"""Curator's tests of its multi-lock: TestInterProcessMultiMutex, and what it does not test.

What a MultiLock shares with every lock is in test_contract, over every kind. Threads only.
"""

from __future__ import annotations

import time

import pytest

from tests.support.rooms import Room, finish, visit
from zkkit import HerdLock, Lock, MultiLock, ReentrantLock
from zkkit.errors import SessionLost, Unsupported, ZkkitError
from zkkit.steps import Set
from zkkit.testing import eventually

pytestmark = pytest.mark.front("threads")


class RefusesToLock(ReentrantLock):
    """Fails to acquire, always."""

    def _contend(self, blocking):
        yield from ()
        raise ZkkitError("this one fails to lock", path=self.path)


class RefusesToUnlock(ReentrantLock):
    """Fails to release, always."""

    def _let_go(self, hold):
        yield from ()
        raise ZkkitError("this one fails to unlock", path=self.path)


class CountsAttempts(ReentrantLock):
    """Says how often it was asked."""

    attempts = 0

    def _contend(self, blocking):
        self.attempts += 1
        return (yield from super()._contend(blocking))


def test_some_releases_fail(front, open_session, zk_path, contenders):
    """testSomeReleasesFail: the others are released, and the failure is told."""
    session = open_session()
    members = [
        ReentrantLock(session, f"{zk_path}/a"),
        RefusesToUnlock(session, f"{zk_path}/b"),
        ReentrantLock(session, f"{zk_path}/c"),
    ]
    lock = MultiLock(session, members)
    actor = front.actor()
    hold = actor.call(lambda: lock.acquire())
    with pytest.raises(ZkkitError, match="fails to unlock"):
        actor.call(lambda: lock.release())
    assert contenders(f"{zk_path}/a") == contenders(f"{zk_path}/c") == []
    assert not hold.valid


@pytest.mark.defect("C-18")
def test_some_locks_fail_to_lock(front, open_session, zk_path, contenders):
    """testSomeLocksFailToLock: what was acquired is released, the failure is told; and, other than
    in Curator, the locks behind it are not even asked."""
    session = open_session()
    behind = CountsAttempts(session, f"{zk_path}/c")
    members = [ReentrantLock(session, f"{zk_path}/a"), RefusesToLock(session, f"{zk_path}/b")]
    lock = MultiLock(session, [*members, behind])
    with pytest.raises(ZkkitError, match="fails to lock"):
        front.call(lambda: lock.acquire())
    assert contenders(f"{zk_path}/a") == contenders(f"{zk_path}/c") == []
    assert behind.attempts == 0


@pytest.mark.defect("C-18")
def test_one_is_taken(front, open_session, zk_path, contenders, clock):
    """One deadline for all: the time the first lock took is not there for the second."""
    session, other = open_session(), open_session()
    first, second = ReentrantLock(other, f"{zk_path}/a"), ReentrantLock(other, f"{zk_path}/b")
    owner = front.actor()
    owner.call(lambda: first.acquire())
    owner.call(lambda: second.acquire())
    lock = MultiLock(session, [f"{zk_path}/a", f"{zk_path}/b"])
    began = clock()
    job = front.actor().begin(lambda: lock.acquire(timeout=1.0))
    time.sleep(0.8)
    owner.call(lambda: first.release())
    assert job.result(10) is None
    assert clock() - began < 1.0 + 0.7
    assert eventually(lambda: not contenders(f"{zk_path}/a"), 5)
    assert len(contenders(f"{zk_path}/b")) == 1


@pytest.mark.concurrent
def test_two_orders_are_one(front, open_session, zk_path, left_clean):
    """Two that name the paths in opposite orders cannot hold one each and wait for the other."""
    room = Room()
    paths = [f"{zk_path}/a", f"{zk_path}/b"]
    jobs = []
    for number, order in enumerate((paths, paths[::-1]) * 2):
        jobs += visit(front.actor(), MultiLock(open_session(), order), room, number, 5)
    finish(jobs)
    assert room.overlaps == 0 and len(room.visits) == 20
    left_clean(zk_path)


def test_locks_of_several_kinds(front, open_session, zk_path, witness, left_clean):
    """Any locks of the session may be members; the hold guards a transaction only if all do."""
    session = open_session()
    witness.create(zk_path + "-data")
    members = [Lock(session, f"{zk_path}/a"), ReentrantLock(session, f"{zk_path}/b")]
    lock = MultiLock(session, members)
    actor = front.actor()
    hold = actor.call(lambda: lock.acquire())
    assert hold.token == tuple(each.token for each in hold.holds)
    actor.call(lambda: hold.transaction(Set(zk_path + "-data", b"1")))
    actor.call(lambda: lock.release())
    left_clean(zk_path)
    lock = MultiLock(session, [*members, HerdLock(session, f"{zk_path}/c")])
    hold = actor.call(lambda: lock.acquire())
    with pytest.raises(Unsupported, match="fixed name"):
        actor.call(lambda: hold.transaction(Set(zk_path + "-data", b"2")))
    actor.call(lambda: lock.release())


def test_senseless_members(open_session, zk_path):
    """No lock, one lock twice, a lock of another session: refused at once."""
    session, other = open_session(), open_session()
    with pytest.raises(ValueError, match="at least one"):
        MultiLock(session, [])
    with pytest.raises(ValueError, match="twice"):
        MultiLock(session, [zk_path, ReentrantLock(session, zk_path)])
    with pytest.raises(ValueError, match="its session"):
        MultiLock(session, [ReentrantLock(other, zk_path)])


def test_closing_while_one_of_two_is_held(front, open_session, zk_hosts, zk_path, when, left_clean):
    """The session ends between the first lock and the second: neither is left."""
    holder, waiting = open_session(), front.connect(zk_hosts, timeout=6.0)
    owner = front.actor()
    second = ReentrantLock(holder, f"{zk_path}/b")
    owner.call(lambda: second.acquire())
    queued = when(waiting, watch_set=1)
    job = front.actor().begin(
        lambda: MultiLock(waiting, [f"{zk_path}/a", f"{zk_path}/b"]).acquire()
    )
    queued.wait()
    front.close(waiting)
    assert isinstance(job.exception(10), SessionLost)
    owner.call(lambda: second.release())
    left_clean(zk_path)
