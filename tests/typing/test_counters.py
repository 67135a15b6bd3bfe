"""The types of counters and shared values, pinned. mypy checks this file."""

from __future__ import annotations

from typing import assert_type

import zkkit
from zkkit import (
    AtomicFloat,
    AtomicInt,
    AtomicLong,
    AtomicResult,
    AtomicValue,
    CachedAtomicInt,
    CachedAtomicLong,
    PromotedToLock,
    SharedCount,
    SharedValue,
    Versioned,
)
from zkkit.aio import AioSession
from zkkit.recipes.counters import AtomicStatistics


def blocking(session: zkkit.Session) -> None:
    """On a blocking session every call gives its result."""
    counter = AtomicLong(session, "/n", promoted_to=PromotedToLock("/l", timeout=1.0))
    assert_type(counter.get(), int)
    assert_type(counter.increment(), AtomicResult[int])
    assert_type(counter.add(3).after, int)
    assert_type(counter.add(3).statistics, AtomicStatistics)
    assert_type(counter.initialize(3), bool)
    assert_type(counter.force_set(3), None)
    assert_type(AtomicInt(session, "/n").compare_and_set(1, 2).succeeded, bool)
    assert_type(AtomicFloat(session, "/n").add(0.5), AtomicResult[float])
    assert_type(AtomicValue(session, "/n").try_set(b"x"), AtomicResult[bytes])
    assert_type(CachedAtomicLong(counter, 10).next(), AtomicResult[int])
    assert_type(CachedAtomicInt(AtomicInt(session, "/n"), 10).next().before, int)

    with SharedCount(session, "/n", seed=3) as count:
        assert_type(count.value, int)
        assert_type(count.versioned, Versioned[int])
        assert_type(count.get(), int)
        assert_type(count.try_set(count.versioned, 4), bool)
        count.add_listener(lambda now: assert_type(now, Versioned[int]))
    assert_type(SharedValue(session, "/n").get_versioned(), Versioned[bytes])


async def awaited(session: AioSession) -> None:
    """On asyncio it is awaited."""
    counter = AtomicLong(session, "/n", layout="kazoo", promoted_to="/l")
    assert_type(await counter.get(), int)
    assert_type(await counter.decrement(), AtomicResult[int])
    assert_type(await AtomicValue(session, "/n").get(), bytes)
    assert_type(await CachedAtomicLong(counter, 10).next(), AtomicResult[int])
    async with SharedValue(session, "/n", seed=b"x") as value:
        assert_type(value.value, bytes)
        assert_type(await value.set(b"y"), None)
        assert_type(await value.try_set(value.versioned, b"z"), bool)
