"""What every lock promises, on every front; and kazoo's own Lock, where it can be asked.

Every quick test runs over every kind of lock. `kazoo_breaks(...)` is an expected failure of kazoo's
Lock, with the issue it is known under.
"""

from __future__ import annotations

import threading
import time

import pytest

from tests.locks.kinds import (
    ALL,
    HERD,
    MULTI,
    ONE_OF_EACH,
    PERSISTENT,
    READ,
    REENTRANT,
    WRITE,
    holds_of,
    kazoo_breaks,
    kazoo_keeps,
    over,
)
from tests.support.ensembles import watches
from tests.support.rooms import Room, finish, visit
from zkkit import ReentrantLock
from zkkit.errors import DeadlineExceeded, NotHeld, NotOwner, SessionClosed, Unsupported
from zkkit.record import Recorder
from zkkit.record.counts import fires, wakeups
from zkkit.steps import Set
from zkkit.testing import eventually

EXCLUSIVE = [kind for kind in ALL if kind.exclusive]
FAIR = [kind for kind in EXCLUSIVE if kind.fair]


# --- one at a time, in order --------------------------------------------------------------------


@pytest.mark.concurrent
@over(*EXCLUSIVE, kazoo_keeps)
def test_only_one_is_inside(front, kind, zk_hosts, zk_path, left_clean):
    """Actors of several sessions never hold the lock at the same time, and all get it."""
    room = Room()
    with (
        front.session(zk_hosts) as one,
        front.session(zk_hosts) as two,
        front.session(zk_hosts) as three,
    ):
        jobs = []
        for number, session in enumerate([one, two, three] * 2):
            lock = kind.make(session, zk_path)
            jobs += visit(front.actor(), lock, room, number, 3)
        finish(jobs)
    assert room.overlaps == 0
    assert len(room.visits) == 18
    left_clean(zk_path)


@pytest.mark.defect("C-7")
@pytest.mark.concurrent
@over(*EXCLUSIVE)
def test_many_actors_share_one_object(front, kind, zk_hosts, zk_path, left_clean):
    """One lock object serves many actors of one session."""
    room = Room()
    with front.session(zk_hosts) as session:
        lock = kind.make(session, zk_path)
        jobs = []
        for number, actor in enumerate(front.actors(6)):
            jobs += visit(actor, lock, room, number, 3)
        finish(jobs)
        assert room.overlaps == 0
        assert len(room.visits) == 18
        left_clean(zk_path)


@pytest.mark.concurrent
@over(*[kind for kind in EXCLUSIVE if kind.wakes_one and kind is not MULTI])
def test_one_wakeup_per_release_on_one_object(front, kind, zk_hosts, zk_path):
    """N actors on one lock object are no herd: each is woken by what lets it in, by nothing else.

    Of a line the release before it, so N wakeups; of leases twice, once in the line and once by
    the lease. (A MultiLock has one line for each of its locks: each is one of these.)
    """
    count = 8
    with front.session(zk_hosts) as session:
        lock = kind.make(session, zk_path)
        gate = front.actor()
        gate.call(lambda: lock.acquire())
        jobs = []
        for actor in front.actors(count):
            jobs.append(actor.begin(lambda: lock.acquire()))
            jobs.append(actor.begin(lambda: lock.release()))
        # Counted from when all of them wait: optimistic ones may disturb each other on arriving.
        eventually(lambda: sum("a watch on" in each for each in session.standing()) == count)
        recorder = Recorder()
        session.hooks.add(recorder)
        gate.call(lambda: lock.release())
        finish(jobs)
        most = count if kind.owner_only or kind.name == "Lock-kazoo" else 2 * count
        assert len(fires(recorder)) <= most
        assert count <= len(wakeups(recorder)) <= most


@pytest.mark.concurrent
@over(*FAIR, kazoo_keeps)
def test_grants_in_order_of_arrival(front, kind, zk_hosts, zk_path, when):
    """First come, first served."""
    room = Room()
    with front.session(zk_hosts) as session, front.session(zk_hosts) as other:
        gate = front.actor()
        lock = kind.make(session, zk_path)
        gate.call(lambda: lock.acquire())
        jobs = []
        for number, actor in enumerate(front.actors(5)):
            owner = session if number % 2 else other
            # Both: a waiter in a herd sets watches again whenever somebody arrives.
            queued = when(owner, node_created=1, watch_set=1)
            jobs += visit(actor, kind.make(owner, zk_path), room, number, 1)
            queued.wait()
        gate.call(lambda: lock.release())
        finish(jobs)
    assert room.visits == list(range(5))


@pytest.mark.front("threads")  # a matter of names: the same on every front
@over(*FAIR)
def test_a_negative_number_is_ahead(front, kind, zk_hosts, zk_path, witness):
    """The numbers are signed, and -1 comes before 0 (test_rules.py has the wrap itself)."""
    with front.session(zk_hosts) as session:
        lock = kind.make(session, zk_path)
        actor = front.actor()
        hold = actor.call(lambda: lock.acquire())
        actor.call(lambda: hold.release())
        early = holds_of(hold)[0].path[:-10] + "-000000001"
        witness.create(early, ephemeral=True, makepath=True)
        assert actor.call(lambda: lock.acquire(False)) is None
        witness.delete(early)
        assert actor.call(lambda: lock.acquire(False)).valid


# --- acquiring again ----------------------------------------------------------------------------


@pytest.mark.defect("K-24")
@over(*[kind for kind in ALL if kind.reentrant])
def test_reentry(front, kind, zk_hosts, zk_path, contenders):
    """The owner may acquire again; the lock is free after as many releases."""
    with front.session(zk_hosts) as session, front.session(zk_hosts) as another:
        lock, rival = kind.make(session, zk_path), kind.rival_of(another, zk_path)
        owner, other = front.actors(2)
        first = owner.call(lambda: lock.acquire())
        before = contenders(zk_path)
        second = owner.call(lambda: lock.acquire())
        assert second.token == first.token
        assert contenders(zk_path) == before
        owner.call(lambda: lock.release())
        assert first.valid
        assert other.call(lambda: rival.acquire(blocking=False)) is None
        owner.call(lambda: lock.release())
        assert not first.valid
        assert other.call(lambda: rival.acquire(blocking=False))


@pytest.mark.front("threads")  # nothing is waited for
@over(REENTRANT, WRITE, READ, PERSISTENT)
def test_reentry_makes_nothing_good(front, kind, zk_hosts, zk_path, witness):
    """Somebody deleted the lock node by hand. Its owner may acquire again, but the hold is what it
    was: the check says no, nothing is written under it, and it can be released."""
    with front.session(zk_hosts) as session:
        lock = kind.make(session, zk_path)
        owner = front.actor()
        first = owner.call(lambda: lock.acquire())
        witness.delete(first.path)
        again = owner.call(lambda: lock.acquire())
        assert again.path == first.path
        assert not owner.call(lambda: again.check())
        with pytest.raises(NotHeld):
            owner.call(lambda: again.transaction(Set("/", b"")))
        for _ in range(2):
            owner.call(lambda: lock.release())


@pytest.mark.defect("K-24")
@over(*[kind for kind in ALL if not kind.reentrant], kazoo_keeps)
def test_no_reentry(front, kind, zk_hosts, zk_path):
    """Who acquires again while it holds would wait for itself: not blocking, it gets None."""
    with front.session(zk_hosts) as session:
        lock = kind.make(session, zk_path)
        owner = front.actor()
        hold = owner.call(lambda: lock.acquire())
        assert owner.call(lambda: lock.acquire(False)) is None
        assert hold.valid
        owner.call(lambda: lock.release())


@over(*EXCLUSIVE)
def test_two_objects_are_two_contenders(front, kind, zk_hosts, zk_path):
    """As with threading's locks, ownership belongs to the lock object."""
    with front.session(zk_hosts) as session:
        actor = front.actor()
        actor.call(lambda: kind.make(session, zk_path).acquire())
        second = kind.make(session, zk_path)
        assert actor.call(lambda: second.acquire(False)) is None


# --- not for ever -------------------------------------------------------------------------------


@over(*ALL, kazoo_keeps)
def test_not_blocking(front, kind, zk_hosts, zk_path, left_clean):
    """Without blocking a taken lock gives None at once, and leaves nothing."""
    with front.session(zk_hosts) as session:
        rival, lock = kind.rival_of(session, zk_path), kind.make(session, zk_path)
        owner, other = front.actors(2)
        owner.call(lambda: rival.acquire())
        assert other.call(lambda: lock.acquire(False)) is None
        owner.call(lambda: rival.release())
        left_clean(zk_path)
        assert other.call(lambda: lock.acquire(False))


@pytest.mark.defect("K-9")
@over(*ALL, kazoo_breaks("K-9 (#175, #413, #525): no removeWatches, so watches stay"))
def test_a_deadline_gives_none(
    front, kind, zk_ensemble, zk_hosts, zk_path, contenders, left_clean, clock
):
    """A passed deadline gives None, in time, and leaves neither a contender nor a watch."""
    with front.session(zk_hosts) as session:
        rival, lock = kind.rival_of(session, zk_path), kind.make(session, zk_path)
        owner, other = front.actors(2)
        owner.call(lambda: rival.acquire())
        alone = len(contenders(zk_path))
        began = clock()
        assert other.call(lambda: lock.acquire(timeout=0.1)) is None
        assert 0.08 < clock() - began < 1.6
        assert eventually(lambda: len(contenders(zk_path)) <= alone, 5)
        assert eventually(lambda: watches(zk_ensemble) == 0, 2)
        owner.call(lambda: rival.release())
        left_clean(zk_path)


@over(*EXCLUSIVE)
def test_a_deadline_of_zero(front, kind, zk_hosts, zk_path, left_clean):
    """A deadline that is over at once gives None or the hold, and never an orphan."""
    with front.session(zk_hosts) as session:
        lock = kind.make(session, zk_path)
        actor = front.actor()
        for _ in range(5):
            if actor.call(lambda: lock.acquire(timeout=0)):
                actor.call(lambda: lock.release())
        left_clean(zk_path)


@pytest.mark.parametrize("timeout", [-1, "2", object()])
def test_a_senseless_timeout(front, zk_hosts, zk_path, timeout):
    """A timeout that is no number of seconds is refused."""
    with front.session(zk_hosts) as session:
        lock = ReentrantLock(session, zk_path)
        with pytest.raises(ValueError, match="timeout"):
            front.call(lambda: lock.acquire(timeout=timeout))


@pytest.mark.defect("K-12")
@over(*ONE_OF_EACH, kazoo_breaks("K-12 (#83, #241, #482): a timeout is no deadline"))
def test_a_deadline_is_kept_when_nobody_answers(front, kind, zk_proxy, zk_path, clock, left_clean):
    """With frozen servers, too, the call is over in time; what it began is undone later."""
    with front.session(zk_proxy.hosts) as session:
        lock = kind.make(session, zk_path)
        zk_proxy.freeze()
        try:
            began = clock()
            job = front.actor().begin(lambda: lock.acquire(timeout=0.2))
            assert eventually(job.done, 2)
            assert job.result() is None
            assert clock() - began < 2
        finally:
            zk_proxy.thaw()
        left_clean(zk_path)


# --- releasing ----------------------------------------------------------------------------------


@pytest.mark.defect("C-9")
@over(*ALL)
def test_release_by_another_actor(front, kind, zk_hosts, zk_path):
    """Another actor's `lock.release()` is refused, with the way out; its `hold.release()` is
    refused too where the lock belongs to the actor that acquired."""
    with front.session(zk_hosts) as session:
        lock = kind.make(session, zk_path)
        owner, other = front.actors(2)
        hold = owner.call(lambda: lock.acquire())
        with pytest.raises(NotOwner, match=zk_path) as caught:
            other.call(lambda: lock.release())
        assert "acquired" in caught.value.hint
        assert hold.valid
        if kind.owner_only:
            with pytest.raises(NotOwner):
                other.call(lambda: hold.release())
            assert hold.valid
            owner.call(lambda: hold.release())
        else:
            other.call(lambda: hold.release())
        assert not hold.valid


@over(*ALL)
def test_release_twice(front, kind, zk_hosts, zk_path, left_clean):
    """A hold is released once; each further release is refused and frees nobody else's lock."""
    with front.session(zk_hosts) as session:
        lock = kind.make(session, zk_path)
        owner, next_one = front.actors(2)
        hold = owner.call(lambda: lock.acquire())
        owner.call(lambda: lock.release())
        second = next_one.call(lambda: lock.acquire(timeout=10))
        for again in (lock.release, hold.release):
            with pytest.raises(NotOwner):
                owner.call(lambda again=again: again())
        assert second.valid
        assert next_one.call(lambda: second.check())
        next_one.call(lambda: lock.release())
        left_clean(zk_path)


# --- the hold -----------------------------------------------------------------------------------


@over(*ALL, kazoo_breaks("it has neither a token nor a check: no fencing", AttributeError))
def test_the_hold(front, kind, zk_hosts, zk_path, contenders):
    """A hold knows its node and its token, and the server agrees."""
    with front.session(zk_hosts) as session:
        lock = kind.make(session, zk_path)
        actor = front.actor()
        hold = actor.call(lambda: lock.acquire())
        paths = [each.path for each in holds_of(hold)]
        # A line that guards a lease is left in the background.
        assert eventually(lambda: {f"{zk_path}/{n}" for n in contenders(zk_path)} == set(paths), 5)
        assert hold and hold.valid
        assert actor.call(lambda: hold.check())
        tokens = [actor.call(lambda p=path: session.exists(p)).czxid for path in paths]
        assert hold.token == (tuple(tokens) if kind is MULTI else tokens[0])
        assert all(f"{token:#x}" in repr(hold) for token in tokens)
        actor.call(lambda: lock.release())
        assert not hold.valid
        assert not actor.call(lambda: hold.check())
        assert "no longer" in repr(hold)


@pytest.mark.defect("C-15")
@over(*EXCLUSIVE)
def test_tokens_grow(front, kind, zk_hosts, zk_path):
    """From grant to grant the token grows, whoever gets it."""
    tokens = []
    with front.session(zk_hosts) as one, front.session(zk_hosts) as two:
        for session in (one, two, one, two):
            lock = kind.make(session, zk_path)
            actor = front.actor()
            tokens.append(actor.call(lambda lock=lock: lock.acquire()).token)
            actor.call(lambda lock=lock: lock.release())
    assert tokens == sorted(set(tokens))


@pytest.mark.defect("C-15")
@over(*[kind for kind in ALL if kind.guards])
def test_guarded_writes(front, kind, zk_hosts, zk_path, witness):
    """A transaction is applied only while the lock node is ours."""
    data = zk_path + "-data"
    witness.create(data, b"0")
    with front.session(zk_hosts) as session:
        lock = kind.make(session, zk_path)
        actor = front.actor()
        hold = actor.call(lambda: lock.acquire())
        assert len(actor.call(lambda: hold.transaction(Set(data, b"1")))) == 1
        assert witness.get(data)[0] == b"1"
        actor.call(lambda: lock.release())
        with pytest.raises(NotHeld, match="nothing was written"):
            actor.call(lambda: hold.transaction(Set(data, b"2")))
        assert witness.get(data)[0] == b"1"


def test_a_fixed_name_guards_nothing(front, zk_hosts, zk_path):
    """The herd lock refuses to guard a transaction, and says why."""
    with front.session(zk_hosts) as session:
        lock = HERD.make(session, zk_path)
        actor = front.actor()
        hold = actor.call(lambda: lock.acquire())
        with pytest.raises(Unsupported, match="fixed name"):
            actor.call(lambda: hold.transaction(Set("/x", b"")))


@over(REENTRANT)
def test_on_lost_after_a_release_is_not_called(front, kind, zk_hosts, zk_path):
    """A hold that was given back cannot be lost."""
    lost = threading.Event()
    with front.session(zk_hosts) as session:
        lock = kind.make(session, zk_path)
        actor = front.actor()
        hold = actor.call(lambda: lock.acquire())
        hold.on_lost(lost.set)
        actor.call(lambda: lock.release())
    time.sleep(0.1)  # a callback would be on its way by now
    assert not lost.is_set()


# --- blocks -------------------------------------------------------------------------------------


def check_and_fail(hold):
    """What is done inside of the block."""
    assert hold is not None and hold.valid
    raise KeyError("inside")


@over(*ALL, kazoo_breaks("`with lock as hold` gives None"))
def test_with_statement(front, kind, zk_hosts, zk_path, left_clean):
    """`with lock` gives the hold and releases, also after an error in the block."""
    with front.session(zk_hosts) as session:
        lock = kind.make(session, zk_path)
        with pytest.raises(KeyError, match="inside"):
            front.call(lambda: front.within(lock, check_and_fail))
        left_clean(zk_path)


@over(*ALL)
def test_held_raises_instead_of_none(front, kind, zk_hosts, zk_path, left_clean):
    """`lock.held(timeout=...)` raises when the deadline has passed, naming the lock; in time it
    is as `with lock`."""
    with front.session(zk_hosts) as session:
        rival, lock = kind.rival_of(session, zk_path), kind.make(session, zk_path)
        owner = front.actor()
        owner.call(lambda: rival.acquire())
        with pytest.raises(DeadlineExceeded, match=zk_path) as caught:
            front.call(lambda: front.within(lock.held(timeout=0.05), check_and_fail))
        assert isinstance(caught.value, TimeoutError)
        owner.call(lambda: rival.release())
        with pytest.raises(KeyError, match="inside"):
            front.call(lambda: front.within(lock.held(timeout=20), check_and_fail))
        left_clean(zk_path)


# --- the session ends ---------------------------------------------------------------------------


@over(*ALL)
def test_closing_ends_waits(front, kind, zk_hosts, zk_path, when, left_clean):
    """Closing a session ends every wait in it with a typed error; its contenders go."""
    with front.session(zk_hosts) as holder:
        owner = front.actor()
        rival = kind.rival_of(holder, zk_path)
        owner.call(lambda: rival.acquire())
        waiting = front.connect(zk_hosts, timeout=6.0)
        queued = when(waiting, watch_set=3)
        jobs = [
            actor.begin(lambda: kind.make(waiting, zk_path).acquire()) for actor in front.actors(3)
        ]
        queued.wait()
        front.close(waiting)
        for job in jobs:
            assert isinstance(job.exception(10), SessionClosed)
        owner.call(lambda: rival.release())
        left_clean(zk_path)


@over(*ALL, kazoo_breaks("K-2 (#2, #565): is_acquired stays true"))
def test_a_holder_that_closes_lets_the_next_in(front, kind, zk_hosts, zk_path, waits):
    """A session that ends frees its locks, and its holds are no longer valid."""
    with front.session(zk_hosts) as waiting:
        holder = front.connect(zk_hosts, timeout=6.0)
        hold = front.call(lambda: kind.rival_of(holder, zk_path).acquire())
        job = waits(waiting, kind.make(waiting, zk_path).acquire)
        front.close(holder)
        assert job.result(10).valid
        assert not hold.valid
