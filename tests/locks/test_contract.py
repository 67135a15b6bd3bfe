"""What every lock promises, on every front."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from zkkit import HerdLock, ReentrantLock
from zkkit.errors import DeadlineExceeded, NotHeld, NotOwner, SessionClosed, Unsupported
from zkkit.record import Recorder
from zkkit.record.frames import fires, wakeups
from zkkit.steps import Set


class Room:
    """Notices when two are inside at once."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self.inside = 0
        self.overlaps = 0
        self.visits: list[Any] = []

    def enter(self, who: Any) -> None:
        with self._guard:
            self.inside += 1
            self.overlaps += self.inside > 1
            self.visits.append(who)

    def leave(self) -> None:
        with self._guard:
            self.inside -= 1


def visit(actor: Any, lock: Any, room: Room, who: Any, rounds: int) -> list[Any]:
    """Let an actor acquire, be inside and release, several times."""
    jobs = []
    for _ in range(rounds):
        jobs.append(actor.begin(lambda: lock.acquire()))
        jobs.append(actor.begin(lambda: room.enter(who)))
        jobs.append(actor.begin(lambda: room.leave()))
        jobs.append(actor.begin(lambda: lock.release()))
    return jobs


def finish(jobs: list[Any]) -> list[Any]:
    return [job.result(60) for job in jobs]


@pytest.mark.concurrent
def test_only_one_is_inside(front, lock_class, zk_hosts, zk_path, left_clean):
    """Actors of several sessions never hold the lock at the same time, and all get it."""
    room = Room()
    with (
        front.session(zk_hosts) as one,
        front.session(zk_hosts) as two,
        front.session(zk_hosts) as three,
    ):
        jobs = []
        for number, session in enumerate([one, two, three] * 2):
            lock = lock_class(session, zk_path)
            jobs += visit(front.actor(), lock, room, number, 5)
        finish(jobs)
    assert room.overlaps == 0
    assert len(room.visits) == 30
    left_clean(zk_path)


@pytest.mark.concurrent
def test_many_actors_share_one_object(front, lock_class, zk_hosts, zk_path, left_clean):
    """One lock object serves many actors of one session."""
    room = Room()
    with front.session(zk_hosts) as session:
        lock = lock_class(session, zk_path)
        jobs = []
        for number, actor in enumerate(front.actors(8)):
            jobs += visit(actor, lock, room, number, 4)
        finish(jobs)
        assert room.overlaps == 0
        assert len(room.visits) == 32
        left_clean(zk_path)


@pytest.mark.concurrent
def test_one_wakeup_per_release_on_one_object(front, zk_hosts, zk_path, when):
    """N actors on one lock object are no herd: each release fires one watch and wakes one."""
    count = 8
    with front.session(zk_hosts) as session:
        lock = ReentrantLock(session, zk_path)
        gate = front.actor()
        gate.call(lambda: lock.acquire())
        recorder = Recorder()
        session.hooks.add(recorder)
        queued = when(session, watch_set=count)
        jobs = []
        for actor in front.actors(count):
            jobs.append(actor.begin(lambda: lock.acquire()))
            jobs.append(actor.begin(lambda: lock.release()))
        queued.wait()
        gate.call(lambda: lock.release())
        finish(jobs)
        assert len(fires(recorder)) == count
        assert len(wakeups(recorder)) == count


@pytest.mark.concurrent
def test_grants_in_order_of_arrival(front, zk_hosts, zk_path, when):
    """The sequential lock is fair: first come, first served."""
    room = Room()
    with front.session(zk_hosts) as session, front.session(zk_hosts) as other:
        gate = front.actor()
        lock = ReentrantLock(session, zk_path)
        gate.call(lambda: lock.acquire())
        jobs = []
        for number, actor in enumerate(front.actors(6)):
            owner = session if number % 2 else other
            queued = when(owner, watch_set=1)
            jobs += visit(actor, ReentrantLock(owner, zk_path), room, number, 1)
            queued.wait()
        gate.call(lambda: lock.release())
        finish(jobs)
    assert room.visits == list(range(6))


def test_reentry(front, zk_hosts, zk_path, contenders):
    """The owner may acquire again; the lock is free after as many releases."""
    with front.session(zk_hosts) as session:
        lock = ReentrantLock(session, zk_path)
        owner, other = front.actors(2)
        first = owner.call(lambda: lock.acquire())
        second = owner.call(lambda: lock.acquire())
        assert second is first
        assert len(contenders(zk_path)) == 1
        owner.call(lambda: lock.release())
        assert first.valid
        assert other.call(lambda: lock.acquire(blocking=False)) is None
        owner.call(lambda: lock.release())
        assert not first.valid
        assert other.call(lambda: lock.acquire(blocking=False))


def test_two_objects_are_two_contenders(front, zk_hosts, zk_path):
    """As with threading.RLock, ownership belongs to the lock object."""
    with front.session(zk_hosts) as session:
        actor = front.actor()
        actor.call(lambda: ReentrantLock(session, zk_path).acquire())
        second = ReentrantLock(session, zk_path)
        assert actor.call(lambda: second.acquire(False)) is None


def test_not_blocking(front, lock_class, zk_hosts, zk_path, left_clean):
    """Without blocking a taken lock gives None at once, and leaves nothing."""
    with front.session(zk_hosts) as session:
        lock = lock_class(session, zk_path)
        owner, other = front.actors(2)
        owner.call(lambda: lock.acquire())
        assert other.call(lambda: lock.acquire(False)) is None
        owner.call(lambda: lock.release())
        left_clean(zk_path)
        assert other.call(lambda: lock.acquire(False))


def test_a_deadline_gives_none(front, lock_class, zk_hosts, zk_path, left_clean, clock):
    """A passed deadline gives None, in time, and leaves nothing in the queue."""
    with front.session(zk_hosts) as session:
        lock = lock_class(session, zk_path)
        owner, other = front.actors(2)
        owner.call(lambda: lock.acquire())
        began = clock()
        assert other.call(lambda: lock.acquire(timeout=0.4)) is None
        assert 0.35 < clock() - began < 1.4
        owner.call(lambda: lock.release())
        left_clean(zk_path)


def test_a_deadline_of_zero(front, lock_class, zk_hosts, zk_path, left_clean):
    """A deadline that is over at once gives None or the hold, and never an orphan."""
    with front.session(zk_hosts) as session:
        lock = lock_class(session, zk_path)
        actor = front.actor()
        for _ in range(10):
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


def test_release_by_another_actor(front, lock_class, zk_hosts, zk_path):
    """Only the owner may release; the error names the lock and the way out."""
    with front.session(zk_hosts) as session:
        lock = lock_class(session, zk_path)
        owner, other = front.actors(2)
        hold = owner.call(lambda: lock.acquire())
        with pytest.raises(NotOwner, match=zk_path) as caught:
            other.call(lambda: lock.release())
        assert "acquired" in caught.value.hint
        with pytest.raises(NotOwner):
            other.call(lambda: hold.release())
        assert hold.valid
        owner.call(lambda: hold.release())
        with pytest.raises(NotOwner):
            owner.call(lambda: lock.release())


def test_the_hold(front, lock_class, zk_hosts, zk_path, contenders):
    """A hold knows its node and its token, and the server agrees."""
    with front.session(zk_hosts) as session:
        lock = lock_class(session, zk_path)
        actor = front.actor()
        hold = actor.call(lambda: lock.acquire())
        assert [hold.path] == [f"{zk_path}/{name}" for name in contenders(zk_path)]
        assert hold and hold.valid
        assert actor.call(lambda: hold.check())
        stat = actor.call(lambda: session.exists(hold.path))
        assert hold.token == stat.czxid
        assert f"{hold.token:#x}" in repr(hold)
        actor.call(lambda: lock.release())
        assert not hold.valid
        assert not actor.call(lambda: hold.check())
        assert "no longer" in repr(hold)


def test_tokens_grow(front, lock_class, zk_hosts, zk_path):
    """From grant to grant the token grows, whoever gets it."""
    tokens = []
    with front.session(zk_hosts) as one, front.session(zk_hosts) as two:
        for session in (one, two, one, two):
            lock = lock_class(session, zk_path)
            actor = front.actor()
            tokens.append(actor.call(lambda lock=lock: lock.acquire()).token)
            actor.call(lambda lock=lock: lock.release())
    assert tokens == sorted(set(tokens))


def test_guarded_writes(front, zk_hosts, zk_path, witness):
    """A transaction is applied only while the lock node is ours."""
    data = zk_path + "-data"
    witness.create(data, b"0")
    with front.session(zk_hosts) as session:
        lock = ReentrantLock(session, zk_path)
        actor = front.actor()
        hold = actor.call(lambda: lock.acquire())
        actor.call(lambda: hold.transaction(Set(data, b"1")))
        assert witness.get(data)[0] == b"1"
        actor.call(lambda: lock.release())
        with pytest.raises(NotHeld, match="nothing was written"):
            actor.call(lambda: hold.transaction(Set(data, b"2")))
        assert witness.get(data)[0] == b"1"


def test_a_fixed_name_guards_nothing(front, zk_hosts, zk_path):
    """The herd lock refuses to guard a transaction, and says why."""
    with front.session(zk_hosts) as session:
        lock = HerdLock(session, zk_path)
        actor = front.actor()
        hold = actor.call(lambda: lock.acquire())
        with pytest.raises(Unsupported, match="fixed name"):
            actor.call(lambda: hold.transaction(Set("/x", b"")))


def test_closing_ends_waits(front, lock_class, zk_hosts, zk_path, when, left_clean):
    """Closing a session ends every wait in it with a typed error; its contenders go."""
    with front.session(zk_hosts) as holder:
        owner = front.actor()
        lock = lock_class(holder, zk_path)
        owner.call(lambda: lock.acquire())
        waiting = front.connect(zk_hosts, timeout=6.0)
        queued = when(waiting, watch_set=1)
        jobs = [
            actor.begin(lambda: lock_class(waiting, zk_path).acquire()) for actor in front.actors(3)
        ]
        queued.wait()
        front.close(waiting)
        for job in jobs:
            assert isinstance(job.exception(10), SessionClosed)
        owner.call(lambda: lock.release())
        left_clean(zk_path)


def test_a_holder_that_closes_lets_the_next_in(front, lock_class, zk_hosts, zk_path, when):
    """A session that ends frees its locks, and its holds are no longer valid."""
    with front.session(zk_hosts) as waiting:
        holder = front.connect(zk_hosts, timeout=6.0)
        hold = front.call(lambda: lock_class(holder, zk_path).acquire())
        queued = when(waiting, watch_set=1)
        job = front.actor().begin(lambda: lock_class(waiting, zk_path).acquire())
        queued.wait()
        front.close(holder)
        assert not hold.valid
        assert job.result(10).valid


def test_with_statement(zk_hosts, zk_path, front, left_clean):
    """`with lock` gives the hold and releases, also after an error in the block."""
    with front.session(zk_hosts) as session:
        lock = ReentrantLock(session, zk_path)
        if front.name == "asyncio":

            async def block() -> None:
                async with lock as hold:
                    assert hold.valid
                    raise KeyError("inside")

        else:

            def block() -> None:
                with lock as hold:
                    assert hold.valid
                    raise KeyError("inside")

        with pytest.raises(KeyError, match="inside"):
            front.call(block)
        left_clean(zk_path)


def test_held_raises_instead_of_none(zk_hosts, zk_path, front):
    """`lock.held(timeout=...)` raises when the deadline has passed, naming the lock."""
    with front.session(zk_hosts) as session:
        lock = ReentrantLock(session, zk_path)
        front.call(lambda: lock.acquire())
        if front.name == "asyncio":

            async def block() -> None:
                async with lock.held(timeout=0.2):
                    raise AssertionError("never here")

        else:

            def block() -> None:
                with lock.held(timeout=0.2):
                    raise AssertionError("never here")

        with pytest.raises(DeadlineExceeded, match=zk_path) as caught:
            front.call(block)
        assert isinstance(caught.value, TimeoutError)


def test_on_lost_after_a_release_is_not_called(front, zk_hosts, zk_path):
    """A hold that was given back cannot be lost."""
    lost = threading.Event()
    with front.session(zk_hosts) as session:
        lock = ReentrantLock(session, zk_path)
        actor = front.actor()
        hold = actor.call(lambda: lock.acquire())
        hold.on_lost(lost.set)
        actor.call(lambda: lock.release())
    time.sleep(0.1)  # a callback would be on its way by now
    assert not lost.is_set()
