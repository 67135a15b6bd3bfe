"""What a lock can tell and be told: participants, rules, statistics, its `repr`.

Threads only: none of it waits.
"""

from __future__ import annotations

import time

import pytest

from tests.locks.kinds import ALL, HERD, LOCK, MULTI, SEMAPHORE, holds_of, over
from tests.support.rooms import finish
from zkkit import ChildrenWatchLock, Lock, ReentrantLock, Semaphore
from zkkit.recipes.locks import Turn, first_n
from zkkit.record import Recorder
from zkkit.record.counts import wakeups
from zkkit.testing import eventually, expire_session

pytestmark = pytest.mark.front("threads")


# --- who stands in line -------------------------------------------------------------------------


@pytest.mark.parametrize("make", [ReentrantLock, ChildrenWatchLock], ids=lambda make: make.__name__)
def test_participants_in_order(front, open_session, zk_path, when, witness, make):
    """All contenders, the holder's first, from any session; other children do not count."""
    session, other = open_session(), open_session()
    locks = [make(session, zk_path) for _ in range(3)]
    assert locks[0].participants() == ()  # there is no such path yet
    actors = front.actors(3)
    jobs = []
    for lock, actor in zip(locks, actors, strict=True):
        created = when(session, node_created=1 if jobs else 2)  # the first makes the path as well
        jobs.append(actor.begin(lambda lock=lock: lock.acquire()))
        created.wait()
    witness.create(f"{zk_path}/config")
    # The other session's server may lag.
    asked = eventually(lambda: len(all_ := make(other, zk_path).participants()) == 3 and all_)
    for position, (lock, actor) in enumerate(zip(locks, actors, strict=True)):
        assert jobs[position].result(10).path == asked[position]
        actor.call(lambda lock=lock: lock.release())


@pytest.mark.parametrize("digits", [11, 5000])
@over(*[kind for kind in ALL if kind not in (MULTI, HERD)])
def test_a_child_with_a_number_that_no_server_gives(kind, open_session, zk_path, witness, digits):
    """It is no contender: whoever acquires does not see it."""
    lock = kind.make(open_session(), zk_path)
    held = lock.acquire()
    name = held.path.removesuffix(held.path[-10:])
    held.release()
    witness.create(name + "9" * digits, makepath=True)
    if kind in (LOCK, SEMAPHORE):
        witness.create(f"{zk_path}/locks/lock-" + "9" * digits, makepath=True)
    assert lock.acquire(timeout=20).path[-10:].isdecimal()
    lock.release()


def test_participants_of_a_lock_on_leases(open_session, zk_path):
    """Of `Lock` the participant is the lease: its node is the one that holds."""
    session = open_session()
    hold = Lock(session, zk_path).acquire()
    assert Lock(open_session(), zk_path).participants() == (hold.path,)


def test_node_data(front, open_session, zk_path, witness):
    """A lock writes its own data into its node, or else the session's."""
    session = open_session(node_data=b"session")
    for make in (ReentrantLock, Lock, lambda *a, **k: Semaphore(*a, 1, **k)):
        for given, expected in (({}, b"session"), ({"node_data": b"mine"}, b"mine")):
            hold = make(session, zk_path, **given).acquire()
            assert witness.get(hold.path)[0] == expected
            hold.release()


# --- rules --------------------------------------------------------------------------------------


def test_the_flaw_of_first_k(front, open_session, zk_path, when):
    """first_n(2): a waiter watches the first of two holders. The second leaves, a place is free,
    and the waiter sleeps beside it until the first leaves as well."""
    session, waiting = open_session(), open_session()
    holders = front.actors(2)
    locks = [ReentrantLock(session, zk_path, rule=first_n(2)) for _ in holders]
    for lock, holder in zip(locks, holders, strict=True):
        holder.call(lambda lock=lock: lock.acquire())
    queued = when(waiting, watch_set=1)
    recorder = Recorder()
    waiting.hooks.add(recorder)
    job = front.actor().begin(lambda: ReentrantLock(waiting, zk_path, rule=first_n(2)).acquire())
    queued.wait()
    holders[1].call(lambda: locks[1].release())
    time.sleep(0.4)  # what does not happen cannot be awaited
    assert not job.done() and not wakeups(recorder)
    # Nobody new is let in too early, either: the place is free, and is not taken out of turn.
    assert len(locks[0].participants()) == 2
    holders[0].call(lambda: locks[0].release())
    assert job.result(10).valid


def test_a_semaphore_has_no_such_flaw(front, open_session, zk_path, waits):
    """The same with a Semaphore: whichever lease is returned, the waiter is let in."""
    session, waiting = open_session(), open_session()
    leases = [Semaphore(session, zk_path, 2).acquire() for _ in range(2)]
    job = waits(waiting, Semaphore(waiting, zk_path, 2).acquire)
    leases[1].release()
    assert job.result(10).valid
    assert leases[0].valid


def test_a_rule_of_ones_own(front, open_session, zk_path, when):
    """Curator's driver: any function of those ahead. Here odd numbers keep nobody out."""

    def even_ones_exclude(ahead):
        blocking = [place for place in ahead if place.number % 2 == 0]
        return Turn(not blocking, blocking[-1].name if blocking else "")

    session = open_session()
    locks = [ReentrantLock(session, zk_path, rule=even_ones_exclude) for _ in range(3)]
    holder, *waiters = front.actors(3)
    holder.call(lambda: locks[0].acquire())  # number 0
    queued = when(session, watch_set=2)
    jobs = [
        waiter.begin(lambda lock=lock: lock.acquire())
        for waiter, lock in zip(waiters, locks[1:], strict=True)
    ]
    queued.wait()
    holder.call(lambda: locks[0].release())
    assert all(hold.valid for hold in finish(jobs))  # 2 goes with 1


# --- statistics and repr ------------------------------------------------------------------------


def test_statistics(front, open_session, zk_hosts, zk_path):
    """Counts of grants, reentries, releases, attempts given up and holds lost; seconds waited and
    held."""
    session = open_session()
    lock = ReentrantLock(session, zk_path)
    assert lock.statistics() == type(lock.statistics())()
    owner, other = front.actors(2)
    owner.call(lambda: lock.acquire())
    owner.call(lambda: lock.acquire())
    assert other.call(lambda: lock.acquire(False)) is None
    job = other.begin(lambda: lock.acquire(timeout=20))
    time.sleep(0.2)
    owner.call(lambda: lock.release())
    owner.call(lambda: lock.release())
    hold = job.result(10)
    said = lock.statistics()
    assert (said.acquired, said.reentered, said.released, said.gave_up) == (2, 1, 1, 1)
    assert 0.1 < said.longest_wait <= said.waited < 15
    assert 0.1 < said.held < 15
    expire_session(zk_hosts, session)
    assert eventually(lambda: lock.statistics().lost == 1, 10)
    assert not hold.valid
    assert lock.statistics().held > said.held
    assert ReentrantLock(session, zk_path).statistics().acquired == 0  # each object its own


@over(*[kind for kind in ALL if kind is not MULTI])
def test_repr_of_a_lock(front, kind, open_session, zk_hosts, zk_path):
    """It names its class, path and holder here; it says nothing it does not know, and no longer
    claims to be held when the hold is released or lost."""
    session, other = open_session(), open_session()
    lock, elsewhere = kind.make(session, zk_path), kind.make(other, zk_path)
    owner = front.actor()
    assert type(lock).__name__ in repr(lock) and zk_path in repr(lock)
    assert "not held here" in repr(lock)
    hold = owner.call(lambda: lock.acquire())
    assert "held by Thread-" in repr(lock) and "not held" not in repr(lock)
    assert "not held here" in repr(elsewhere)  # and of there it does not speak
    owner.call(lambda: lock.release())
    assert "not held here" in repr(lock)
    hold = owner.call(lambda: lock.acquire())
    expire_session(zk_hosts, session)
    assert eventually(lambda: not hold.valid, 10)
    assert "not held here" in repr(lock)
    assert "no longer valid" in repr(hold)


def test_repr_of_several(front, open_session, zk_path):
    """A MultiLock names its locks, its hold what each of them says."""
    lock = MULTI.make(open_session(), zk_path)
    hold = lock.acquire()
    assert f"{zk_path}/a" in repr(lock) and f"{zk_path}/b" in repr(lock)
    assert all(each.path in repr(hold) for each in holds_of(hold))
    lock.release()


def test_a_waiter_pushed_out_of_the_line(front, open_session, zk_path, witness, when):
    """Somebody removes the place of the one who waits for a lease, so a second one comes to wait
    beside it: they are let in one after the other, and never wait for each other."""
    sessions = [open_session() for _ in range(3)]
    first, second, third = (Semaphore(session, zk_path, 1) for session in sessions)
    owner, one, two = front.actors(3)
    owner.call(lambda: first.acquire())
    waiting = when(sessions[1], watch_set=1)
    early = one.begin(lambda: second.acquire())
    waiting.wait()
    waiting = when(sessions[2], watch_set=1)
    late = two.begin(lambda: third.acquire())
    waiting.wait()
    again = when(sessions[2], watch_set=1)
    line = zk_path + "/locks/"
    witness.delete(line + min(witness.get_children(line[:-1]), key=lambda name: name[-10:]))
    again.wait()  # the second one watches the leases now
    owner.call(lambda: first.release())
    assert early.result(10).valid
    assert not late.done()
    one.call(lambda: second.release())
    assert late.result(10).valid
    two.call(lambda: third.release())
