"""`session.kazoo`: kazoo's own client on the connection of a session."""

from __future__ import annotations

from typing import Any

import pytest
from kazoo.exceptions import EXCEPTIONS, AuthFailedError, NoNodeError
from kazoo.protocol.states import KeeperState

import zkkit
from zkkit.session import kazoo_transport
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
