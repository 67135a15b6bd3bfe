"""What only one of the fronts can suffer."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import threading
from typing import Any

import pytest

import zkkit
from tests.locks.kinds import ONE_OF_EACH, REENTRANT, over, slowly
from zkkit import ReentrantLock
from zkkit.testing import eventually


@pytest.mark.front("gevent")
@over(*ONE_OF_EACH)
def test_gevent_timeout(front, kind, zk_hosts, zk_path, left_clean):
    """gevent.Timeout passes through an acquire unharmed, and leaves no contender."""
    import gevent

    with front.session(zk_hosts) as session:
        lock = kind.make(session, zk_path)
        owner = front.actor()
        owner.call(lambda: lock.acquire())

        def hurry() -> None:
            with gevent.Timeout(0.3):
                lock.acquire()

        caught = front.actor().begin(hurry).exception(10)
        assert isinstance(caught, gevent.Timeout)
        owner.call(lambda: lock.release())
        left_clean(zk_path)


@pytest.mark.front("gevent")
def test_a_lost_reply_is_noticed_at_once_on_gevent(front, zk_proxy, zk_path, clock):
    """The proxy's end of the connection is closed when it says so, not when the next ping is due:
    a greenlet that waits for a socket makes gevent put off closing it."""
    with front.session(zk_proxy.hosts, timeout=30.0) as session:
        lost = zk_proxy.lose_reply("create")
        began = clock()
        with pytest.raises(zkkit.errors.ConnectionLost):
            front.call(lambda: session.create(zk_path))
        assert lost.wait(0)
        assert clock() - began < 5


@pytest.mark.front("asyncio")
@over(*ONE_OF_EACH)
def test_asyncio_timeout(front, kind, zk_hosts, zk_path, left_clean):
    """asyncio.timeout cancels an acquire, which leaves no contender."""
    with front.session(zk_hosts) as session:
        lock = kind.make(session, zk_path)
        owner = front.actor()
        owner.call(lambda: lock.acquire())

        async def hurry() -> None:
            async with asyncio.timeout(0.3):
                await lock.acquire()

        assert isinstance(front.actor().begin(hurry).exception(10), TimeoutError)
        owner.call(lambda: lock.release())
        left_clean(zk_path)


@pytest.mark.front("asyncio")
@pytest.mark.concurrent
@pytest.mark.parametrize(
    "timeout",
    [pytest.param(None, id="without a timeout", marks=pytest.mark.slow),
     pytest.param(20.0, id="with a timeout")],
)  # fmt: skip
@over(REENTRANT, *(slowly(kind) for kind in ONE_OF_EACH if kind is not REENTRANT))
def test_every_cancel_is_raised(front, kind, zk_hosts, zk_path, left_clean, timeout):
    """A cancel that comes together with the grant, a little before or after it, is raised, and the
    lock is given back: as many turns of the loop late as it takes for the call to be over."""
    told = _Told()

    async def race(rival: Any, lock: Any, late: int) -> bool:
        """Cancel so many turns late; whether the cancel arrived before the call was over."""
        held = rival.acquire()
        task = asyncio.create_task(lock.acquire(timeout=timeout))
        await asyncio.sleep(0)
        assert told.waits.wait(20)
        held.release()
        assert told.granted.wait(20)
        with session._runner._monitor:  # whoever has it now, the grant is on its way to the loop
            told.forget()
        for _ in range(late):
            await asyncio.sleep(0)
        arrived = task.cancel()
        outcome, *_ = await asyncio.gather(task, return_exceptions=True)
        assert isinstance(outcome, asyncio.CancelledError) == arrived, outcome
        if not arrived:
            await session.run(outcome.give_back())
        return arrived

    with zkkit.connect(zk_hosts, timeout=6.0) as holder, front.session(zk_hosts) as session:
        session.hooks.add(told)
        rival, lock = kind.make(holder, zk_path), kind.make(session, zk_path)
        arrived = [
            front.call(lambda late=late: race(rival, lock, late))
            for late in range(6)
            for _ in range(2)
        ]
        assert arrived.count(True) >= 4
        left_clean(zk_path)


class _Told:
    """An instrument: somebody waits in line, somebody is granted the lock."""

    def __init__(self) -> None:
        self.waits, self.granted = threading.Event(), threading.Event()

    def forget(self) -> None:
        self.waits.clear()
        self.granted.clear()

    def watch_set(self, event: Any) -> None:
        self.waits.set()

    def acquired(self, event: Any) -> None:
        self.granted.set()


@pytest.mark.front("asyncio")
@over(*ONE_OF_EACH)
def test_a_loop_closed_under_a_waiting_task(front, kind, zk_hosts, zk_path, left_clean, when):
    """The loop is gone with a task still waiting: the contender goes, another loop can close."""
    with front.session(zk_hosts) as holder:
        owner = front.actor()
        lock = kind.make(holder, zk_path)
        owner.call(lambda: lock.acquire())
        loop = asyncio.new_event_loop()
        session: Any = loop.run_until_complete(_connected(zk_hosts))
        queued = when(session, watch_set=1)
        task = loop.create_task(kind.make(session, zk_path).acquire())
        while not queued._done.is_set():
            loop.run_until_complete(asyncio.sleep(0.01))
        task._log_destroy_pending = False  # what this test is about
        loop.close()
        owner.call(lambda: lock.release())
        left_clean(zk_path)
        asyncio.run(session.close())


async def _connected(hosts: str) -> Any:
    return await zkkit.aio.connect(hosts, timeout=6.0)


@pytest.mark.front("threads")
@pytest.mark.concurrent
def test_a_storm_of_interrupts(front, zk_hosts, zk_path, left_clean):
    """Ctrl-C at any bytecode of acquire and release: no orphan, no hang."""
    rng = random.Random(7)
    struck = 0
    with front.session(zk_hosts) as session:
        lock = ReentrantLock(session, zk_path)
        for _ in range(60):
            pause = rng.uniform(0.0001, 0.008)
            struck += _interrupt_after(pause, lambda: _use(lock))
            _release_if_held(lock)
        left_clean(zk_path)
    assert struck > 10


def _use(lock: Any) -> None:
    for _ in range(3):
        lock.acquire()
        lock.release()


def _release_if_held(lock: Any) -> None:
    """The interrupt may have struck between the return of acquire and the next line."""
    for _ in range(3):
        try:
            lock.release()
        except zkkit.errors.NotOwner:
            return


def _interrupt_after(seconds: float, job: Any) -> bool:
    """Whether the signal struck inside `job`."""

    came: list[bool] = []

    def strike(number: int, frame: Any) -> None:
        came.append(True)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, strike)
    timer = threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGUSR1))
    inside = False
    try:
        timer.start()
        try:
            job()
        except KeyboardInterrupt:
            inside = True
        if not inside:
            timer.join()
            # It strikes out here, or has struck where Python swallows it (in a weakref's callback).
            eventually(lambda: came)
    except KeyboardInterrupt:
        pass
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, before)
    return inside
