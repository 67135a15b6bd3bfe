"""What the locks cost: flights and requests, counted on both sides of the wire."""

from __future__ import annotations

from typing import Any

import pytest

from zkkit import HerdLock, ReentrantLock
from zkkit.record import Recorder


def flights(recorder: Recorder) -> int:
    """Requests that took off at the same moment, from the same actor, are one flight."""
    return len({(e.actor, e.t_ns - e.duration) for hook, e in recorder if hook == "step"})


def recorded(session: Any) -> Recorder:
    recorder = Recorder()
    session.hooks.add(recorder)
    return recorder


def spent(proxy: Any, before: Any) -> dict[str, int]:
    """Requests since `before`, as the proxy saw them; pings apart."""
    now = proxy.requests
    now.subtract(before)
    return {op: count for op, count in now.items() if count and op not in ("ping", "connect")}


def test_uncontended(front, zk_proxy, zk_path, witness):
    """Once the parents exist, an acquire and a release are two flights: three requests."""
    witness.create(zk_path)
    with front.session(zk_proxy.hosts) as session:
        lock = ReentrantLock(session, zk_path)
        actor = front.actor()
        recorder, before = recorded(session), zk_proxy.requests
        hold = actor.call(lambda: lock.acquire())
        assert hold.token
        actor.call(lambda: lock.release())
        assert flights(recorder) == 2
        assert spent(zk_proxy, before) == {"create": 1, "children": 1, "delete": 1}


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


def test_contended(front, zk_proxy, zk_path, when):
    """A contended acquire is three flights: create and look, watch, look again."""
    with front.session(zk_proxy.hosts) as holder, front.session(zk_proxy.hosts) as waiter:
        owner = front.actor()
        lock = ReentrantLock(holder, zk_path)
        owner.call(lambda: lock.acquire())
        recorder = recorded(waiter)
        queued = when(waiter, watch_set=1)
        job = front.actor().begin(lambda: ReentrantLock(waiter, zk_path).acquire())
        queued.wait()
        before = zk_proxy.requests
        owner.call(lambda: lock.release())
        assert job.result(10)
        assert flights(recorder) == 3
        assert spent(zk_proxy, before) == {"delete": 1, "children": 1}


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


@pytest.mark.parametrize("loss", ["lose_reply", "lose_request"])
@pytest.mark.parametrize("op", ["create", "delete"])
def test_the_herd_lock_outlives_losses(front, zk_proxy, zk_path, witness, op, loss, left_clean):
    """Lost creates and deletes leave the herd lock held once, or free."""
    witness.create(zk_path)
    with front.session(zk_proxy.hosts) as session:
        lock = HerdLock(session, zk_path)
        actor = front.actor()
        lost = getattr(zk_proxy, loss)(op)
        hold = actor.call(lambda: lock.acquire())
        assert actor.call(lambda: hold.check())
        actor.call(lambda: lock.release())
        assert lost.wait(0)
        left_clean(zk_path)
        assert actor.call(lambda: lock.acquire(timeout=5)).valid


def test_a_lost_delete(front, zk_proxy, zk_path, left_clean):
    """A release whose reply is lost is repeated until it is certain."""
    with front.session(zk_proxy.hosts) as session:
        lock = ReentrantLock(session, zk_path)
        actor = front.actor()
        for loss in (zk_proxy.lose_reply, zk_proxy.lose_request):
            actor.call(lambda: lock.acquire())
            lost = loss("delete")
            actor.call(lambda: lock.release())
            assert lost.wait(0)
            left_clean(zk_path)


def test_a_waiter_outlives_a_drop(front, zk_proxy, zk_hosts, zk_path, when, left_clean):
    """Connections break while one waits: it goes on waiting, and gets the lock."""
    with front.session(zk_hosts) as holder, front.session(zk_proxy.hosts) as waiter:
        owner = front.actor()
        lock = ReentrantLock(holder, zk_path)
        owner.call(lambda: lock.acquire())
        queued = when(waiter, watch_set=1)
        job = front.actor().begin(lambda: ReentrantLock(waiter, zk_path).acquire())
        queued.wait()
        again = when(waiter, watch_set=1)
        zk_proxy.drop()
        again.wait()
        owner.call(lambda: lock.release())
        assert job.result(10).valid
