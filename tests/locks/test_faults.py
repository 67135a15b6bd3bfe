"""Real faults on real servers, on every front.

After each: no orphan, no hang, no watch left, `hold.valid` false in time and never true again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from tests.locks.kinds import (
    ALL,
    CHILDREN,
    HERD,
    LOCK,
    ONE_OF_EACH,
    REENTRANT,
    holds_of,
    kazoo_breaks,
    only_on,
    over,
    slowly,
)
from tests.support.rooms import Room, finish, visit
from zkkit import HerdLock, ReentrantLock
from zkkit.errors import NotOwner
from zkkit.retry import Forever, once
from zkkit.testing import eventually, expire_session

SHORT = 2.0
"""A session timeout that a test can outwait."""

TICK = 0.5
"""A server ends sessions at whole ticks: up to that much later."""

ONE_FRONT = (
    only_on("threads", REENTRANT),
    pytest.param(
        REENTRANT,
        id="on the other fronts",
        marks=[pytest.mark.front("asyncio", "gevent"), pytest.mark.slow],
    ),
)
SECONDS = over(*ONE_FRONT, slowly(HERD), only_on("threads", LOCK, pytest.mark.slow))
"""For faults that take seconds: one kind on one front every day. (That a deadline is kept when
nobody answers, test_contract.py shows on every front.) How a lock cleans up differs by kind, and
that takes the same steps on each front; to see leases clean up, one front will do."""


@contextmanager
def frozen(ensemble: Any) -> Iterator[None]:
    """All servers stopped in their tracks (SIGSTOP), and going on afterwards."""
    for node in ensemble.nodes:
        ensemble.pause(node)
    try:
        yield
    finally:
        for node in ensemble.nodes:
            ensemble.resume(node)


@pytest.mark.concurrent
@over(*ONE_FRONT)
def test_leader_killed_while_twenty_contend(
    front, kind, zk_ensemble, zk_hosts, zk_path, left_clean
):
    """An election in the middle of a crowd: everybody gets the lock, nobody together."""
    room = Room()
    sessions = [front.connect(zk_hosts, timeout=10.0) for _ in range(20)]
    leader = zk_ensemble.leader()
    try:
        jobs = []
        for number, session in enumerate(sessions):
            jobs += visit(front.actor(), kind.make(session, zk_path), room, number, 2)
        assert eventually(lambda: len(room.visits) >= 3)
        zk_ensemble.kill(leader)
        finish(jobs)
    finally:
        zk_ensemble.restart(leader)
        for session in sessions:
            front.close(session)
    assert room.overlaps == 0
    assert len(room.visits) == 40
    left_clean(zk_path)


@pytest.mark.defect("K-2")
@over(*ALL, kazoo_breaks("K-2 (#2, #565): nobody is told that the lock was lost", AttributeError))
def test_the_holders_session_expires(front, kind, zk_hosts, zk_path, when, left_clean):
    """The hold is invalid at once, its owner is told, the next one gets the lock."""
    lost = threading.Event()
    with front.session(zk_hosts) as holder, front.session(zk_hosts) as waiter:
        owner = front.actor()
        lock = kind.rival_of(holder, zk_path)
        hold = owner.call(lambda: lock.acquire())
        hold.on_lost(lost.set)
        queued = when(waiter, watch_set=1)
        second = kind.make(waiter, zk_path)
        next_one = front.actor()
        job = next_one.begin(lambda: second.acquire())
        queued.wait()
        expire_session(zk_hosts, holder)
        assert lost.wait(5)
        assert not hold.valid
        assert job.result(10).valid
        assert not owner.call(lambda: hold.check())
        owner.call(lambda: lock.release())  # nothing to do, and no error
        next_one.call(lambda: second.release())
        again = owner.call(lambda: lock.acquire(timeout=10))
        assert again.valid and again.token > hold.token
        assert not hold.valid
        owner.call(lambda: lock.release())
        left_clean(zk_path)


@pytest.mark.defect("C-2")
def test_reentry_after_expiry_is_no_reentry(front, zk_hosts, zk_path, waits):
    """A lost hold does not let its old owner in again while another has the lock (C-2)."""
    with front.session(zk_hosts) as holder, front.session(zk_hosts) as waiter:
        owner = front.actor()
        lock = ReentrantLock(holder, zk_path)
        hold = owner.call(lambda: lock.acquire())
        job = waits(waiter, ReentrantLock(waiter, zk_path).acquire)
        expire_session(zk_hosts, holder)
        assert job.result(10).valid
        assert eventually(lambda: not hold.valid, 5)
        assert owner.call(lambda: lock.acquire(timeout=0.2)) is None
        assert not hold.valid


@pytest.mark.defect("K-1")
@over(*ONE_OF_EACH, kazoo_breaks("K-1 (#282): acquire hangs, for is_acquired stays true"))
def test_acquire_after_a_loss(front, kind, zk_hosts, zk_path):
    """Whoever lost the lock with its session acquires it again by acquiring it again."""
    with front.session(zk_hosts) as session:
        lock = kind.make(session, zk_path)
        owner = front.actor()
        owner.call(lambda: lock.acquire())
        expire_session(zk_hosts, session)
        assert owner.call(lambda: lock.acquire(timeout=4)) is not None


def test_a_nested_hold_that_is_lost_is_released_as_often(front, zk_hosts, zk_path):
    """After a loss each release has nothing to do, and the one too many is still refused."""
    with front.session(zk_hosts) as session:
        owner = front.actor()
        lock = ReentrantLock(session, zk_path)
        hold = owner.call(lambda: lock.acquire())
        owner.call(lambda: lock.acquire())
        expire_session(zk_hosts, session)
        assert eventually(lambda: not hold.valid, 5)
        owner.call(lambda: lock.release())
        owner.call(lambda: lock.release())
        with pytest.raises(NotOwner):
            owner.call(lambda: lock.release())


@over(*ALL)
def test_a_waiters_session_expires(front, kind, zk_hosts, zk_path, when, waits):
    """A waiter whose session is lost begins again in the new one, and gets the lock."""
    with front.session(zk_hosts) as holder, front.session(zk_hosts) as waiter:
        owner = front.actor()
        lock = kind.rival_of(holder, zk_path)
        owner.call(lambda: lock.acquire())
        job = waits(waiter, kind.make(waiter, zk_path).acquire)
        old = waiter.session_id
        again = when(waiter, watch_set=1)
        expire_session(zk_hosts, waiter)
        again.wait()
        owner.call(lambda: lock.release())
        hold = job.result(10)
        assert hold.valid
        assert {each.session_id for each in holds_of(hold)} == {waiter.session_id} != {old}


@over(*ONE_OF_EACH)
def test_a_waiter_loses_one_session_after_another(front, kind, zk_hosts, zk_path, waits):
    """However many sessions it loses in the course of time, also while it pauses before it begins
    again: the retry policy counts in a row those that it did not even get."""
    with front.session(zk_hosts) as holder, front.session(zk_hosts, retry=once(0.1)) as waiter:
        owner = front.actor()
        lock = kind.make(holder, zk_path)
        owner.call(lambda: lock.acquire())
        job = waits(waiter, kind.make(waiter, zk_path).acquire)
        for _ in range(3):
            known = waiter.kazoo.client_id
            expire_session(zk_hosts, waiter)
            assert eventually(lambda known=known: waiter.kazoo.client_id not in (None, known))
        owner.call(lambda: lock.release())
        assert job.result(10).valid


@pytest.mark.parametrize("loss", ["lose_reply", "lose_request"])
@pytest.mark.parametrize("op", ["create", "children", "delete"])
@over(REENTRANT, *(only_on("threads", kind) for kind in ALL if kind is not REENTRANT))
def test_lost_messages(front, kind, op, loss, zk_proxy, zk_path, contenders, left_clean):
    """Two requests or replies of a kind are lost: still one contender, and none afterwards."""
    with front.session(zk_proxy.hosts) as session:
        lock = kind.make(session, zk_path)
        actor = front.actor()
        actor.call(lambda: lock.acquire())
        actor.call(lambda: lock.release())
        lost = getattr(zk_proxy, loss)(op)
        getattr(zk_proxy, loss)(op)
        hold = actor.call(lambda: lock.acquire())
        assert hold.valid
        assert actor.call(lambda: hold.check())
        paths = {each.path for each in holds_of(hold)}
        assert eventually(lambda: {f"{zk_path}/{n}" for n in contenders(zk_path)} == paths, 10)
        actor.call(lambda: lock.release())
        assert lost.wait(0) or (kind is HERD and op == "children")
        left_clean(zk_path)


@pytest.mark.defect("K-3")
@over(*ONE_OF_EACH, kazoo_breaks("K-3 (#732, #429, #288): its clean-up swallows errors"))
def test_a_lost_clean_up(front, kind, zk_hosts, zk_proxy, zk_path, contenders):
    """The connection breaks while a waiter withdraws: its contender goes all the same."""
    with front.session(zk_hosts) as holder, front.session(zk_proxy.hosts) as session:
        held, lock = kind.make(holder, zk_path), kind.make(session, zk_path)
        owner, other = front.actors(2)
        owner.call(lambda: held.acquire())
        # The herd lock has nothing in the line, and asks before it deletes.
        lost = zk_proxy.lose_request("sync" if kind is HERD else "delete")
        assert other.call(lambda: lock.acquire(timeout=0.1)) is None
        assert lost.wait(5)
        assert eventually(lambda: len(contenders(zk_path)) == 1, 4)


@pytest.mark.defect("K-7")
@over(*ONE_OF_EACH, only_on("threads", CHILDREN))
def test_a_waiter_outlives_a_drop(
    front, kind, zk_proxy, zk_hosts, zk_path, when, waits, left_clean
):
    """Connections break while one waits: it goes on waiting, and gets the lock."""
    with front.session(zk_hosts) as holder, front.session(zk_proxy.hosts) as waiter:
        owner = front.actor()
        lock = kind.make(holder, zk_path)
        owner.call(lambda: lock.acquire())
        job = waits(waiter, kind.make(waiter, zk_path).acquire)
        again = when(waiter, watch_set=1)
        zk_proxy.drop()
        again.wait()
        owner.call(lambda: lock.release())
        assert job.result(10).valid


@pytest.mark.defect("K-13")
@SECONDS
def test_servers_frozen_longer_than_the_session(
    front, kind, zk_ensemble, zk_hosts, zk_path, when, left_clean, clock
):
    """Frozen servers: holds end by our own clock, deadlines are kept, nobody is left behind."""
    lost = threading.Event()
    with (
        front.session(zk_hosts, timeout=SHORT) as holder,
        # An election may take several times as long as so short a session lives.
        front.session(zk_hosts, timeout=SHORT, retry=Forever(0.1)) as waiter,
    ):
        owner, patient, hasty = front.actors(3)
        lock = kind.make(holder, zk_path)
        hold = owner.call(lambda: lock.acquire())
        hold.on_lost(lost.set)
        second = kind.make(waiter, zk_path)
        queued = when(waiter, watch_set=2)
        job = patient.begin(lambda: second.acquire())
        hurried = hasty.begin(lambda: second.acquire(timeout=1.5))
        queued.wait()
        with frozen(zk_ensemble):
            froze = clock()
            assert hurried.result(5) is None
            assert clock() - froze < 1.5 + 1
            assert eventually(lambda: not hold.valid, SHORT + 1)
            assert clock() - froze < SHORT + 1
            assert lost.wait(2)
            began = clock()
            assert hasty.call(lambda: second.acquire(timeout=0.5)) is None
            assert clock() - began < 0.5 + 1
            # The servers' clock runs on, too, and ends the session at a tick.
            assert eventually(lambda: clock() - froze > SHORT + TICK)
        assert not hold.valid
        got = job.result(30)
        assert got.valid
        assert not hold.valid
        patient.call(lambda: second.release())
        left_clean(zk_path)
        assert not hold.valid


@SECONDS
def test_lost_by_our_clock_but_kept_by_the_server(
    front, kind, zk_proxy, zk_path, contenders, left_clean, clock
):
    """The server would keep the session: we close it, its node goes, the hold stays invalid."""
    with front.session(zk_proxy.hosts, timeout=SHORT) as session:
        owner = front.actor()
        lock = kind.make(session, zk_path)
        hold = owner.call(lambda: lock.acquire())
        assert eventually(lambda: len(contenders(zk_path)) == 1, 5)
        old = session.session_id
        zk_proxy.freeze(replies_only=True)
        began = clock()
        assert eventually(lambda: not hold.valid, SHORT + 1)
        # The server hears us all the time: it keeps the node, whatever our clock says. Else it
        # would be gone by then.
        while clock() - began < SHORT + 2 * TICK:
            assert len(contenders(zk_path)) == 1
            time.sleep(0.1)
        zk_proxy.thaw()
        assert eventually(lambda: session.session_id not in (0, old), 10)
        left_clean(zk_path, within=1.5)
        assert not hold.valid
        again = owner.call(lambda: lock.acquire(timeout=5))
        assert again.valid and not hold.valid
        owner.call(lambda: lock.release())


@pytest.mark.defect("K-4")
@over(*ALL, kazoo_breaks("K-4: it cleans up after its own errors only"))
def test_a_waiter_is_interrupted(front, kind, zk_hosts, zk_path, when, left_clean):
    """An interrupt ends the wait with its own exception; the contender is gone."""
    with front.session(zk_hosts) as session:
        owner = front.actor()
        rival, lock = kind.rival_of(session, zk_path), kind.make(session, zk_path)
        owner.call(lambda: rival.acquire())
        queued = when(session, watch_set=1)
        caught = front.interrupted(lambda: lock.acquire(), queued.wait)
        assert caught is not None and not isinstance(caught, Exception)
        owner.call(lambda: rival.release())
        left_clean(zk_path, within=5.0)


@over(*ONE_OF_EACH)
def test_a_waiter_is_interrupted_twice_on_frozen_servers(
    front, kind, zk_ensemble, zk_hosts, zk_path, when, left_clean, clock
):
    """A second interrupt, in the midst of a clean-up that cannot proceed, ends only the waiting."""
    with front.session(zk_hosts) as session:
        owner = front.actor()
        lock = kind.make(session, zk_path)
        owner.call(lambda: lock.acquire())
        queued = when(session, watch_set=1)
        freezing = frozen(zk_ensemble)

        def first() -> None:
            queued.wait()
            freezing.__enter__()

        began = clock()
        try:
            caught = front.interrupted(lambda: lock.acquire(), first, lambda: time.sleep(0.01))
            assert caught is not None and not isinstance(caught, Exception)
            assert clock() - began < 10
        finally:
            freezing.__exit__(None, None, None)
        owner.call(lambda: lock.release())
        left_clean(zk_path)


@pytest.mark.defect("C-4")
@pytest.mark.parametrize("op", ["create", "get", "children"])
def test_interrupted_with_the_request_under_way(front, zk_proxy, zk_path, op, left_clean, witness):
    """An interrupt before any reply: the request still arrives, and is undone."""

    def under_way() -> None:
        with suppress(AssertionError):  # a get would come after a reply: there is none
            eventually(lambda: zk_proxy.requests[op] > sent, 0.3)

    witness.create(zk_path)
    with front.session(zk_proxy.hosts) as session:
        lock = ReentrantLock(session, zk_path)
        sent = zk_proxy.requests[op]
        zk_proxy.freeze(replies_only=True)
        caught = front.interrupted(lambda: lock.acquire(), under_way)
        zk_proxy.thaw()
        assert caught is not None and not isinstance(caught, Exception)
        left_clean(zk_path)


@pytest.mark.concurrent
@over(REENTRANT, slowly(HERD), only_on("threads", LOCK, pytest.mark.slow))
def test_twenty_leave_together(front, kind, zk_hosts, zk_path, when, left_clean):
    """Twenty waiters are killed (or time out) at once: none leaves a contender."""
    with front.session(zk_hosts) as session:
        owner = front.actor()
        lock = kind.make(session, zk_path)
        owner.call(lambda: lock.acquire())
        queued = when(session, watch_set=20)
        crowd = front.actors(20)
        timeout = 3.0 if front.name == "threads" else None
        jobs = [actor.begin(lambda: lock.acquire(timeout=timeout)) for actor in crowd]
        queued.wait()
        if front.name == "threads":  # threads cannot be killed: their deadline comes
            assert finish(jobs) == [None] * 20
        else:
            for actor in crowd:
                actor.interrupt()
            assert all(not isinstance(job.exception(10), Exception) for job in jobs)
        owner.call(lambda: lock.release())
        left_clean(zk_path)


def test_two_wait_for_one_node_and_one_leaves(front, zk_hosts, zk_path, when, left_clean):
    """Two actors of one session watch the same node; the watch outlives the first to leave."""
    with front.session(zk_hosts) as holder, front.session(zk_hosts) as session:
        owner, stays, leaves = front.actors(3)
        lock = HerdLock(holder, zk_path)
        owner.call(lambda: lock.acquire())
        queued = when(session, watch_set=2)
        job = stays.begin(lambda: HerdLock(session, zk_path).acquire())
        gone = leaves.begin(lambda: HerdLock(session, zk_path).acquire(timeout=1.0))
        queued.wait()
        assert gone.result(5) is None
        owner.call(lambda: lock.release())
        assert job.result(10).valid


@pytest.mark.concurrent
def test_a_grant_at_the_moment_of_leaving(front, zk_hosts, zk_path, when, left_clean):
    """Grant and interrupt race: either the caller has the hold, or nobody has."""
    with front.session(zk_hosts) as session:
        lock = ReentrantLock(session, zk_path)
        owner = front.actor()
        for _ in range(10):
            owner.call(lambda: lock.acquire())
            queued = when(session, watch_set=1)

            def race(queued: Any = queued) -> None:
                queued.wait()
                owner.begin(lambda: lock.release())

            def take_and_release() -> Any:
                return take_async(lock) if front.name == "asyncio" else take(lock)

            front.interrupted(take_and_release, race)
            left_clean(zk_path)


def take(lock: Any) -> None:
    with lock:
        pass


async def take_async(lock: Any) -> None:
    async with lock:
        pass
