"""A hold is lost while its session lives on: nothing proved in time that it did."""

from __future__ import annotations

import threading

import pytest

import zkkit
from tests.locks.kinds import ALL, over
from tests.support.sessions import lapse
from zkkit.session.clock import now


@pytest.mark.front("threads")
@over(*ALL)
def test_the_holder_is_told_and_the_session_goes_on(
    front, kind, zk_hosts, zk_path, contenders, left_clean
):
    """The hold is lost for good. Its node stays until the holder releases, and keeps others out."""
    lost, later = threading.Event(), threading.Event()
    with front.session(zk_hosts) as session:
        lock = kind.make(session, zk_path)
        owner = front.actor()
        hold = owner.call(lambda: lock.acquire())
        hold.on_lost(lost.set)
        known = session.session_id
        lapse(session)
        assert not hold.valid
        assert lost.wait(5)
        hold.on_lost(later.set)
        assert later.wait(5)
        assert session.session_id == known
        assert contenders(zk_path)
        owner.call(lambda: lock.release())
        left_clean(zk_path)
        again = owner.call(lambda: lock.acquire(timeout=5))
        assert again.valid and not hold.valid
        owner.call(lambda: lock.release())
        left_clean(zk_path)


@pytest.mark.front("threads")
@over(*ALL)
def test_the_owner_acquires_again_without_waiting_for_itself(
    front, kind, zk_hosts, zk_path, left_clean
):
    """A reentry into a lost hold is no reentry: a new hold, and as many releases as acquires."""
    with front.session(zk_hosts) as session:
        lock = kind.make(session, zk_path)
        owner = front.actor()
        hold = owner.call(lambda: lock.acquire())
        lapse(session)
        again = owner.call(lambda: lock.acquire(timeout=5))
        assert again is not None
        assert again.valid and not hold.valid
        owner.call(lambda: lock.release())
        owner.call(lambda: lock.release())
        left_clean(zk_path)


@pytest.mark.front("threads")
@pytest.mark.parametrize("first", ["read", "write"])
def test_the_other_half_of_a_lost_read_write_lock(front, first, zk_hosts, zk_path, left_clean):
    """A lost write hold gives no downgrade, a lost read hold refuses no write."""
    with front.session(zk_hosts) as session:
        both = zkkit.ReadWriteLock(session, zk_path)
        one, other = (both.read, both.write) if first == "read" else (both.write, both.read)
        owner = front.actor()
        hold = owner.call(lambda: one.acquire())
        lapse(session)
        again = owner.call(lambda: other.acquire(timeout=5))
        assert again.valid and not hold.valid
        assert again.token > hold.token
        owner.call(lambda: other.release())
        owner.call(lambda: one.release())
        left_clean(zk_path)


@pytest.mark.front("threads")
def test_a_grant_after_a_long_wait_is_proved_before_it_is_told(front, zk_hosts, zk_path, waits):
    """The session of a waiter has written nothing for longer than its timeout: then the grant
    waits for a write."""
    with front.session(zk_hosts) as holder, front.session(zk_hosts, timeout=1.0) as waiter:
        owner = front.actor()
        lock = zkkit.ReentrantLock(holder, zk_path)
        owner.call(lambda: lock.acquire())
        job = waits(waiter, zkkit.ReentrantLock(waiter, zk_path).acquire)
        proof = waiter._runner._pulse.proof
        threading.Event().wait(max(0.0, proof.deadline - now()) + 0.1)
        assert proof.deadline < now()
        owner.call(lambda: lock.release())
        hold = job.result(10)
        assert hold.valid
        assert proof.deadline > now()
