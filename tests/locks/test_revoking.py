"""Asking a holder to give way, on every front: it listens in the background and is called back."""

from __future__ import annotations

import threading

import pytest

from tests.locks.kinds import READ, REENTRANT, WRITE, over
from zkkit import ReadWriteLock, ReentrantLock, revoke
from zkkit.testing import eventually, expire_session


@pytest.mark.parametrize("early", [True, False], ids=["before", "while-holding"])
@over(REENTRANT, WRITE, READ)
def test_revoking(front, kind, open_session, zk_path, early):
    """The holder is asked, gives way, and the second one gets the lock (Curator's testRevoking)."""
    one, two = open_session(), open_session()
    lock, rival = kind.make(one, zk_path), kind.rival_of(two, zk_path)
    owner, other = front.actors(2)
    asked = threading.Event()
    if early:
        owner.call(lambda: lock.on_revoke(asked.set))
    hold = owner.call(lambda: lock.acquire())
    if not early:
        owner.call(lambda: lock.on_revoke(asked.set))
    job = other.begin(lambda: rival.acquire())
    # The other session's server may lag.
    (holder, *_) = eventually(lambda: front.call(lambda: kind.make(two, zk_path).participants()))
    assert holder == hold.path
    front.call(lambda: revoke(two, holder))
    assert asked.wait(10)
    assert hold.valid  # asked, and nothing taken
    owner.call(lambda: lock.release())
    assert job.result(10).valid


def test_only_requests_are_told(front, open_session, zk_path, witness, left_clean):
    """The node of a revocable lock is created empty; other data written into it are no request;
    each request is told; one to a node that is gone is none; the release ends it all."""
    session = open_session(node_data=b"me")
    lock = ReentrantLock(session, zk_path)
    owner = front.actor()
    asked: list[int] = []
    owner.call(lambda: lock.on_revoke(lambda: asked.append(1)))
    hold = owner.call(lambda: lock.acquire())
    assert witness.get(hold.path)[0] == b""
    witness.set(hold.path, b"hello")
    owner.call(lambda: revoke(session, hold.path))
    assert eventually(lambda: asked == [1], 10)
    owner.call(lambda: revoke(session, hold.path))
    assert eventually(lambda: asked == [1, 1], 10)
    owner.call(lambda: lock.release())
    left_clean(zk_path)  # the listener's watch as well
    owner.call(lambda: revoke(session, hold.path))
    again = owner.call(lambda: lock.acquire())
    assert witness.get(again.path)[0] == b"me"
    owner.call(lambda: revoke(session, again.path))
    owner.call(lambda: lock.release())
    assert asked == [1, 1]


def test_two_readers_of_one_lock_object(front, open_session, zk_path):
    """Each hold is listened for by itself: one reader's release does not deafen the other."""
    session = open_session()
    lock = ReadWriteLock(session, zk_path).read
    one, two = front.actors(2)
    asked: list[int] = []
    one.call(lambda: lock.on_revoke(lambda: asked.append(1)))
    one.call(lambda: lock.acquire())
    hold = two.call(lambda: lock.acquire())
    one.call(lambda: lock.release())
    two.call(lambda: revoke(session, hold.path))
    assert eventually(lambda: asked == [1], 10)
    two.call(lambda: lock.release())


def test_a_callback_that_raises(front, open_session, zk_path, left_clean):
    """What the callback raises harms neither the lock, nor its release, nor the next request."""
    session = open_session()
    lock = ReentrantLock(session, zk_path)
    owner = front.actor()
    asked: list[int] = []

    def fail() -> None:
        asked.append(1)
        raise KeyError("in the callback")

    owner.call(lambda: lock.on_revoke(fail))
    hold = owner.call(lambda: lock.acquire())
    owner.call(lambda: revoke(session, hold.path))
    assert eventually(lambda: asked == [1], 10)
    owner.call(lambda: revoke(session, hold.path))
    assert eventually(lambda: asked == [1, 1], 10)
    assert hold.valid
    owner.call(lambda: lock.release())
    left_clean(zk_path)


def test_asked_after_a_loss(front, open_session, zk_hosts, zk_path):
    """The hold was lost and the lock acquired again, without a release between them: the owner
    is still told of requests."""
    session = open_session()
    lock = ReentrantLock(session, zk_path)
    owner = front.actor()
    asked = threading.Event()
    owner.call(lambda: lock.on_revoke(asked.set))
    hold = owner.call(lambda: lock.acquire())
    expire_session(zk_hosts, session)
    assert eventually(lambda: not hold.valid, 10)
    again = owner.call(lambda: lock.acquire(timeout=10))
    owner.call(lambda: revoke(session, again.path))
    assert asked.wait(10)
    owner.call(lambda: lock.release())


def test_asked_across_a_broken_connection(front, open_session, zk_proxy, zk_hosts, zk_path, when):
    """The connection breaks while the holder listens: it listens again."""
    session, other = open_session(zk_proxy.hosts), open_session(zk_hosts)
    lock = ReentrantLock(session, zk_path)
    owner = front.actor()
    asked = threading.Event()
    listening = when(session, watch_set=1)
    owner.call(lambda: lock.on_revoke(asked.set))
    hold = owner.call(lambda: lock.acquire())
    listening.wait()
    again = when(session, watch_set=1)
    zk_proxy.drop()
    again.wait()
    front.call(lambda: revoke(other, hold.path))
    assert asked.wait(10)
    owner.call(lambda: lock.release())
