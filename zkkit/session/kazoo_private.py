"""All that zkkit knows of kazoo's private names, and nothing else.

kazoo's client owns the socket, the reconnecting and the pings. To see what it sends and hears we
stand between its client and its connection:

    conn._expand_client_hosts which servers are tried, in what order; which have no address
    conn._connect             whether a server took us, credentials and all
    conn._invoke              the connect reply: session id and negotiated timeout
    conn._submit              every request that goes out
    conn._read_header         every reply that comes in
    conn._read_response       which request a reply answers
    conn._read_watch_event    every fire
    client._call              who asked for it
    client._session_callback  every change of state, before kazoo acts on it
    client._queue             what is still to be sent, for a wake-up that never blocks (`Bell`)

Checked at import: with a kazoo that lacks one of them zkkit refuses to start.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import Any

import kazoo
from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionDropped, SessionExpiredError
from kazoo.protocol.connection import PING_XID, ConnectionHandler
from kazoo.protocol.serialization import Close, Connect, Watch
from kazoo.protocol.states import KeeperState

from ..steps import FireKind

TESTED = ((2, 10), (2, 12))
"""From this kazoo version to below that one the private names are as we know them."""

_PRIVATE_NAMES: dict[Any, tuple[str, ...]] = {
    ConnectionHandler: (
        "_expand_client_hosts", "_connect", "_invoke", "_submit", "_read_header", "_read_response",
        "_read_watch_event",
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

FIRE_KINDS = {1: FireKind.CREATED, 2: FireKind.DELETED, 3: FireKind.CHANGED, 4: FireKind.CHILD}
PING = PING_XID
CONNECTED = frozenset({KeeperState.CONNECTED, KeeperState.CONNECTED_RO})
EXPIRED, AUTH_FAILED = KeeperState.EXPIRED_SESSION, KeeperState.AUTH_FAILED
CLOSED = KeeperState.CLOSED
_MANY = 65536  # more bytes than a socketpair holds; if not, the rest rings once more


class Bell:
    """What kazoo takes for both ends of its wake-up socketpair: ringing it never blocks.

    kazoo writes a byte for every request and sends a request for every byte. A pair that nobody
    reads is full after some 280 bytes, and then the writer waits for the connection thread: for
    ever, if it has the monitor that this thread waits for, or is that thread itself.

    Here a byte only says that there is something in the queue. One that finds no room is dropped:
    others are there, and they stay until the queue is empty. So no wake-up is lost: bytes are
    removed when the queue is empty, and then the queue is looked at once more, for whoever has put
    something in meanwhile may have rung before the removal.
    """

    def __init__(self, client: Any, ends: tuple[Any, Any]) -> None:
        self._client = client
        self._inner, self._outer = ends
        for end in ends:
            end.setblocking(False)

    @classmethod
    def put_into(cls, client: Any) -> None:
        """Let a client that was not started yet be woken by bells."""
        handler = client.handler
        make_pair = handler.create_socket_pair

        def make_bell() -> tuple[Bell, Bell]:
            bell = cls(client, make_pair())
            return bell, bell

        handler.create_socket_pair = make_bell

    def send(self, data: bytes) -> int:
        """As the writing end: ring."""
        with suppress(BlockingIOError):
            self._outer.send(data)
        return len(data)

    def recv(self, size: int) -> bytes:
        """As the reading end, after a request was sent or none was found."""
        if not self._client._queue:
            with suppress(BlockingIOError):
                self._inner.recv(_MANY)
            if self._client._queue:
                self.send(b"\0")
        return b"\0" * size

    def fileno(self) -> int:
        """Readable while it rings."""
        number: int = self._inner.fileno()
        return number

    def close(self) -> None:
        for end in (self._inner, self._outer):
            end.close()


class Interposer:
    """Stands between a kazoo client and its connection. Subclasses override what they want to
    see; everything but `asked` is called on kazoo's connection thread, and must not raise."""

    def __init__(self, client: Any) -> None:
        self.client = client
        conn = client._connection
        self._conn = conn
        self._current: tuple[str, int] | None = None
        self._avoided: tuple[str, int] | None = None
        self._expand, conn._expand_client_hosts = conn._expand_client_hosts, self._on_expand
        self._connect, conn._connect = conn._connect, self._on_connect
        self._invoke, conn._invoke = conn._invoke, self._on_invoke
        self._submit, conn._submit = conn._submit, self._on_submit
        self._read_header, conn._read_header = conn._read_header, self._on_header
        self._read_response, conn._read_response = conn._read_response, self._on_response
        self._read_event, conn._read_watch_event = conn._read_watch_event, self._on_event
        self._call, client._call = client._call, self._on_call
        self._change, client._session_callback = client._session_callback, self._on_change

    # --- to be overridden -----------------------------------------------------------------

    def session_offered(self, session_id: int, timeout: float) -> bool:
        """A server gave us this session. False: it is closed again at once."""
        return True

    def connected(self) -> None:
        """The session stands: requests that are handed over now will be sent."""

    def not_connected(self, server: str, why: object) -> None:
        """This server could not be reached, or did not want us."""

    def asked(self, request: Any) -> None:
        """Somebody asks the client for this, on their own thread."""

    def sent(self, xid: int | None, request: Any) -> None:
        """A request is about to go out."""

    def heard(self, xid: int) -> None:
        """A reply has come in."""

    def answered(self, request: Any, error: int, buffer: bytes, offset: int) -> None:
        """That reply was to this request, and kazoo has dealt with it."""

    def fired(self, kind: FireKind, path: str) -> None:
        """A watch notification, before kazoo calls its own watchers."""

    def changing(self, state: str) -> None:
        """The state is about to change: kazoo has not yet failed what is pending."""

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

    def hand_over(self, request: Any, result: Any) -> None:
        """Let kazoo send a request; it tells `result` the outcome."""
        self.client._call(request, result)

    def local_watchers(self, path: str) -> int:
        """How many of kazoo's own watchers wait for something about this node."""
        client = self.client
        return len(client._data_watchers.get(path, ())) + len(client._child_watchers.get(path, ()))

    def avoid_current(self) -> None:
        """Try the server we are with last, the next time servers are tried."""
        self._avoided = self._current

    def hang_up(self) -> None:
        """Break the connection, if there is one; kazoo connects again by itself."""
        sock = self._conn._socket
        if sock is not None:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def shut_down(self, patience: float) -> None:
        """Close the session on the server and end kazoo's threads.

        A frozen server does not answer: after `patience` seconds the connection is broken, and
        the session will expire. (kazoo's own `stop` would wait ten seconds and more.)
        """
        client, conn = self.client, self._conn
        client._stopped.set()
        client._queue.append((Close(), None))
        with suppress(OSError, AttributeError):
            conn._write_sock.send(b"\0")
        if not conn.connection_stopped.wait(patience):
            self.hang_up()
            conn.connection_stopped.wait(1.0)
        client.handler.stop()
        if conn.connection_stopped.is_set():
            if conn._connection_routine is not None:
                conn._connection_routine.join(1.0)
            conn.close()

    # --- where we stand -------------------------------------------------------------------

    def _on_expand(self) -> Any:
        addresses = self._expand()
        found = {host for host, _, _ in addresses}
        for host, port in self.client.hosts:
            if host not in found:
                self.not_connected(f"{host}:{port}", "this name has no address")
        # A stable sort: kazoo's order, but for the one.
        return sorted(addresses, key=lambda server: server[1:] == self._avoided)

    def _on_connect(self, host: str, address: str, port: int) -> Any:
        self._current = (address, port)
        try:
            result = self._connect(host, address, port)
        except Exception as error:
            self.not_connected(f"{host}:{port}", error)
            raise
        self.connected()
        return result

    def _on_invoke(self, timeout: float, request: Any, xid: int | None = None) -> Any:
        result = self._invoke(timeout, request, xid)
        if isinstance(request, Connect):
            reply = result[0]
            expired = reply.time_out <= 0
            if not expired and not self.session_offered(reply.session_id, reply.time_out / 1000.0):
                self._invoke(timeout, Close(), 1)
                raise SessionExpiredError("closed: it was lost by our own clock")
        return result

    def _on_submit(self, request: Any, timeout: float, xid: int | None = None) -> None:
        self.sent(xid, request)
        self._submit(request, timeout, xid)

    def _on_header(self, timeout: float) -> Any:
        result = self._read_header(timeout)
        self.heard(result[0].xid)
        return result

    def _on_response(self, header: Any, buffer: bytes, offset: int) -> Any:
        pending = self.client._pending
        if not pending or pending[0][2] != header.xid:
            # kazoo's connection thread would die of this. A server that has mixed up two clients
            # of one session (ZOOKEEPER-2684) is left instead, like one that hangs up.
            raise ConnectionDropped(f"a reply to nothing we are waiting for: xid {header.xid}")
        request = pending[0][0]
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
        self.changing(state)
        self._change(state)
        self.changed(state)
