"""What zkkit knows of kazoo's private names. It relies on them in two places:

    kazoo_handler.py    puts another connection below a client of its own
    Interposer, below   sees what a foreign client sends and hears:

    conn._read_response       which request a reply answers
    conn._read_watch_event    every fire
    client._call              who asked for it
    client._session_callback  every change of state

Checked at import: with a kazoo that lacks one of them zkkit refuses to start.
"""

from __future__ import annotations

from typing import Any

import kazoo
from kazoo.client import KazooClient
from kazoo.protocol.connection import ConnectionHandler
from kazoo.protocol.serialization import Watch
from kazoo.protocol.states import KeeperState

from ..steps import FireKind
from .link import FIRE_KINDS

TESTED = ((2, 10), (2, 12))
"""The private names are as we know them from this kazoo version on, up to the other one."""

_PRIVATE_NAMES: dict[Any, tuple[str, ...]] = {
    ConnectionHandler: (
        "_connect", "_invoke", "_read_response", "_read_watch_event",
    ),
    KazooClient: ("_call", "_session_callback"),
}  # fmt: skip


def _check_kazoo() -> None:
    version = tuple(int(part) for part in kazoo.__version__.split(".")[:2])
    missing = [
        f"{owner.__name__}.{name}"
        for owner, names in _PRIVATE_NAMES.items()
        for name in names
        if not hasattr(owner, name)
    ]
    if missing or not TESTED[0] <= version < TESTED[1]:
        raise ImportError(
            f"zkkit works with kazoo 2.10 and 2.11, this is {kazoo.__version__}"
            + (f" (it lacks {', '.join(missing)})" if missing else "")
            + ": pip install 'kazoo>=2.10,<2.12'"
        )


_check_kazoo()

CONNECTED = frozenset({KeeperState.CONNECTED, KeeperState.CONNECTED_RO})
EXPIRED, AUTH_FAILED = KeeperState.EXPIRED_SESSION, KeeperState.AUTH_FAILED
CLOSED = KeeperState.CLOSED


class Interposer:
    """Stands between a kazoo client and its connection. Subclasses override what they want to
    see; everything but `asked` is called where the connection is read, and must not raise."""

    def __init__(self, client: Any) -> None:
        self.client = client
        conn = client._connection
        self._read_response, conn._read_response = conn._read_response, self._on_response
        self._read_event, conn._read_watch_event = conn._read_watch_event, self._on_event
        self._call, client._call = client._call, self._on_call
        self._change, client._session_callback = client._session_callback, self._on_change

    # --- to be overridden -----------------------------------------------------------------

    def asked(self, request: Any) -> None:
        """Somebody asks the client for this, on their own thread."""

    def answered(self, request: Any, error: int, buffer: bytes, offset: int) -> None:
        """A reply was to this request, and kazoo has dealt with it."""

    def fired(self, kind: FireKind, path: str) -> None:
        """A watch notification, before kazoo calls its own watchers."""

    def changed(self, state: str) -> None:
        """The state has changed."""

    # --- what the subclasses may use ------------------------------------------------------

    @property
    def last_zxid(self) -> int:
        """The zxid of the reply that is just being handled."""
        zxid: int = self.client.last_zxid
        return zxid

    @property
    def session_id(self) -> int:
        return self.client._session_id or 0

    def local_watchers(self, path: str) -> int:
        """How many of kazoo's own watchers wait for something about this node."""
        client = self.client
        return len(client._data_watchers.get(path, ())) + len(client._child_watchers.get(path, ()))

    # --- where we stand -------------------------------------------------------------------

    def _on_response(self, header: Any, buffer: bytes, offset: int) -> Any:
        pending = self.client._pending
        request = pending[0][0] if pending else None
        result = self._read_response(header, buffer, offset)
        self.answered(request, header.err, buffer, offset)
        return result

    def _on_event(self, buffer: bytes, offset: int) -> None:
        event, _ = Watch.deserialize(buffer, offset)
        kind = FIRE_KINDS.get(event.type)
        if kind is not None:
            self.fired(kind, event.path)
            self._read_event(buffer, offset)

    def _on_call(self, request: Any, result: Any) -> Any:
        self.asked(request)
        return self._call(request, result)

    def _on_change(self, state: str) -> None:
        self._change(state)
        self.changed(state)
