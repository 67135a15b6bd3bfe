"""One holder at a time, in the order of arrival, whichever language it speaks."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.interop.sides import holds_inside, holds_of, line_of, together
from zkkit.bench.peers.curator import PeerFailed
from zkkit.check.overlap import overlaps
from zkkit.errors import NoNode
from zkkit.recipes.locks import reentrant
from zkkit.testing import eventually

pytestmark = pytest.mark.interop

KINDS: dict[str, Callable[[Any, str], Any]] = {
    "mutex": lambda actor, path: actor.mutex(path),
    "write": lambda actor, path: actor.read_write(path)[1],
    "semaphore mutex": lambda actor, path: actor.semaphore_mutex(path),
    "semaphore of one": lambda actor, path: actor.semaphore(path, 1),
    "multi": lambda actor, path: actor.multi(f"{path}/a", f"{path}/b"),
}


@pytest.fixture(params=KINDS)
def open_lock(request, zk_path):
    """Opens a lock of this kind for an actor."""
    return lambda actor: KINDS[request.param](actor, zk_path)


@pytest.mark.concurrent
def test_never_both(python, java, open_lock):
    """Two of each language contend: their holds never overlap."""
    locks = [open_lock(actor()) for actor in (python, java, python, java)]
    assert overlaps(together(*holds_of(locks, rounds=12))) == []


def test_a_lock_of_another_name_is_caught(python, java, zk_path, monkeypatch):
    """The broken twin: its nodes are called `lok-`, so the two languages do not see each other."""
    monkeypatch.setattr(reentrant, "KIND", "lok-")
    misnamed = python().mutex(zk_path)
    assert overlaps(holds_inside([java().mutex(zk_path)], misnamed))


@pytest.mark.concurrent
@pytest.mark.parametrize("kind", ["mutex", "write", "semaphore mutex"])
def test_handed_over_in_the_order_of_arrival(order, python, zk_path, kind):
    """Four in line, the languages in turn: each is granted when the one ahead has released."""
    looker = python()
    line, ahead = zk_path, 0
    if kind == "semaphore mutex":  # there the holder has left the line
        line, ahead = f"{zk_path}/locks", -1
    locks = [KINDS[kind](order(), zk_path) for _ in range(4)]
    assert locks[0].acquire()
    waiting = []
    assert eventually(lambda: len(looker.names(line)) == 1 + ahead)
    for place, lock in enumerate(locks[1:], 2):
        waiting.append(lock.begin_acquire())
        assert eventually(lambda wanted=place + ahead: len(looker.names(line)) == wanted)
    for lock, granted in zip(locks[:-1], waiting, strict=True):
        assert not granted.done()
        lock.release()
        assert granted.result(20)
    locks[-1].release()


@pytest.mark.parametrize("kind", ["mutex", "write"])
def test_both_see_the_same_line(order, python, java, zk_path, kind):
    """Participants are the same on both sides, in the same order, and so is what their nodes
    hold."""
    actors = [order() for _ in range(4)]
    lookers = [python(), java()]
    seen_by = [KINDS[kind](looker, zk_path) for looker in lookers]
    locks = [KINDS[kind](actor, zk_path) for actor in actors]
    waiting = []

    def seen() -> list[tuple[str, ...]]:
        return [line_of(each) for each in seen_by]

    for place, lock in enumerate(locks, 1):
        waiting.append(lock.begin_acquire())
        assert eventually(lambda wanted=place: [len(line) for line in seen()] == [wanted, wanted])
    line, same = seen()
    assert line == same
    for looker in lookers:
        assert [looker.data(node) for node in line] == [actor.name for actor in actors]
    for lock, granted in zip(locks, waiting, strict=True):
        assert granted.result(20)
        lock.release()
    assert eventually(lambda: seen() == [(), ()])


def test_who_gives_up_leaves_the_line(order, open_lock, python, zk_path):
    """A timeout on one side leaves nothing in the line, and the next one is granted."""
    holder, leaver, third = (open_lock(order()) for _ in range(3))
    assert holder.acquire()
    assert not leaver.acquire(timeout=0.3)
    granted = third.begin_acquire()
    holder.release()
    assert granted.result(20)
    third.release()
    looker = python()
    eventually(lambda: not leaves(looker, zk_path), otherwise=lambda: leaves(looker, zk_path))


def leaves(looker: Any, path: str) -> list[str]:
    """All contenders and leases at or below a path."""
    names = looker.names(path)
    if not names and re.search(r"[-_]\d{10}$", path):
        return [path]
    return [leaf for name in names for leaf in leaves(looker, f"{path}/{name}")]


def test_a_session_that_ends_hands_over(order, open_lock):
    """A holder whose session is closed has let go."""
    holder, waiter = order(), order()
    assert open_lock(holder).acquire()
    waiting = open_lock(waiter)
    granted = waiting.begin_acquire()
    holder.close()
    assert granted.result(20)
    waiting.release()


@pytest.mark.parametrize("kind", ["mutex", "write", "read"])
def test_a_holder_is_asked_to_give_way(order, zk_path, kind):
    """Revocation: what one side writes into the node, the other is told."""
    holder, asker = order(), order()
    lock = holder.read_write(zk_path)[0] if kind == "read" else KINDS[kind](holder, zk_path)
    asked = lock.make_revocable()
    assert lock.acquire()
    (node,) = lock.participants()
    eventually(lambda: told(asker, node), otherwise=lambda: "a revocable lock's node is empty")
    assert not asked.is_set()
    asker.revoke(node)
    assert asked.wait(20)
    lock.release()
    asker.revoke(node)  # it is gone: nothing happens


def told(asker: Any, node: str) -> bool:
    """Whether the asker's server has the node, and it is empty."""
    try:
        return asker.data(node) == ""
    except (NoNode, PeerFailed):
        return False
