"""`session.kazoo`: kazoo's own client on the connection of a session."""

from __future__ import annotations

import queue
import threading
import time
from typing import Any

import pytest
from kazoo.exceptions import EXCEPTIONS, AuthFailedError, NoNodeError
from kazoo.protocol.states import KeeperState

import zkkit
from zkkit.errors import ZkkitError
from zkkit.session import kazoo_transport, loop
from zkkit.testing import eventually


class Unhashable(list[Any]):
    """A watcher that kazoo cannot keep."""

    def __call__(self, event: Any) -> None:
        self.append(event)


def test_kazoo_cannot_deal_with_a_reply(
    session: zkkit.Session, zk_path: str, ear: Any, monkeypatch: Any
) -> None:
    """Whoever asked is told, and it costs nobody else the connection."""
    session.hooks.add(ear)
    session.create(zk_path, b"here")
    assert session.kazoo.get(zk_path, watch=Unhashable())[0] == b"here"
    monkeypatch.delitem(EXCEPTIONS, NoNodeError.code)
    with pytest.raises(RuntimeError):
        session.kazoo.get(f"{zk_path}/none")
    monkeypatch.undo()
    assert session.kazoo.get(zk_path)[0] == session.get(zk_path).data == b"here"
    assert ear.states == []


def test_refused_credentials(session: zkkit.Session) -> None:
    """The session ends, and nobody connects again."""
    with pytest.raises(AuthFailedError):
        session.kazoo.add_auth("no-such-scheme", "a:b")
    eventually(lambda: session.state == "closed")
    connecting = session.kazoo._connection._connection_routine
    connecting.join(10.0)
    assert not connecting.is_alive()
    assert session.kazoo.client_state == KeeperState.CLOSED


def test_more_than_a_server_reads(
    session: zkkit.Session, zk_path: str, beside: Any, monkeypatch: Any
) -> None:
    """What waits for it is bounded; all of it is sent in order when there is room."""
    monkeypatch.setattr(kazoo_transport, "_BACKLOG", 1000)
    session.create(zk_path)
    standing: Any = session._transport._standing  # type: ignore[attr-defined]
    standing.full = True  # as if the socket had taken nothing

    def ask() -> list[Any]:
        return [session.kazoo.set_async(zk_path, bytes(100)) for _ in range(50)]

    results = beside(ask).result(20.0)
    assert len(standing.link.outgoing) < 2000
    assert len(session.kazoo._queue) > 25
    standing.can_write()
    assert [result.get(timeout=20.0).version for result in results] == list(range(1, 51))


def test_more_than_fits_at_once(session: zkkit.Session, zk_path: str, monkeypatch: Any) -> None:
    """A server that reads all the time is sent all of it."""
    monkeypatch.setattr(kazoo_transport, "_BACKLOG", 100)
    session.create(zk_path)
    with session._runner.batch():  # type: ignore[attr-defined]
        results = [session.kazoo.exists_async(zk_path) for _ in range(100)]
    assert all(result.get(timeout=20.0) for result in results)


def test_a_request_that_kazoo_cannot_write(session: zkkit.Session, zk_path: str, ear: Any) -> None:
    """Whoever asked is told, whoever asks then is answered."""
    session.hooks.add(ear)
    with pytest.raises(AttributeError):
        session.kazoo.create_async(zk_path, acl=["no ACL"]).get(timeout=10.0)
    assert session.kazoo.exists(zk_path) is None
    assert ear.states == []


def test_a_restart_is_refused(session: zkkit.Session) -> None:
    """At once: a session that has ended does not come back."""
    with pytest.raises(ZkkitError, match="another one"):
        session.kazoo.restart()
    assert session.exists("/") is not None


# --- when no thread can be begun ----------------------------------------------------------------


class Threads:
    """Lets kazoo's client begin threads, or not."""

    def __init__(self, session: zkkit.Session) -> None:
        self._kazoos = session.kazoo.handler
        self._spawn = self._kazoos.spawn
        self.there_are = False
        self.in_vain = 0
        self._kazoos.spawn = self._try

    def _try(self, *what: Any) -> Any:
        if self.there_are:
            return self._spawn(*what)
        self.in_vain += 1
        raise RuntimeError("can't start new thread")


@pytest.fixture
def threads(session: zkkit.Session) -> Threads:
    """There are none for kazoo's client, until the test says so."""
    return Threads(session)


def test_to_connect_again(session: zkkit.Session, threads: Threads) -> None:
    """It is tried until it can be."""
    before = session.session_id
    session._transport.hang_up()  # type: ignore[attr-defined]
    eventually(lambda: threads.in_vain > 1)
    assert session.state == "suspended"
    threads.there_are = True
    eventually(lambda: session.state == "connected")
    assert session.session_id == before


def test_to_close(session: zkkit.Session, threads: Threads) -> None:
    """There is nothing to wait for."""
    session._transport.hang_up()  # type: ignore[attr-defined]
    eventually(lambda: threads.in_vain)
    began = time.monotonic()
    session.close()
    assert time.monotonic() - began < 1.0
    assert session.kazoo.client_state == KeeperState.CLOSED


def test_to_call_back(session: zkkit.Session, threads: Threads) -> None:
    """What was to be called is called as soon as something else is."""
    told: queue.Queue[object] = queue.Queue()
    session.kazoo.exists_async("/").rawlink(told.put)
    assert session.kazoo.exists("/") is not None
    assert threads.in_vain and told.empty()
    threads.there_are = True
    session.kazoo.exists_async("/").rawlink(told.put)
    assert told.get(timeout=5.0) is not told.get(timeout=5.0)


def test_to_read(monkeypatch: Any) -> None:
    """Who comes first is told; whoever comes then finds a thread that reads."""
    with monkeypatch.context() as patch:
        patch.setattr(loop, "_shared", loop._Shared())
        with monkeypatch.context() as without:
            without.setattr(threading.Thread, "start", lambda thread: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                loop.Seat().soon(print)
        seat, done = loop.Seat(), threading.Event()
        seat.soon(done.set)
        assert done.wait(5.0)
        seat.stop()
