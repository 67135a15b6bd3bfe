"""What the locks cost: flights and requests, counted on both sides of the wire."""

from __future__ import annotations

from typing import Any

import pytest

from tests.locks.kinds import KAZOO_LAYOUT, LOCK, READ, REENTRANT, SEMAPHORE, WRITE, Kind, over
from tests.support.flights import flights, recorded, spent
from zkkit import ReentrantLock, Semaphore, SharedCount
from zkkit.session.board import BOARD
from zkkit.testing import eventually


def semaphore_of_a_count(session: Any, path: str) -> Semaphore[Any]:
    return Semaphore(session, path, SharedCount(session, path + "-limit", seed=1))


LINES = [REENTRANT, WRITE, READ, KAZOO_LAYOUT]
LEASES = [LOCK, SEMAPHORE, Kind("Semaphore-count", semaphore_of_a_count, owner_only=False)]
ONE_LINE = {"create": 1, "children": 1, "delete": 1}


@over(*LINES)
def test_uncontended(front, kind, zk_proxy, zk_path, witness):
    """Once the parents exist, an acquire and a release are two flights: three requests."""
    witness.create(zk_path)
    with front.session(zk_proxy.hosts) as session:
        lock = kind.make(session, zk_path)
        actor = front.actor()
        recorder, before = recorded(session), zk_proxy.requests
        hold = actor.call(lambda: lock.acquire())
        assert hold.token
        assert flights(recorder) == 1
        actor.call(lambda: lock.release())
        assert flights(recorder) == 2
        assert spent(zk_proxy, before) == ONE_LINE


def reads_of(kind: Kind) -> dict[str, int]:
    """What it reads besides the children."""
    return {"get": 1} if kind.name == "Semaphore-count" else {}


@over(*LEASES)
def test_uncontended_leases(front, kind, zk_proxy, zk_path, witness):
    """Leases take four flights, and an acquire waits for two of them: the line is left while its
    caller goes on. Whoever met nobody then needs one flight less: the acquire waits for one."""
    witness.ensure_path(f"{zk_path}/locks")
    witness.ensure_path(f"{zk_path}/leases")
    with front.session(zk_proxy.hosts) as session:
        lock = kind.make(session, zk_path)
        actor = front.actor()
        if kind.name == "Semaphore-count":
            actor.call(lambda: lock.limit.get())
        for waited, in_all in ((2, 4), (1, 3), (1, 3)):
            recorder, before = recorded(session), zk_proxy.requests
            actor.call(lambda: lock.acquire())
            name = next(e.actor for hook, e in recorder if hook == "acquired")
            assert flights(recorder, name) == waited
            actor.call(lambda: lock.release())
            assert eventually(lambda: flights(recorder) == in_all)  # noqa: B023
            asked = spent(zk_proxy, before)
            asked.pop("remove_watches", None)  # not waited for, and in no flight of anybody
            assert asked == {"create": 2, "children": 2, "delete": 2, **reads_of(kind)}
            session.hooks.remove(recorder)


@over(LOCK, SEMAPHORE)
def test_leases_after_meeting_somebody(front, kind, zk_hosts, zk_path, witness, when):
    """Who had to wait the last time is not optimistic; who did not want to wait never is."""
    witness.ensure_path(f"{zk_path}/locks")  # plain nodes: an empty container may be reaped
    witness.ensure_path(f"{zk_path}/leases")
    with front.session(zk_hosts) as holder, front.session(zk_hosts) as waiter:
        owner, other = front.actors(2)
        taken, lock = kind.rival_of(holder, zk_path), kind.make(waiter, zk_path)
        for _ in range(2):  # it is optimistic from now on
            other.call(lambda: lock.acquire())
            other.call(lambda: lock.release())
        owner.call(lambda: taken.acquire())
        queued = when(waiter, watch_set=1)
        job = other.begin(lambda: lock.acquire())
        queued.wait()
        owner.call(lambda: taken.release())
        assert job.result(10)
        other.call(lambda: lock.release())
        for blocking, waited in ((True, 2), (False, 2), (True, 1)):
            recorder = recorded(waiter)
            assert other.call(lambda: lock.acquire(blocking))  # noqa: B023
            name = next(e.actor for hook, e in recorder if hook == "acquired")
            assert flights(recorder, name) == waited
            other.call(lambda: lock.release())
            waiter.hooks.remove(recorder)


def test_parents_missing(front, zk_proxy, zk_path):
    """With two missing levels it is one flight more."""
    path = f"{zk_path}/deep/lock"
    with front.session(zk_proxy.hosts) as session:
        lock = ReentrantLock(session, path)
        actor = front.actor()
        recorder, before = recorded(session), zk_proxy.requests
        actor.call(lambda: lock.acquire())
        actor.call(lambda: lock.release())
        assert flights(recorder) == 3
        assert spent(zk_proxy, before) == {"create": 5, "children": 2, "delete": 1}


@over(*LINES)
def test_contended(front, kind, zk_proxy, zk_path, waits):
    """A contended acquire is three flights: create and look, watch, look again. Where everybody
    comes with a new number, nobody looks again who stands behind one other."""
    known = kind is REENTRANT
    with front.session(zk_proxy.hosts) as holder, front.session(zk_proxy.hosts) as waiter:
        owner = front.actor()
        lock = kind.rival_of(holder, zk_path)
        owner.call(lambda: lock.acquire())
        recorder = recorded(waiter)
        job = waits(waiter, kind.make(waiter, zk_path).acquire)
        before = zk_proxy.requests
        owner.call(lambda: lock.release())
        assert job.result(10)
        assert flights(recorder) == (2 if known else 3)
        assert spent(zk_proxy, before) == ({"delete": 1} if known else {"delete": 1, "children": 1})


def test_contended_behind_several(front, zk_proxy, zk_path, waits):
    """Whoever had two ahead looks again when the one just ahead has gone, and only then: it need
    not look once more when the other one goes."""
    with (
        front.session(zk_proxy.hosts) as holder,
        front.session(zk_proxy.hosts) as second,
        front.session(zk_proxy.hosts) as third,
    ):
        owner = front.actor()
        lock = ReentrantLock(holder, zk_path)
        owner.call(lambda: lock.acquire())
        leaving = waits(second, lambda: ReentrantLock(second, zk_path).acquire(timeout=1.0))
        recorder = recorded(third)
        job = waits(third, ReentrantLock(third, zk_path).acquire)
        before = zk_proxy.requests
        assert leaving.result(10) is None
        assert eventually(lambda: flights(recorder) == 4)  # create and look, watch; look, watch
        asked = spent(zk_proxy, before)
        assert (asked["children"], asked["get"]) == (1, 1)
        owner.call(lambda: lock.release())
        assert job.result(10)
        assert flights(recorder) == 4


def behind_two(front, zk_proxy, zk_path, waits, when, *, forget):
    """One holds, two wait in sessions of their own, and are let in one after the other. The flights
    of the last of them, and what was asked of the servers from the second release on."""
    with (
        front.session(zk_proxy.hosts) as holder,
        front.session(zk_proxy.hosts) as second,
        front.session(zk_proxy.hosts) as third,
    ):
        owner, next_one = front.actors(2)
        lock, middle = (ReentrantLock(each, zk_path) for each in (holder, second))
        owner.call(lambda: lock.acquire())
        in_line = when(second, watch_set=1)
        queued = next_one.begin(lambda: middle.acquire())
        in_line.wait()
        recorder = recorded(third)
        job = waits(third, ReentrantLock(third, zk_path).acquire)
        owner.call(lambda: lock.release())
        assert queued.result(10)
        if forget:
            BOARD.post(zk_path, "another line of this name")
        before = zk_proxy.requests
        next_one.call(lambda: middle.release())
        assert job.result(10)
        return flights(recorder), spent(zk_proxy, before)


def test_behind_several_of_one_process(front, zk_proxy, zk_path, waits, when):
    """Two flights: whoever was the first has said so."""
    spent_so = behind_two(front, zk_proxy, zk_path, waits, when, forget=False)
    assert spent_so == (2, {"delete": 1})


def test_behind_several_where_the_post_is_lost(front, zk_proxy, zk_path, waits, when):
    """Three: it looks again."""
    spent_so = behind_two(front, zk_proxy, zk_path, waits, when, forget=True)
    assert spent_so == (3, {"delete": 1, "children": 1})


@pytest.mark.parametrize("loss", ["lose_reply", "lose_request"])
def test_a_lost_create(front, zk_proxy, zk_path, witness, contenders, loss, left_clean):
    """After a lost create, three flights in all, and one node whether or not it had arrived."""
    witness.create(zk_path)
    with front.session(zk_proxy.hosts) as session:
        lock = ReentrantLock(session, zk_path)
        actor = front.actor()
        recorder = recorded(session)
        lost = getattr(zk_proxy, loss)("create")
        hold = actor.call(lambda: lock.acquire())
        assert lost.wait(0)
        assert hold.valid
        assert [hold.path] == [f"{zk_path}/{name}" for name in contenders(zk_path)]
        assert flights(recorder) == 3
        assert actor.call(lambda: hold.check())
        actor.call(lambda: lock.release())
        left_clean(zk_path)
