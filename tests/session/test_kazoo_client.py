"""`session.kazoo`: kazoo's own client on the connection of a session."""

from __future__ import annotations

from typing import Any

import pytest
from kazoo.exceptions import EXCEPTIONS, AuthFailedError, NoNodeError
from kazoo.protocol.states import KeeperState

import zkkit


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


def test_refused_credentials(session: zkkit.Session, eventually: Any) -> None:
    """The session ends, and nobody connects again."""
    with pytest.raises(AuthFailedError):
        session.kazoo.add_auth("no-such-scheme", "a:b")
    eventually(lambda: session.state == "closed")
    connecting = session.kazoo._connection._connection_routine
    connecting.join(10.0)
    assert not connecting.is_alive()
    assert session.kazoo.client_state == KeeperState.CLOSED
