"""What was begun first is first, whoever asks: nothing overtakes what a session was told before."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

import zkkit
from zkkit import ChildrenWatch, DataWatch
from zkkit.steps import Set
from zkkit.testing import eventually, throughout

BOTH = pytest.mark.parametrize("recipe", [DataWatch, ChildrenWatch])


@pytest.mark.concurrent
@BOTH
def test_stopped_at_once(front, recipe, open_session, zk_path):
    """A watch that is stopped right after it was decorated is stopped."""
    session = open_session()
    actor, told = front.actor(), []
    for _ in range(20):
        watch = recipe(session, zk_path)
        actor.call(lambda watch=watch: watch(lambda *given: told.append(given)))
        actor.call(lambda watch=watch: watch.stop())
    before = len(told)
    assert session.standing() == []
    throughout(lambda: len(told) == before, 0.1)


@pytest.mark.front("threads")
def test_another_thread_does_not_overtake_the_main_thread(front, open_session, zk_path):
    """What the main thread hands over to the thread that reads its connection is done before what
    others ask for later, also while that thread is busy."""
    session = open_session()
    busy, go_on = threading.Event(), threading.Event()
    session._runner.hand_over(lambda: (busy.set(), go_on.wait(10)))
    assert busy.wait(10)
    watch = DataWatch(session, zk_path)(lambda data, stat: None)
    stopped = front.actor().begin(lambda: watch.stop())
    eventually(lambda: len(session._runner._engine._handed_over) == 3)
    go_on.set()
    stopped.result(10)
    assert session.standing() == []


@pytest.mark.front("asyncio")
def test_in_the_main_thread(front, zk_hosts, zk_path):
    """Where the event loop runs in the main thread, what is begun without waiting comes first as
    well: a watch that is stopped, a write before a read."""

    async def use() -> list[Any]:
        async with zkkit.aio.connect(zk_hosts, timeout=6.0) as session:
            found: list[Any] = []
            for _ in range(20):
                watch = DataWatch(session, zk_path)(lambda data, stat: None)
                await watch.stop()
                found += session.standing()
            await session.create(zk_path)
            for number in range(20):
                session.background(Set(zk_path, b"%d" % number), lambda outcome: None)
                read = await session.get(zk_path)
                if read.data != b"%d" % number:
                    found.append(read)
            return found

    assert asyncio.run(use()) == []
