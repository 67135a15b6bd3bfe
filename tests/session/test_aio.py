"""The asyncio front: the same session, awaited. Plain tests around `asyncio.run`."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import zkkit.aio
from zkkit.errors import (
    Cancelled,
    ConnectFailed,
    ConnectionLost,
    DeadlineExceeded,
    NoNode,
    NotASession,
    NotAStep,
    SessionClosed,
    SessionLost,
    TimedOut,
    WrongWith,
)
from zkkit.record import Recorder
from zkkit.steps import (
    Actor,
    Call,
    Children,
    Create,
    Delete,
    Fire,
    FireKind,
    Get,
    Guid,
    Mode,
    Script,
    Stop,
    Sync,
    Together,
    Wait,
    Within,
)
from zkkit.testing import Proxy
from zkkit.testing.aio import eventually

Use = Callable[[zkkit.aio.AioSession], Coroutine[Any, Any, Any]]
InSession = Callable[..., Any]


@pytest.fixture
def in_session(zk_hosts: str) -> InSession:
    """Run a coroutine function with an open session, in a loop of its own."""

    def run(use: Use, hosts: str = zk_hosts, **options: Any) -> Any:
        async def main() -> Any:
            async with zkkit.aio.connect(hosts, timeout=5.0, **options) as session:
                async with asyncio.timeout(20.0):
                    return await use(session)

        return asyncio.run(main())

    return run


def test_connect_awaited(zk_hosts: str) -> None:
    """`await connect(...)` gives an open session, closed by its own `close`; twice is harmless."""

    async def main() -> None:
        session = await zkkit.aio.connect(zk_hosts, timeout=5.0)
        assert session.state == "connected"
        assert (await session.exists("/")) is not None
        await session.close()
        await session.close()
        assert session.state == "closed"

    asyncio.run(main())


def test_connect_as_a_context_manager(zk_hosts: str) -> None:
    """`async with connect(...)` closes it, however the block ends."""

    async def main() -> zkkit.aio.AioSession:
        with pytest.raises(LookupError):
            async with zkkit.aio.connect(zk_hosts, timeout=5.0) as session:
                raise LookupError
        return session

    assert asyncio.run(main()).state == "closed"


def test_operations(in_session: InSession, zk_path: str) -> None:
    """The plain operations give coroutines of what the blocking ones give."""

    async def use(session: zkkit.aio.AioSession) -> None:
        node = await session.create(zk_path, b"x")
        assert await session.get(zk_path) == (b"x", node.stat)
        assert (await session.set(zk_path, b"y", version=0)).version == 1
        await session.multi(Create(f"{zk_path}/a"), Create(f"{zk_path}/b"))
        assert set(await session.children(zk_path)) == {"a", "b"}
        await session.delete(f"{zk_path}/a")
        assert await session.exists(f"{zk_path}/a") is None
        with pytest.raises(NoNode):
            await session.get(f"{zk_path}/a")

    in_session(use)


def test_namespace(in_session: InSession, zk_path: str, other: zkkit.Session) -> None:
    """A namespace is made while connecting, and all paths are below it."""

    async def use(session: zkkit.aio.AioSession) -> str:
        return (await session.create("/a")).path

    assert in_session(use, namespace=zk_path) == "/a"
    assert other.children(zk_path) == ("a",)


def test_run(in_session: InSession, zk_path: str) -> None:
    """Scripts and steps run as they do on threads; the actor is the task."""

    def script() -> Script[tuple[Any, ...]]:
        made, names = yield from Together(Create(zk_path), Children("/"))
        try:
            yield from Within(0.1, Wait())
        except TimedOut:
            return made.path, zk_path[1:] in names, (yield from Actor())
        return ()

    async def use(session: zkkit.aio.AioSession) -> None:
        assert await session.run(script()) == (zk_path, True, asyncio.current_task())
        assert await session.run(Children(zk_path)) == ()
        with pytest.raises(NotAStep):
            await session.run(42)  # type: ignore[arg-type]

    in_session(use)


def test_many_tasks(in_session: InSession, zk_path: str) -> None:
    """Each task gets the answer to its own question."""

    async def use(session: zkkit.aio.AioSession) -> None:
        await session.create(zk_path)
        made = await asyncio.gather(*(session.create(f"{zk_path}/{n}") for n in range(50)))
        assert [node.path for node in made] == [f"{zk_path}/{n}" for n in range(50)]

    in_session(use)


def test_callbacks_run_on_the_loop(in_session: InSession, zk_path: str) -> None:
    """User code runs where the loop runs: it may touch futures and tasks."""

    async def use(session: zkkit.aio.AioSession) -> None:
        loop = asyncio.get_running_loop()
        thread = await session.run(Call(threading.current_thread))
        assert thread is threading.current_thread()
        outcome: asyncio.Future[Any] = loop.create_future()
        session.background(Create(zk_path), outcome.set_result)
        assert (await outcome).result.path == zk_path
        failed: asyncio.Future[Any] = loop.create_future()
        session.background(Create(zk_path), failed.set_result)
        assert (await failed).error is not None
        with pytest.raises(ZeroDivisionError):
            await session.run(Call(divmod, 1, 0))

    in_session(use)


def test_spawn_and_stop(in_session: InSession, zk_path: str) -> None:
    """A background script runs until it is stopped, and Stop waits for its clean-up."""

    def script() -> Script[None]:
        yield from Create(zk_path)
        try:
            yield from Wait()
        finally:
            yield from Delete(zk_path)

    async def use(session: zkkit.aio.AioSession) -> None:
        spawned = session.spawn(script())
        await eventually(lambda: session.exists(zk_path), 5.0)
        await session.run(Stop(spawned))
        assert await session.exists(zk_path) is None

    in_session(use)


def test_a_watch(in_session: InSession, zk_path: str) -> None:
    """A change made by another task wakes the one that waits."""

    def look() -> Script[Fire]:
        yield from Create(zk_path)
        yield from Get(zk_path, watch=True)
        return (yield from Wait())

    async def use(session: zkkit.aio.AioSession) -> None:
        waiting = asyncio.create_task(session.run(look()))
        await eventually(lambda: session.exists(zk_path), 5.0)
        await session.set(zk_path, b"x")
        assert await waiting == Fire(FireKind.CHANGED, zk_path)

    in_session(use)


def test_cancelled_task(in_session: InSession, zk_path: str) -> None:
    """Cancelling the task cancels the script, which cleans up in the session."""
    seen: list[str] = []

    def script() -> Script[None]:
        yield from Create(zk_path)
        try:
            yield from Wait()
        except Cancelled:
            seen.append("cancelled")
            raise
        finally:
            yield from Delete(zk_path)

    async def use(session: zkkit.aio.AioSession) -> None:
        task = asyncio.create_task(session.run(script()))
        await eventually(lambda: session.exists(zk_path), 5.0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await session.run(Sync("/"))
        assert await session.exists(zk_path) is None

    in_session(use)
    assert seen == ["cancelled"]


def test_deadline(in_session: InSession) -> None:
    """A passed deadline is kept; the loop runs on meanwhile."""

    async def use(session: zkkit.aio.AioSession) -> float:
        began = time.monotonic()
        with pytest.raises(DeadlineExceeded, match=r"0\.3 s"):
            await session.run(Wait(), timeout=0.3)
        return time.monotonic() - began

    assert 0.29 < in_session(use) < 0.3 + 1


@pytest.mark.parametrize("timeout", [-1, -0.5])
def test_impossible_deadlines(in_session: InSession, timeout: float) -> None:
    """A negative time is refused, as on threads."""

    async def use(session: zkkit.aio.AioSession) -> None:
        with pytest.raises(ValueError, match="timeout"):
            await session.run(Wait(), timeout=timeout)

    in_session(use)


def test_asyncio_timeout(in_session: InSession) -> None:
    """The loop's own deadlines work as well."""

    async def use(session: zkkit.aio.AioSession) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await session.run(Wait())
        assert await session.exists("/") is not None

    in_session(use)


def test_close_ends_every_wait(in_session: InSession) -> None:
    """Tasks that wait are told that the session is closed; so is whoever comes later."""

    async def use(session: zkkit.aio.AioSession) -> None:
        tasks = [asyncio.create_task(session.run(Wait())) for _ in range(3)]
        await session.run(Sync("/"))
        await session.close()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(each, SessionClosed) for each in outcomes)
        with pytest.raises(SessionClosed):
            await session.exists("/")

    in_session(use)


def test_lost_replies(in_session: InSession, zk_proxy: Proxy, zk_path: str) -> None:
    """A write whose reply is lost says so; a read is repeated."""

    async def use(session: zkkit.aio.AioSession) -> None:
        zk_proxy.lose_reply("create")
        with pytest.raises(ConnectionLost):
            await session.create(zk_path, b"x")
        zk_proxy.lose_reply("get")
        assert (await session.get(zk_path)).data == b"x"

    in_session(use, hosts=zk_proxy.hosts)


@pytest.mark.slow  # test_faults.py has it on threads: the runs are the same
def test_lost_session(zk_proxy: Proxy, zk_path: str) -> None:
    """Frozen for too long: the waiting task is told, and a new session is there afterwards."""

    async def main() -> None:
        async with zkkit.aio.connect(zk_proxy.hosts, timeout=1.5) as session:
            await session.create(zk_path, mode=Mode.EPHEMERAL)
            before = session.session_id
            zk_proxy.freeze()
            with pytest.raises(SessionLost):
                await session.run(Wait(), timeout=5.0)
            zk_proxy.thaw()
            await eventually(lambda: session.state == "connected", 5.0)
            assert session.session_id != before
            await eventually(lambda: gone(session), 2.0)

    async def gone(session: zkkit.aio.AioSession) -> bool:
        return await session.exists(zk_path) is None

    asyncio.run(main())


def test_lock(in_session: InSession, zk_path: str) -> None:
    """Tasks take turns with one lock."""

    async def use(session: zkkit.aio.AioSession) -> list[int]:
        inside = 0
        most: list[int] = []

        async def work() -> None:
            nonlocal inside
            async with zkkit.ReentrantLock(session, zk_path) as hold:
                inside += 1
                most.append(inside)
                assert hold.valid
                await asyncio.sleep(0)
                inside -= 1

        await asyncio.gather(*(work() for _ in range(5)))
        return most

    assert in_session(use) == [1] * 5


def test_failed_connect_leaves_no_thread(no_thread_left: Any) -> None:
    """Nobody listens: the error comes in time, the loop is not blocked, no thread is left."""

    async def main(hosts: str) -> int:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.05)
                ticks += 1

        ticking = asyncio.create_task(tick())
        with pytest.raises(ConnectFailed, match=hosts):
            await zkkit.aio.connect(hosts, connect_timeout=0.6)
        ticking.cancel()
        return ticks

    with socket.socket() as taken, no_thread_left():
        taken.bind(("127.0.0.1", 0))
        began = time.monotonic()
        assert asyncio.run(main(f"127.0.0.1:{taken.getsockname()[1]}")) > 5
        assert time.monotonic() - began < 2.0


@pytest.mark.slow  # two seconds until kazoo gives up; threads show it every day
def test_cancelled_connect_leaves_no_thread(zk_proxy: Proxy, no_thread_left: Any) -> None:
    """Who is cancelled while connecting leaves nothing open."""

    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await zkkit.aio.connect(zk_proxy.hosts)

    zk_proxy.freeze()
    with no_thread_left():
        asyncio.run(main())
    zk_proxy.thaw()


def test_no_thread_is_left(zk_hosts: str, no_thread_left: Any) -> None:
    """All threads of a session end with it."""

    async def main() -> None:
        async with zkkit.aio.connect(zk_hosts, timeout=5.0) as session:
            await session.run(Call(len, ""))
            session.spawn(iter(Wait()))

    with no_thread_left():
        asyncio.run(main())


def test_call_that_raises_a_cancelled_error(in_session: InSession) -> None:
    """It comes into the script as any error does: the script does not wait for ever, and the task
    was not cancelled."""

    def broken() -> None:
        raise asyncio.CancelledError

    def script() -> Script[str]:
        try:
            yield from Call(broken)
        except asyncio.CancelledError:
            return "caught"
        return "nothing came"

    async def use(session: zkkit.aio.AioSession) -> None:
        assert await session.run(script(), timeout=5.0) == "caught"

    in_session(use)


def test_a_session_that_was_not_entered(zk_hosts: str) -> None:
    """`connect(...)` is not the session yet, and says so where it is taken for one."""
    connecting: Any = zkkit.aio.connect(zk_hosts)
    for use in (
        lambda: zkkit.ReentrantLock(connecting, "/x"),
        lambda: connecting.exists("/"),
        lambda: connecting.state,
        lambda: connecting.close(),
    ):
        with pytest.raises(NotASession, match=r"not opened yet.*\n.*async with"):
            use()
    with pytest.raises(AttributeError, match="no_such_thing"):
        connecting.no_such_thing


def test_whatever_a_session_has_one_that_was_not_entered_has_not(
    in_session: InSession, zk_hosts: str
) -> None:
    """None of its names ends in an AttributeError: methods, properties, and what each session has
    of its own."""

    async def names_of(session: zkkit.aio.AioSession) -> None:
        names.extend(name for name in dir(session) if not name.startswith("_"))

    names: list[str] = []
    in_session(names_of)
    assert {"get", "state", "hooks", "kazoo", "retry", "node_data", "session"} <= set(names)
    connecting: Any = zkkit.aio.connect(zk_hosts)
    for name in names:
        with pytest.raises(NotASession, match="not opened yet"):
            getattr(connecting, name)


def test_close_does_not_wait_for_a_busy_executor(zk_hosts: str) -> None:
    """The loop's default executor is the user's: closing needs no place in it."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(1))
        done = threading.Event()
        try:
            async with asyncio.timeout(10.0):
                async with zkkit.aio.connect(zk_hosts, timeout=5.0) as session:
                    loop.run_in_executor(None, done.wait)
            assert session.state == "closed"
        finally:
            done.set()

    asyncio.run(main())


def test_with_instead_of_async_with(in_session: InSession, zk_hosts: str, zk_path: str) -> None:
    """It is refused before anything is opened or closed, and says what to write."""

    async def use(session: Any) -> None:
        for manager in (zkkit.aio.connect(zk_hosts), session):
            with pytest.raises(WrongWith) as caught, manager:
                raise AssertionError("inside")
            assert "async with" in caught.value.hint
        assert session.state == "connected"

    in_session(use)


def test_async_with_on_a_blocking_session(zk_hosts: str, no_thread_left: Any) -> None:
    """It is refused and says what to write; the session that connect opened is not left open."""

    async def main() -> None:
        session: Any = zkkit.connect(zk_hosts, timeout=5.0)
        with pytest.raises(WrongWith) as caught:
            async with session:
                raise AssertionError("inside")
        assert "`with`" in caught.value.hint
        assert session.state == "closed"

    with no_thread_left():
        asyncio.run(main())


USES: dict[str, Callable[[Any, str], object]] = {
    "a hold": lambda session, path: zkkit.ReentrantLock(session, path).acquire(),
    "an operation": lambda session, path: session.exists(path),
    "a script": lambda session, path: session.run(Guid()),
    "background": lambda session, path: session.spawn(iter(Wait())),
    "a cache": lambda session, path: zkkit.Cache(session, path).start(),
    "a watch": lambda session, path: zkkit.DataWatch(session, path)(print),
    "an instrument": lambda session, path: session.hooks.add(Recorder()),
    "kazoo": lambda session, path: session.kazoo.add_listener(print),
}


@pytest.mark.parametrize("namespace", [None, "app"])
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_async_with_on_a_blocking_session_in_use(
    zk_hosts: str, zk_path: str, use: Callable[[Any, str], object], namespace: str | None
) -> None:
    """It is somebody's: it stays as it is, with all that is held in it. A namespace, which connect
    makes, is no use of it."""

    async def misused(session: Any) -> None:
        with pytest.raises(WrongWith):
            async with session:
                raise AssertionError("inside")

    with zkkit.connect(zk_hosts, timeout=5.0, namespace=namespace) as session:
        used = use(session, zk_path)
        asyncio.run(misused(session))
        assert session.state == "connected" and session.exists("/") is not None
        if isinstance(used, zkkit.Hold):
            assert used.valid and used.check()
    with zkkit.connect(zk_hosts, timeout=5.0, namespace=namespace) as session:
        asyncio.run(misused(session))
        assert session.state == "closed"
