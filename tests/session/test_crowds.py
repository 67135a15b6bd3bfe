"""Many actors on one session at once: handing over a request must never wait for the connection."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest

import zkkit.aio
from zkkit import ReentrantLock
from zkkit.steps import Data, Exists, Get, Script, Together, Wait
from zkkit.testing import Proxy, aio, eventually

CROWD = 2000


def wait_and_read(arrived: list[None]) -> Script[Data]:
    """Wait for a watch; a dropped connection wakes as well. Then read."""
    yield from Exists("/never-made", watch=True)
    arrived.append(None)
    yield from Wait()
    return (yield from Get("/"))


@pytest.fixture
def small_stacks() -> Iterator[None]:
    """Threads that are started in the test take little memory."""
    before = threading.stack_size(256 * 1024)
    yield
    threading.stack_size(before)


@pytest.mark.slow  # a crowd at a closed door is there every day
def test_two_thousand_threads_outlive_a_dropped_connection(
    through: zkkit.Session, zk_proxy: Proxy, small_stacks: None
) -> None:
    """All wait in one session when its connection is dropped; all are woken and go on."""
    arrived: list[None] = []
    read: list[Data] = []
    threads = [
        threading.Thread(
            target=lambda: read.append(through.run(wait_and_read(arrived))), daemon=True
        )
        for _ in range(CROWD)
    ]
    for thread in threads:
        thread.start()
    eventually(lambda: len(arrived) == CROWD, 30.0)
    zk_proxy.drop()
    eventually(lambda: len(read) == CROWD, 30.0)
    for thread in threads:
        thread.join(5.0)


@pytest.mark.slow  # as with threads
def test_two_thousand_tasks_outlive_a_dropped_connection(zk_proxy: Proxy) -> None:
    """The same with asyncio."""

    async def main() -> None:
        async with zkkit.aio.connect(zk_proxy.hosts, timeout=5.0) as session:
            async with asyncio.timeout(60.0):
                arrived: list[None] = []
                tasks = [
                    asyncio.create_task(session.run(wait_and_read(arrived))) for _ in range(CROWD)
                ]
                await aio.eventually(lambda: len(arrived) == CROWD, 60.0)
                zk_proxy.drop()
                assert len(await asyncio.gather(*tasks)) == CROWD

    asyncio.run(main())


GREENLETS = """
from gevent import monkey; monkey.patch_all()
import sys, gevent, zkkit
from zkkit.steps import Exists, Get, Wait

hosts, crowd = sys.argv[1], int(sys.argv[2])
arrived = []

def wait_and_read():
    yield from Exists("/never-made", watch=True)
    arrived.append(None)
    yield from Wait()
    return (yield from Get("/"))

with zkkit.connect(hosts, timeout=5.0, handler="gevent") as session, gevent.Timeout(60.0):
    greenlets = [gevent.spawn(lambda: session.run(wait_and_read())) for _ in range(crowd)]
    while len(arrived) < crowd:
        gevent.sleep(0.02)
    print("waiting", flush=True)
    gevent.joinall(greenlets, raise_error=True)
"""


@pytest.mark.slow  # as with threads and tasks
def test_two_thousand_greenlets_outlive_a_dropped_connection(zk_proxy: Proxy) -> None:
    """The same with gevent, in a process of its own."""
    pytest.importorskip("gevent")
    command = [sys.executable, "-c", GREENLETS, zk_proxy.hosts, str(CROWD)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "waiting\n"
            zk_proxy.drop()
            assert process.wait(90.0) == 0
        finally:
            process.kill()


def test_flight_of_five_thousand(session: zkkit.Session) -> None:
    """One flight may have more requests than the wake-up has room for."""
    stats = session.run(Together(*[Exists("/") for _ in range(5000)]), timeout=30.0)
    assert len(stats) == 5000


def test_crowd_at_a_closed_door(
    through: zkkit.Session,
    zk_proxy: Proxy,
    small_stacks: None,
    beside: Callable[..., Future[Any]],
) -> None:
    """What many actors ask for while there is no connection is sent, all of it, when it is back;
    deadlines hold meanwhile."""
    zk_proxy.cut()
    eventually(lambda: through.state == "suspended")
    asked = [beside(through.exists, "/") for _ in range(500)]
    with pytest.raises(TimeoutError):
        through.run(Exists("/"), timeout=0.2)
    zk_proxy.mend()
    assert all(stat.result(20.0) is not None for stat in asked)


@pytest.mark.slow  # the crowd above, in a line
def test_lock_outlives_a_drop_with_three_hundred_in_line(
    through: zkkit.Session,
    zk_proxy: Proxy,
    zk_path: str,
    small_stacks: None,
    beside: Callable[..., Future[Any]],
) -> None:
    """Three hundred threads acquire one lock of one session, the connection is dropped while they
    stand in line, and everyone has its turn."""
    lock = ReentrantLock(through, zk_path)

    def visit() -> int:
        with lock as hold:
            return hold.token

    with lock:
        visits = [beside(visit) for _ in range(300)]
        eventually(lambda: len(through.children(zk_path)) == 301, 20.0)
        zk_proxy.drop()
    assert len({visit.result(30.0) for visit in visits}) == 300


def test_lock_three_hundred_levels_deep(session: zkkit.Session, zk_path: str) -> None:
    """All missing parents are made in one flight."""
    path = zk_path + "/d" * 300
    with ReentrantLock(session, path).held(timeout=20.0) as hold:
        assert hold.check()


def test_kazoo_users_may_crowd_too(session: zkkit.Session) -> None:
    """Requests through the kazoo client below share the wake-up, and none is forgotten."""
    results = [session.kazoo.exists_async("/") for _ in range(1000)]
    assert all(result.get(timeout=20.0) is not None for result in results)
