"""A semaphore and its limit, shared with Java; and the SharedCount that the limit may be."""

from __future__ import annotations

import pytest

from tests.interop.sides import holds_inside, holds_of, line_of, most_at_once, together
from zkkit.recipes.locks.leases import LeaseAttempt
from zkkit.steps import Script
from zkkit.testing import eventually

pytestmark = pytest.mark.interop

LIMIT = 2
ROOMS = ("locks", "leases")


@pytest.mark.concurrent
def test_never_more_than_the_limit(python, java, zk_path):
    """Two of each language contend for two leases."""
    actors = (python, java, python, java)
    locks = [actor().semaphore(zk_path, LIMIT) for actor in actors]
    assert most_at_once(together(*holds_of(locks, rounds=8, hold_ms=2))) <= LIMIT


def always(_: object) -> Script[bool]:
    """Whoever was met before."""
    yield from ()
    return True


@pytest.mark.concurrent
@pytest.mark.parametrize("limit", [1, LIMIT])
def test_leases_out_of_turn_let_nobody_in(python, java, zk_path, monkeypatch, limit):
    """Python creates its lease together with its place in line every time, whoever is ahead: Java,
    which counts leases, is held up by those and comes to its turn."""
    monkeypatch.setattr(LeaseAttempt, "_optimistic", always)
    locks = [actor().semaphore(zk_path, limit) for actor in (python, java, python, java)]
    assert most_at_once(together(*holds_of(locks, rounds=8, hold_ms=2))) <= limit
    looker = python()
    assert eventually(lambda: not any(looker.names(f"{zk_path}/{room}") for room in ROOMS))


def test_another_limit_is_caught(python, java, zk_path):
    """The broken twin: one side believes in a larger limit, and the check sees it."""
    ours = python().semaphore(zk_path, LIMIT + 2)
    theirs = [java().semaphore(zk_path, LIMIT) for _ in range(LIMIT)]
    assert most_at_once(holds_inside(theirs, ours)) > LIMIT


def test_leases_are_seen_and_returned_across(order, python, java, zk_path):
    """One lease each: both sides see the same two, a third waits until either returns one."""
    actors = [order() for _ in range(LIMIT)]
    holders = [actor.semaphore(zk_path, LIMIT) for actor in actors]
    third = order().semaphore(zk_path, LIMIT)
    looker = python()
    seen_by = [looker.semaphore(zk_path, LIMIT), java().semaphore(zk_path, LIMIT)]
    for holder in holders:
        assert holder.acquire()

    def seen() -> list[list[str]]:
        # Curator gives bare names, in no order.
        return [sorted(p.rpartition("/")[2] for p in line_of(s)) for s in seen_by]

    assert eventually(lambda: [len(each) for each in seen()] == [LIMIT, LIMIT])
    ours, theirs = seen()
    assert ours == theirs
    assert [looker.data(lease) for lease in seen_by[0].participants()] == [a.name for a in actors]
    assert not third.acquire(timeout=0.3)
    holders[0].release()
    assert third.acquire(timeout=20)
    third.release()
    holders[1].release()
    assert eventually(lambda: seen() == [[], []])


def test_all_leases_at_once(python, java, zk_path):
    """Two leases taken together leave Java none; it gets one when they are returned."""
    ours, theirs = python().semaphore(zk_path, LIMIT), java().semaphore(zk_path, LIMIT)
    leases = ours.lock.acquire_many(LIMIT)
    assert len(leases) == LIMIT
    assert not theirs.acquire(timeout=0.3)
    granted = theirs.begin_acquire()
    leases.release()
    assert granted.result(20)
    assert ours.lock.acquire_many(LIMIT, blocking=False) is None
    theirs.release()


@pytest.mark.concurrent
def test_the_limit_changes_while_both_wait(order, python, zk_path):
    """One holds, one of each language waits. Raised by whichever side, the limit lets both in;
    lowered, it lets nobody in until enough leases are back."""
    limit = f"{zk_path}-limit"
    setter, *actors = (order() for _ in range(5))
    setter.set_count(limit, 1)
    assert eventually(lambda: [actor.count(limit) for actor in actors] == [1] * 4)
    holder, one, other, late = (actor.semaphore(zk_path, limit) for actor in actors)
    assert holder.acquire()
    looker = python()
    assert eventually(lambda: not looker.names(f"{zk_path}/locks"))
    first, second = one.begin_acquire(), other.begin_acquire()
    assert eventually(lambda: [len(looker.names(f"{zk_path}/{n}")) for n in ROOMS] == [2, 2])
    assert not first.done() and not second.done()
    setter.set_count(limit, 3)
    assert first.result(20) and second.result(20)
    setter.set_count(limit, 2)
    assert eventually(lambda: actors[-1].count(limit) == 2)
    holder.release()
    assert not late.acquire(timeout=0.4)  # two of two are out
    granted = late.begin_acquire()
    one.release()
    assert granted.result(20)
    late.release()
    other.release()


@pytest.mark.parametrize("value", [0, 7, -2, 2**31 - 1, -(2**31)])
def test_a_count_is_read_as_it_was_written(order, python, zk_path, value):
    """What one side sets the other gets: four bytes, big-endian."""
    writer, reader = order(), order()
    writer.set_count(zk_path, value)
    assert python().session.get(zk_path).data == value.to_bytes(4, "big", signed=True)
    assert eventually(lambda: reader.count(zk_path) == value)
    reader.set_count(zk_path, 41)
    assert eventually(lambda: writer.count(zk_path) == 41)
