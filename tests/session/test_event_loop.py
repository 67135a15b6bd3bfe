"""Who reads an asyncio session's socket: its event loop, or whoever stands in for it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

import zkkit.aio
from zkkit import ReentrantLock
from zkkit.errors import ZkkitError
from zkkit.session.event_loop import EventLoopSeat
from zkkit.steps import Create, Script, Set
from zkkit.testing import Proxy
from zkkit.testing.aio import eventually

TIMEOUT = 2.0
LONGER = 3.5  # seconds, than a session lives without an answer


@pytest.fixture
def events() -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop that is run by hand."""
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


async def connected(hosts: str, **options: Any) -> zkkit.aio.AioSession:
    return await zkkit.aio.connect(hosts, **options)


def two_nodes(path: str) -> Script[None]:
    """The second one is created when the reply to the first was read."""
    yield from Create(f"{path}-one")
    yield from Create(f"{path}-two")


class Whereabouts:
    """Notes on which threads scripts move."""

    def __init__(self) -> None:
        self.threads: list[threading.Thread] = []

    def step(self, event: Any) -> None:
        self.threads.append(threading.current_thread())


def test_scripts_move_on_the_event_loop(zk_hosts: str, zk_path: str) -> None:
    """No other thread has to be woken for a reply."""

    async def use() -> None:
        async with zkkit.aio.connect(zk_hosts) as session:
            where = Whereabouts()
            session.hooks.add(where)
            await session.run(two_nodes(zk_path))
            async with ReentrantLock(session, zk_path):
                pass
            assert where.threads and set(where.threads) == {threading.current_thread()}

    asyncio.run(use())


@pytest.mark.parametrize("stands_in", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_loop_that_is_held_up(
    zk_hosts: str, zk_path: str, monkeypatch: pytest.MonkeyPatch, stands_in: bool
) -> None:
    """Somebody blocks the event loop for longer than the session timeout: the session lives, and
    its holds are proved. With nobody to stand in for the loop they would be lost."""
    if not stands_in:
        monkeypatch.setattr(EventLoopSeat, "_catch_up", lambda self: None)

    async def use() -> None:
        async with zkkit.aio.connect(zk_hosts, timeout=TIMEOUT) as session:
            hold = await ReentrantLock(session, zk_path).acquire()
            assert hold is not None
            time.sleep(LONGER)
            assert hold.valid is stands_in

    asyncio.run(use())


@pytest.mark.slow  # test_a_loop_that_is_held_up has the same reader
def test_a_loop_that_rests(events: asyncio.AbstractEventLoop, zk_hosts: str, zk_path: str) -> None:
    """Between two runs of its event loop a session lives on, and what was sent goes on."""
    session = events.run_until_complete(connected(zk_hosts, timeout=TIMEOUT))
    before = session.session_id
    session.spawn(two_nodes(zk_path))
    time.sleep(LONGER)
    assert session.session_id == before != 0
    assert events.run_until_complete(session.exists(f"{zk_path}-two")) is not None
    events.run_until_complete(session.close())


def test_a_loop_closed_under_its_session(
    events: asyncio.AbstractEventLoop, zk_hosts: str, zk_path: str, other: zkkit.Session
) -> None:
    """Another thread reads at once, long before a timer of this session is due."""
    session = events.run_until_complete(connected(zk_hosts, timeout=20.0))
    events.close()
    session.spawn(two_nodes(zk_path))
    zkkit.testing.eventually(lambda: other.exists(f"{zk_path}-two"), 2.0)
    asyncio.run(session.close())


class WithoutReaders(asyncio.SelectorEventLoop):
    """As Windows' default one: it does not tell of sockets that others made."""

    def add_reader(self, fd: Any, callback: Any, *args: Any) -> Any:
        if callback.__name__ == "can_read":
            raise NotImplementedError
        return super().add_reader(fd, callback, *args)


def test_an_event_loop_that_cannot_tell_of_sockets(zk_hosts: str, zk_path: str) -> None:
    """The thread that all sessions share reads instead."""

    async def use() -> None:
        async with zkkit.aio.connect(zk_hosts, timeout=20.0) as session:
            async with asyncio.timeout(5.0):
                await session.run(two_nodes(zk_path))
                assert await session.exists(f"{zk_path}-two") is not None

    with asyncio.Runner(loop_factory=WithoutReaders) as runner:
        runner.run(use())


def test_an_event_loop_that_cannot_tell_of_sockets_is_closed(
    zk_hosts: str, zk_path: str, other: zkkit.Session, caplog: Any
) -> None:
    """Nothing changes: it never read."""
    events = WithoutReaders()
    session = events.run_until_complete(connected(zk_hosts, timeout=20.0))
    events.close()
    session.spawn(two_nodes(zk_path))
    zkkit.testing.eventually(lambda: other.exists(f"{zk_path}-two"), 2.0)
    asyncio.run(session.close())
    assert not [each for each in caplog.records if each.levelname == "ERROR"]


@pytest.mark.parametrize("drops", [False, True])
def test_a_method_of_kazoos_that_blocks_the_loop(zk_proxy: Proxy, drops: bool) -> None:
    """Its reply is read long before a timer of the session is due."""

    async def use() -> None:
        async with zkkit.aio.connect(zk_proxy.hosts, timeout=30.0) as session:
            if drops:
                zk_proxy.drop()
                await eventually(lambda: session.state == "suspended")
            began = time.monotonic()
            assert session.kazoo.retry(session.kazoo.exists, "/") is not None
            assert time.monotonic() - began < 3.0

    asyncio.run(use())


def test_a_server_that_does_not_read(zk_proxy: Proxy, zk_path: str) -> None:
    """Deadlines hold, and the event loop writes the rest when the server reads again."""

    async def set_in_vain(session: zkkit.aio.AioSession) -> None:
        with suppress(ZkkitError):
            await session.run(Set(zk_path, bytes(900_000)), timeout=1.0)

    async def use() -> None:
        async with zkkit.aio.connect(zk_proxy.hosts, timeout=20.0) as session:
            await session.create(zk_path)
            zk_proxy.freeze()
            begun = time.monotonic()
            await asyncio.gather(*(set_in_vain(session) for _ in range(30)))
            assert time.monotonic() - begun < 5.0
            before = session.session_id
            zk_proxy.thaw()
            await eventually(lambda: session.set(zk_path, b"after"))
            assert (await session.get(zk_path)).data == b"after"
            assert session.session_id == before

    asyncio.run(use())


def test_the_connection_breaks(zk_proxy: Proxy, zk_path: str) -> None:
    """Each new connection of a session is read by its event loop again, and the old one's socket is
    not taken for the new one's."""

    async def use() -> None:
        async with zkkit.aio.connect(zk_proxy.hosts, timeout=20.0) as session:
            where = Whereabouts()
            session.hooks.add(where)
            for number in range(5):
                zk_proxy.drop()
                await eventually(_made(session, f"{zk_path}-{number}"))
            assert threading.current_thread() in where.threads

    asyncio.run(use())


def _made(session: zkkit.aio.AioSession, path: str) -> Callable[[], Any]:
    async def make() -> bool:
        with suppress(ZkkitError):
            await session.run(Create(path), timeout=2.0)
        return await session.exists(path) is not None

    return make
