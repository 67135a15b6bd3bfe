"""What a recorder is told of locks: each node created once, the recipe by its name throughout."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import zkkit
from zkkit.record import Recorder
from zkkit.testing import Proxy

LOCKS = pytest.mark.parametrize(
    "make",
    [
        zkkit.ReentrantLock,
        zkkit.Lock,
        lambda session, path: zkkit.ReadWriteLock(session, path).read,
        lambda session, path: zkkit.Semaphore(session, path, 1),
        lambda session, path: zkkit.MultiLock(session, [f"{path}/a", f"{path}/b"]),
        zkkit.HerdLock,
    ],
    ids=["ReentrantLock", "Lock", "read", "Semaphore", "MultiLock", "HerdLock"],
)


@LOCKS
@pytest.mark.parametrize("loss", ["lose_reply", "lose_request"])
def test_each_node_is_created_once(zk_proxy: Proxy, zk_path: str, make: Any, loss: str) -> None:
    """A node whose reply was lost is told of when it is found; one that never came to be is not."""
    recorder = Recorder()
    with zkkit.connect(zk_proxy.hosts, timeout=5.0) as session:
        lock = make(session, zk_path)
        with lock:
            pass
        session.hooks.add(recorder)
        losses = [getattr(zk_proxy, loss)("create") for _ in range(2)]
        hold = lock.acquire(timeout=20.0)
        held = {each.path for each in getattr(hold, "holds", [hold])}
        hold.release()
    assert losses[0].wait(0)
    created = Counter(event.path for hook, event in recorder if hook == "node_created")
    deleted = {event.path for hook, event in recorder if hook == "node_deleted"}
    assert set(created.values()) == {1}
    assert held <= set(created)
    assert deleted <= set(created)


@LOCKS
def test_the_recipe_has_its_name_at_release_too(zk_hosts: str, zk_path: str, make: Any) -> None:
    """However a hold is given back, and whatever asks the server on the way."""
    recorder = Recorder()
    with zkkit.connect(zk_hosts, timeout=5.0) as session:
        session.hooks.add(recorder)
        lock = make(session, zk_path)
        with lock:
            pass
        lock.acquire()
        lock.release()
        hold = lock.acquire()
        assert hold.check()
        hold.release()
    names = Counter(event.recipe for hook, event in recorder if hook in ("acquired", "released"))
    assert set(names) == {type(lock).__name__}
    assert {event.recipe for hook, event in recorder if hook == "step"} == set(names)


def test_leases_taken_together(zk_hosts: str, zk_path: str) -> None:
    """They go by the name of their semaphore."""
    recorder = Recorder()
    with zkkit.connect(zk_hosts, timeout=5.0) as session:
        session.hooks.add(recorder)
        zkkit.Semaphore(session, zk_path, 3).acquire_many(2).release()
    assert {event.recipe for hook, event in recorder if hook == "step"} == {"Semaphore"}
