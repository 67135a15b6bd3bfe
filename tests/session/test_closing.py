"""Closing a session ends everything in it, and leaves nothing."""

from __future__ import annotations

import queue
import subprocess
import sys
import textwrap
import threading
import time
from typing import Any

import pytest

import zkkit
from zkkit.errors import SessionClosed, ZkkitError
from zkkit.steps import Call, Create, Get, Guid, Mode, Script, Spawn, Sync, Wait, Watch, Within
from zkkit.testing import Proxy, eventually


def test_every_wait_ends(session: zkkit.Session, zk_path: str, beside: Any) -> None:
    """Waiting scripts of all kinds are told that the session is closed, at once."""
    session.create(zk_path)
    ready: queue.Queue[Any] = queue.Queue()

    def waiting() -> Script[None]:
        yield from Call(ready.put, 1)
        yield from Wait()

    def watching() -> Script[None]:
        yield from Get(zk_path, watch=True)
        yield from Watch(zk_path)
        yield from waiting()

    runs = [
        beside(session.run, body)
        for body in (waiting(), watching(), Within(60.0, waiting()), Within(60.0, watching()))
    ]
    for _ in runs:
        ready.get(timeout=5.0)
    began = time.monotonic()
    session.close()
    for run in runs:
        with pytest.raises(SessionClosed, match="closed"):
            run.result(5.0)
    assert time.monotonic() - began < 2.0


def test_a_waiting_lock_ends(
    session: zkkit.Session, other: zkkit.Session, zk_path: str, beside: Any
) -> None:
    """Who waits for a lock does not begin again in a session that is closed."""
    with zkkit.ReentrantLock(other, zk_path):
        waiting = beside(zkkit.ReentrantLock(session, zk_path).acquire)
        eventually(lambda: len(other.children(zk_path)) == 2)
        session.close()
        with pytest.raises(SessionClosed):
            waiting.result(5.0)
        eventually(lambda: len(other.children(zk_path)) == 1)


def test_background_scripts_are_advanced(session: zkkit.Session) -> None:
    """Spawned scripts are told as well, and may finish what needs no server."""
    told: queue.Queue[Any] = queue.Queue()
    ready = threading.Event()

    def child() -> Script[None]:
        try:
            yield from Call(ready.set)
            yield from Wait()
        except SessionClosed as error:
            yield from Guid()
            yield from Call(told.put, error)

    def parent() -> Script[None]:
        yield from Spawn(child())

    session.run(parent())
    assert ready.wait(5.0)
    session.close()
    assert isinstance(told.get(timeout=5.0), SessionClosed)


def test_background_callback_hears_of_the_end(session: zkkit.Session) -> None:
    """A step that can no longer be answered has SessionClosed as its outcome."""
    outcomes: queue.Queue[Any] = queue.Queue()
    session.background(Wait(), outcomes.put)
    session.close()
    assert isinstance(outcomes.get(timeout=5.0).error, SessionClosed)


@pytest.mark.parametrize("ugly", [False, True])
def test_a_stubborn_script_does_not_keep_a_session_open(
    open_session: Any, beside: Any, no_thread_left: Any, ugly: bool
) -> None:
    """A script that goes on regardless is cut off, even one that raises as it goes."""

    def stubborn() -> Script[None]:
        while True:
            try:
                yield from Wait()
            except ZkkitError:
                continue
            except GeneratorExit:
                if ugly:
                    raise LookupError("not like this") from None
                raise

    with no_thread_left():
        session = open_session()
        run = beside(session.run, stubborn())
        session.spawn(stubborn())
        session.run(Sync("/"))
        session.close()
        with pytest.raises((SessionClosed, LookupError)):
            run.result(5.0)


def test_close_twice(session: zkkit.Session) -> None:
    """Closing twice is harmless."""
    session.close()
    session.close()
    assert session.state == "closed"
    assert session.session_id == 0


@pytest.mark.concurrent
def test_close_from_many_threads(open_session: Any, beside: Any, no_thread_left: Any) -> None:
    """Whoever closes, it is closed once, and all come back."""
    with no_thread_left():
        session = open_session()
        for future in [beside(session.close) for _ in range(4)]:
            future.result(10.0)
        assert session.state == "closed"


def test_use_after_close(session: zkkit.Session, zk_path: str) -> None:
    """Everything says that the session is closed, and how to get another."""
    lock = zkkit.ReentrantLock(session, zk_path)
    session.close()
    for use in (
        lambda: session.create(zk_path),
        lambda: session.get(zk_path),
        lambda: session.run(Wait()),
        lambda: session.run(Guid()),
        lambda: session.spawn(iter(Wait())),
        lambda: session.background(Get(zk_path), print),
        lambda: lock.acquire(),
        lambda: lock.acquire(timeout=1.0),
    ):
        with pytest.raises(SessionClosed, match="connect"):
            use()


def test_context_manager(zk_hosts: str, zk_path: str, other: zkkit.Session) -> None:
    """The session ends with the block, however the block ends."""
    with pytest.raises(LookupError):
        with zkkit.connect(zk_hosts, timeout=5.0) as session:
            session.create(zk_path, mode=Mode.EPHEMERAL)
            raise LookupError
    assert session.state == "closed"
    other.run(Sync("/"))
    assert other.exists(zk_path) is None


def test_close_from_a_callback(open_session: Any, no_thread_left: Any) -> None:
    """User code may close the session it is called by."""
    with no_thread_left():
        session = open_session()
        session.background(Sync("/"), lambda outcome: session.close())
        eventually(lambda: session.state == "closed")


@pytest.mark.parametrize("callback", ["watcher", "completion", "SUSPENDED", "CONNECTED"])
def test_close_from_a_callback_of_kazoos(
    open_session: Any, zk_proxy: Proxy, other: zkkit.Session, zk_path: str, no_thread_left: Any,
    callback: str,
) -> None:  # fmt: skip
    """The thread that calls it does not wait for itself, and the server is told if it can be."""
    closed: list[float] = []
    errors: list[BaseException] = []

    def close(news: Any) -> None:
        if callback in ("SUSPENDED", "CONNECTED") and news != callback:
            return
        began = time.monotonic()
        try:
            session.close()
        except BaseException as error:
            errors.append(error)
        closed.append(time.monotonic() - began)

    with no_thread_left():
        session = open_session(zk_proxy.hosts, timeout=30.0)
        session.create(f"{zk_path}-mine", mode=Mode.EPHEMERAL)
        if callback == "watcher":
            session.kazoo.exists(zk_path, watch=close)
            other.create(zk_path)
        elif callback == "completion":
            session.kazoo.exists_async("/").rawlink(close)
        else:
            session.kazoo.add_listener(close)
            zk_proxy.drop()
        eventually(lambda: closed)
        assert not errors
        assert closed[0] < 1.5
        if callback != "SUSPENDED":
            eventually(lambda: other.exists(f"{zk_path}-mine") is None)
    assert session.state == "closed"


def test_close_from_a_callback_of_kazoos_on_gevent(zk_hosts: str, zk_path: str) -> None:
    """The same with greenlets."""
    program = textwrap.dedent(
        """
        from gevent import monkey; monkey.patch_all()
        import sys, gevent, zkkit
        from contextlib import suppress
        from zkkit.errors import SessionClosed
        for how in ("watcher", "listener"):  # on completion nothing may wait: gevent says so
            session = zkkit.connect(sys.argv[1], handler="gevent")
            closed = gevent.event.AsyncResult()
            def close(*news):
                session.close()
                closed.set(session.state)
            if how == "watcher":
                session.kazoo.exists(sys.argv[2], watch=close)
                with suppress(SessionClosed):  # the fire comes before the reply
                    session.create(sys.argv[2])
            else:
                session.kazoo.add_listener(close)
                session._transport.hang_up()
            print(how, closed.get(timeout=1.5))
        """
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, zk_hosts, zk_path],
        capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    said = done.stdout.split("\n")[:-1]
    assert said == ["watcher closed", "listener closed"], done.stderr


def test_no_thread_is_left(open_session: Any, zk_path: str, no_thread_left: Any) -> None:
    """All threads of a session, the callback thread included, end with it."""
    with no_thread_left():
        session = open_session()
        session.run(Call(len, ""))
        session.spawn(iter(Wait()))
        with zkkit.ReentrantLock(session, zk_path):
            pass
        session.close()


@pytest.mark.parametrize("fault", ["freeze", "cut"])
def test_close_while_the_servers_are_away(
    open_session: Any, zk_proxy: Any, no_thread_left: Any, fault: str
) -> None:
    """It takes a little patience, and ends without a thread left."""
    with no_thread_left():
        session = open_session(zk_proxy.hosts)
        getattr(zk_proxy, fault)()
        began = time.monotonic()
        session.close()
        assert time.monotonic() - began < 5.0
        assert session.state == "closed"
    zk_proxy.thaw()


def test_nobody_hangs_who_comes_while_it_is_closed(open_session: Any, beside: Any) -> None:
    """A call that races with the close ends, with a result or with SessionClosed."""
    for _ in range(5):
        session = open_session()
        going = threading.Event()

        def work(session: zkkit.Session = session, going: threading.Event = going) -> str:
            while True:
                try:
                    session.exists("/")
                except SessionClosed:
                    return "closed"
                going.set()

        workers = [beside(work) for _ in range(4)]
        assert going.wait(5.0)
        session.close()
        assert [each.result(5.0) for each in workers] == ["closed"] * 4


def test_the_main_thread_does_not_hang_while_it_is_closed(open_session: Any, beside: Any) -> None:
    """The same on the main thread, whose calls take another way."""
    for _ in range(10):
        session = open_session()
        session.exists("/")
        closing = beside(session.close)
        with pytest.raises(SessionClosed):
            while True:
                session.exists("/")
        closing.result(5.0)


# --- fork -----------------------------------------------------------------------------------


def test_fork(zk_hosts: str, zk_path: str) -> None:
    """The child is told that the session is not its own; the parent goes on as if nothing were."""
    program = textwrap.dedent(
        """
        import os, sys, time
        import zkkit
        from zkkit.errors import ForkedSession
        from zkkit.steps import Get, Wait

        session = zkkit.connect(sys.argv[1], timeout=5.0)
        path = sys.argv[2]
        session.create(path, b"x", mode=zkkit.steps.Mode.EPHEMERAL)
        lock = zkkit.ReentrantLock(session, path + "-lock")
        hold = lock.acquire()
        latch = zkkit.LeaderLatch(session, path + "-latch")
        cache = zkkit.Cache(session, path)
        watch = zkkit.DataWatch(session, path)
        selector = zkkit.LeaderSelector(session, path + "-selector", lambda term: term.stop.wait())
        for each in (latch, cache, watch, selector):
            each.start()
        latch.wait()
        child = os.fork()
        if child == 0:
            assert session.state == cache.state == "closed" and not latch.is_leader
            assert not hold.valid and not session.session_id, "held by the parent, not by us"
            refused = 0
            for use in (
                lambda: session.get(path),
                lambda: session.run(Wait(), timeout=1),
                lambda: session.spawn(iter(Wait())),
                lambda: session.background(Get(path), print),
                lambda: lock.acquire(timeout=1),
                lambda: hold.on_lost(print),
            ):
                try:
                    use()
                except ForkedSession as error:
                    assert str(os.getpid()) in str(error), error
                    refused += 1
            for each in (latch, cache, watch, selector, session):
                each.close()  # harmless: it must not end the parent's
            watch.stop()
            zkkit.LeaderLatch(session, path).close()
            assert session.state == "closed"
            began = time.monotonic()
            session.kazoo.stop()
            session.kazoo.close()
            assert time.monotonic() - began < 1.0, "kazoo waited for the parent's thread"
            with zkkit.connect(sys.argv[1], timeout=5.0) as own:
                assert own.get(path).data == b"x"
            os._exit(0 if refused == 6 else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, "the child failed"
        assert session.get(path).stat.ephemeral_owner == session.session_id
        assert hold.valid and latch.is_leader and session.state == "connected"
        assert cache.state == "started"
        hold.release()
        for each in (latch, cache, watch, selector, session):
            each.close()
        print("fine")
        """
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, zk_hosts, zk_path],
        capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert done.stdout.strip() == "fine", done.stderr


def test_exit_without_close(zk_hosts: str) -> None:
    """A program that forgets to close its session still ends."""
    program = "import sys, zkkit; s = zkkit.connect(sys.argv[1]); s.exists('/'); print('fine')"
    done = subprocess.run(
        [sys.executable, "-c", program, zk_hosts],
        capture_output=True, text=True, timeout=15, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout.strip()) == (0, "fine"), done.stderr


def test_ephemeral_nodes_go_with_the_close(
    session: zkkit.Session, other: zkkit.Session, zk_path: str
) -> None:
    """When `close` has returned, the servers have ended the session."""
    session.run(Create(zk_path, mode=Mode.EPHEMERAL))
    session.close()
    other.run(Sync("/"))
    assert other.exists(zk_path) is None
