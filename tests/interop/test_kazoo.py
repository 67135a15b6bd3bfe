"""`layout="kazoo"`: a path shared with kazoo's Lock, ReadLock and WriteLock."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.interop.sides import KazooActor, holds_inside, holds_of, together
from zkkit.check.overlap import overlaps
from zkkit.testing import eventually

OURS: dict[str, Any] = {
    "Lock": lambda actor, path: actor.semaphore_mutex(path, layout="kazoo"),
    "ReadWriteLock.write": lambda actor, path: actor.read_write(path, layout="kazoo")[1],
}
THEIRS: dict[str, Any] = {
    "Lock": lambda actor, path: actor.lock(path),
    "WriteLock": lambda actor, path: actor.read_write(path)[1],
}


PAIRS = tuple(itertools.product(OURS, THEIRS))


@pytest.fixture(params=PAIRS, ids=" and ".join)
def open_lock(request, zk_path):
    """Opens an exclusive lock for an actor of either side."""
    ours, theirs = request.param

    def open_it(actor: Any) -> Any:
        kinds = THEIRS[theirs] if isinstance(actor, KazooActor) else OURS[ours]
        return kinds(actor, zk_path)

    return open_it


@pytest.fixture(params=["python, then kazoo", "kazoo, then python"])
def order(request, python, kazoo):
    """`order()` is a new actor: of one side, then of the other, and so on."""
    both = (python, kazoo) if request.param.startswith("python") else (kazoo, python)
    turns = itertools.cycle(both)
    return lambda: next(turns)()


@pytest.mark.concurrent
def test_never_both(python, kazoo, open_lock):
    """Two of each side contend: their holds never overlap."""
    locks = [open_lock(actor()) for actor in (python, kazoo, python, kazoo)]
    assert overlaps(together(*holds_of(locks, rounds=10))) == []


def test_the_other_layout_is_caught(python, kazoo, zk_path):
    """The broken twin: in Curator's layout the two do not see each other."""
    assert overlaps(holds_inside([kazoo().lock(zk_path)], python().semaphore_mutex(zk_path)))


@pytest.mark.concurrent
def test_a_writer_is_alone(python, kazoo, zk_path):
    """A reader and a writer of each side contend: no writer with anybody."""
    locks = [python().read_write(zk_path, layout="kazoo")[0], kazoo().read_write(zk_path)[0]]
    locks += [python().read_write(zk_path, layout="kazoo")[1], kazoo().read_write(zk_path)[1]]
    *reads, one, other = holds_of(locks, rounds=10)
    writes = together(one, other)
    assert overlaps(writes) == []
    for read in together(*reads):
        assert overlaps([read, *writes]) == []


@pytest.mark.concurrent
def test_handed_over_in_the_order_of_arrival(order, open_lock, python, kazoo):
    """Four in line, the sides in turn; both see the same ones in it, in the same order."""
    looker = python()
    seen_by_us, seen_by_kazoo = open_lock(looker), open_lock(kazoo())
    actors = [order() for _ in range(4)]
    locks = [open_lock(actor) for actor in actors]
    waiting = []
    for place, lock in enumerate(locks, 1):
        waiting.append(lock.begin_acquire())
        assert eventually(lambda wanted=place: len(seen_by_us.participants()) == wanted)
    names = [actor.name for actor in actors]
    assert [looker.data(node) for node in seen_by_us.participants()] == names
    assert eventually(lambda: seen_by_kazoo.participants() == names)
    for granted, lock, following in zip(waiting, locks, [*waiting[1:], None], strict=True):
        assert granted.result(20)
        assert following is None or not following.done()
        lock.release()
    assert eventually(lambda: seen_by_us.participants() == ())


def read_write(actor: Any, path: str) -> Any:
    options = {} if isinstance(actor, KazooActor) else {"layout": "kazoo"}
    return actor.read_write(path, **options)


def test_readers_hold_together(order, python, zk_path):
    """Readers of both sides hold at the same time; a writer waits for both; a reader that comes
    after it waits too."""
    (one, _), (two, _), (_, writer), (late, _) = (read_write(order(), zk_path) for _ in range(4))
    assert one.acquire() and two.acquire(timeout=20)
    writing = writer.begin_acquire()
    looker = python()
    assert eventually(lambda: len(looker.names(zk_path)) == 3)
    reading = late.begin_acquire()
    assert eventually(lambda: len(looker.names(zk_path)) == 4)
    one.release()
    two.release()
    assert writing.result(20) and not reading.done()
    writer.release()
    assert reading.result(20)
    late.release()


def test_our_lock_waits_for_kazoos_readers(python, kazoo, zk_path):
    """Lock(layout="kazoo") is a writer: it keeps readers out and waits for them."""
    ours = python().semaphore_mutex(zk_path, layout="kazoo")
    reader = kazoo().read_write(zk_path)[0]
    assert reader.acquire()
    assert not ours.acquire(timeout=0.2)
    reader.release()
    assert ours.acquire(timeout=20)
    assert not reader.acquire(timeout=0.2)
    ours.release()


def test_kazoos_lock_does_not_wait_for_readers(python, kazoo, zk_path):
    """kazoo's quirk, not to be mended from our side: its Lock looks only at `__lock__` nodes, and
    is granted while anybody reads, ours or its own. With readers on the path use its WriteLock."""
    for reader in (read_write(python(), zk_path)[0], kazoo().read_write(zk_path)[0]):
        lock = kazoo().lock(zk_path)
        assert reader.acquire()
        assert lock.acquire(timeout=20)
        lock.release()
        reader.release()


@pytest.mark.parametrize(
    "open_lock",
    # a second each, for the server to reap; whose lock it is does not matter to it
    [pytest.param(pair, marks=pytest.mark.slow) if "WriteLock" in pair else pair for pair in PAIRS],
    ids=" and ".join,
    indirect=True,
)
def test_the_path_stays(python, kazoo, open_lock, zk_path):
    """kazoo makes sure of a lock's path once, and never again: where the server reaped it as an
    empty container, kazoo's next acquire would fail. So in this layout it is no container."""
    actor, other = python(), kazoo()
    ours, theirs = open_lock(actor), open_lock(other)
    container = f"{zk_path}-container"
    for lock in (ours, theirs, actor.mutex(container)):
        assert lock.acquire()
        lock.release()
    assert eventually(lambda: actor.session.exists(container) is None)
    assert theirs.acquire()
    theirs.release()
