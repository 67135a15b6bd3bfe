"""`with` and `async with`: each where it belongs, and each gives back its own hold."""

from __future__ import annotations

import gc
import warnings
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.locks.kinds import ALL, over
from tests.support.fronts import FrontUnderTest, played
from zkkit import MultiLock, ReadWriteLock, ReentrantLock, Semaphore
from zkkit.errors import NotOwner, WrongWith


async def result(given: Any) -> Any:
    """What a call gives, in either world."""
    return await given if isinstance(given, Coroutine) else given


@asynccontextmanager
async def block(manager: Any, front: FrontUnderTest) -> AsyncIterator[Any]:
    """The `with` that is right in this world."""
    if front.name == "asyncio":
        async with manager as hold:
            yield hold
    else:
        with manager as hold:
            yield hold


# --- the wrong one of the two -------------------------------------------------------------------


@over(*ALL)
@pytest.mark.parametrize("manager", ["lock", "held"])
def test_the_wrong_with(front, kind, open_session, zk_path, contenders, manager):
    """It is refused before anything happens, says which one is right, and leaves no coroutine that
    nobody awaits."""
    lock = kind.make(open_session(), zk_path)
    wrong = lock if manager == "lock" else lock.held(timeout=5)

    async def with_it() -> None:
        with wrong:
            raise AssertionError("inside")

    async def async_with_it() -> None:
        async with wrong:
            raise AssertionError("inside")

    misuse = with_it if front.name == "asyncio" else async_with_it
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with pytest.raises(WrongWith) as caught:
            played(front, misuse)
        gc.collect(1)  # the young: a coroutine that nobody awaited is one of them
    assert not warned
    assert isinstance(caught.value, TypeError)
    assert ("async with" in caught.value.hint) == (front.name == "asyncio")
    assert contenders(zk_path) == []


# --- its own hold -------------------------------------------------------------------------------


@pytest.mark.parametrize("manager", ["lock", "held"])
def test_a_block_returns_its_own_lease(front, open_session, zk_path, manager):
    """What is acquired inside of it stays acquired, in whatever order blocks and leases come."""
    semaphore = Semaphore(open_session(), zk_path, 5)
    entered = semaphore if manager == "lock" else semaphore.held(timeout=20)

    async def body() -> None:
        before = await result(semaphore.acquire())
        async with block(entered, front) as outer:
            between = await result(semaphore.acquire())
            async with block(entered, front) as inner:
                inside = await result(semaphore.acquire())
            assert outer.valid and not inner.valid
        assert not outer.valid
        assert before.valid and between.valid and inside.valid
        assert await result(inside.check())
        for _ in range(3):
            await result(semaphore.release())
        assert not (before.valid or between.valid or inside.valid)

    played(front, body)


def test_a_block_counts_as_one_acquire(front, open_session, zk_path, left_clean):
    """Who acquires a reentrant lock once more inside of the block still has it afterwards."""
    lock = ReentrantLock(open_session(), zk_path)

    async def body() -> None:
        async with block(lock, front) as hold:
            assert (await result(lock.acquire())).path == hold.path
            async with block(lock, front):
                pass
        assert hold.valid
        await result(lock.release())
        assert not hold.valid

    played(front, body)
    left_clean(zk_path)


def test_a_write_block_leaves_the_read_lock(front, open_session, zk_path):
    """A downgrade out of the block: the read lock is kept."""
    lock = ReadWriteLock(open_session(), zk_path)

    async def body() -> None:
        async with block(lock.write, front) as writing:
            reading = await result(lock.read.acquire())
        assert reading.valid and not writing.valid
        await result(reading.release())

    played(front, body)


@pytest.mark.parametrize("way", ["block", "lock", "hold"])
def test_a_multi_lock_returns_its_own_lease(front, open_session, zk_path, way, left_clean):
    """A lease of its member that was taken beside it is nobody's but the taker's, however the
    MultiLock is released."""
    session = open_session()
    semaphore = Semaphore(session, f"{zk_path}/a", 3)
    lock = MultiLock(session, [semaphore, f"{zk_path}/b"])

    async def body() -> None:
        before = await result(semaphore.acquire())
        if way == "block":
            async with block(lock, front) as hold:
                after = await result(semaphore.acquire())
        else:
            hold = await result(lock.acquire())
            after = await result(semaphore.acquire())
            await result((lock if way == "lock" else hold).release())
        assert not any(each.valid for each in hold.holds)
        assert before.valid and after.valid
        with pytest.raises(NotOwner):
            await result(lock.release())
        assert before.valid and after.valid
        await result(before.release())
        await result(after.release())

    played(front, body)
    left_clean(zk_path)


def test_a_multi_lock_acquired_twice(front, open_session, zk_path, left_clean):
    """It is free after as many releases, whichever way they are made."""
    lock = MultiLock(open_session(), [f"{zk_path}/a", f"{zk_path}/b"])

    async def body() -> None:
        first = await result(lock.acquire())
        async with block(lock, front) as second:
            assert second.token == first.token
            third = await result(lock.acquire())
            await result(third.release())
        assert first.valid
        await result(lock.release())
        assert not first.valid
        with pytest.raises(NotOwner):
            await result(first.release())

    played(front, body)
    left_clean(zk_path)


def test_anothers_release_of_a_multi_lock_changes_nothing(front, open_session, zk_path):
    """It is refused, and the owner's own still works."""
    lock = MultiLock(open_session(), [f"{zk_path}/a", f"{zk_path}/b"])
    owner, other = front.actors(2)
    hold = owner.call(lambda: lock.acquire())
    for release in (hold.release, lock.release):
        with pytest.raises(NotOwner):
            other.call(lambda release=release: release())
    owner.call(lambda: lock.release())
    assert not hold.valid


def test_several_actors_in_blocks_of_one_manager(front, open_session, zk_path):
    """Each leaves with the hold that it entered with."""
    semaphore = Semaphore(open_session(), zk_path, 3)
    manager = semaphore.held(timeout=20)
    enter, leave = ("__aenter__", "__aexit__") if front.name == "asyncio" else (
        "__enter__", "__exit__"
    )  # fmt: skip
    one, two = front.actors(2)
    first = one.call(lambda: getattr(manager, enter)())
    second = two.call(lambda: getattr(manager, enter)())
    one.call(lambda: getattr(manager, leave)(None, None, None))
    assert second.valid and not first.valid
    with pytest.raises(NotOwner, match="no block"):
        one.call(lambda: getattr(manager, leave)(None, None, None))
    two.call(lambda: getattr(manager, leave)(None, None, None))
    assert not second.valid


def test_a_hold_released_inside_its_block(front, open_session, zk_path, left_clean):
    """The block has nothing left to give back: it says so, and takes nothing else for it."""
    semaphore = Semaphore(open_session(), zk_path, 3)
    kept: list[Any] = []

    async def body() -> None:
        async with block(semaphore, front) as hold:
            kept.append(await result(semaphore.acquire()))
            await result(hold.release())

    with pytest.raises(NotOwner):
        played(front, body)
    assert kept[0].valid
    front.call(lambda: kept[0].release())
    left_clean(zk_path)
