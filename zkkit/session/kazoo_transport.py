"""The connection to an ensemble, made by kazoo. The only module that knows kazoo's private names.

kazoo's client owns the socket, the reconnecting and the pings. We want three things it does not
offer: replies delivered where they arrive (kazoo would hop to another thread), the send time of
what was answered (for the session's own clock), and a word in what happens to a session and its
unsent requests after a loss. For these we stand between its client and its connection:

    conn._invoke            sees the connect reply: session id and negotiated timeout
    conn._submit            sees every request go out: its send time
    conn._read_header       sees every reply come in: the send time is answered
    conn._read_watch_event  sees every fire
    client._session_callback  sees every change of state before kazoo acts on it

Requests are handed to kazoo only while connected. What it fails without having sent it is kept and
sent after the reconnect: in the same session only, since `forget_unsent` drops it with its session.
"""

from __future__ import annotations

import logging
import socket
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

import kazoo
from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, SessionExpiredError
from kazoo.protocol.connection import PING_XID, ConnectionHandler
from kazoo.protocol.serialization import Close, Connect, Watch
from kazoo.protocol.states import KeeperState
from kazoo.retry import KazooRetry

from ..errors import (
    CONNECTION_LOSS_CODES,
    SESSION_OVER_CODES,
    ConnectionLost,
    ZkkitError,
    server_error,
)
from ..steps import FireKind
from .clock import now
from .platforms import Platform
from .wire import MULTI, Decode

TESTED = ((2, 10), (2, 12))
"""From this kazoo version to below that one the private names are as we know them."""

_PRIVATE_NAMES = {
    ConnectionHandler: (
        "_invoke", "_submit", "_read_header", "_read_watch_event", "_send_request",
    ),
    KazooClient: ("_call", "_session_callback", "_reset_session", "_notify_pending"),
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

_FIRE_KINDS = {1: FireKind.CREATED, 2: FireKind.DELETED, 3: FireKind.CHANGED, 4: FireKind.CHILD}
_CONNECTED = (KeeperState.CONNECTED, KeeperState.CONNECTED_RO)


class Listener(Protocol):
    """Whom the transport tells. All on kazoo's connection thread; none may raise."""

    def session_opened(self, session_id: int, timeout: float, sent_at: float) -> bool:
        """A server gave us this session. False: we do not want it, close it."""

    def answered(self, sent_at: float) -> None:
        """A request sent then has an answer."""

    def connection_up(self) -> None: ...

    def connection_down(self) -> None: ...

    def session_over(self) -> None:
        """The server says that the session has expired."""

    def ended(self, why: str) -> None:
        """kazoo has given up, for this reason."""

    def fired(self, kind: FireKind, full_path: str) -> None: ...

    def replied(self, call: Call, value: Any, error: ZkkitError | None) -> None: ...


class Call:
    """One request on its way. To kazoo it is both the request and its async result."""

    __slots__ = ("_transport", "body", "decode", "index", "owner", "path", "sent_at", "type")

    def __init__(
        self, encoded: tuple[int, bytes, Decode], path: str, owner: Any = None, index: int = 0
    ) -> None:
        self.type, self.body, self.decode = encoded
        self.path = path
        self.owner = owner
        """Whoever waits for it, and which of theirs it is."""
        self.index = index
        self.sent_at = 0.0

    def __repr__(self) -> str:
        return f"Call(type={self.type}, {self.path})"

    def serialize(self) -> bytes:
        self.sent_at = now()
        return self.body

    def deserialize(self, buffer: bytes, offset: int) -> Any:
        return self.decode(buffer, offset)

    def bind(self, transport: KazooTransport) -> None:
        self._transport = transport

    def set(self, value: Any) -> None:
        self._transport._settle(self, value, None)

    def set_exception(self, error: BaseException) -> None:
        self._transport._settle(self, None, error)


class KazooTransport:
    """Sends calls through a kazoo client and tells the listener what comes back."""

    def __init__(
        self,
        hosts: str,
        *,
        platform: Platform,
        timeout: float,
        auth: Sequence[tuple[str, str]],
        tls: Mapping[str, Any] | None,
    ) -> None:
        handler = platform.kazoo_handler()
        # kazoo's own default waits up to an hour between two tries to reconnect.
        patience = KazooRetry(
            max_tries=-1, delay=0.05, backoff=2, max_delay=1.0, sleep_func=handler.sleep_func
        )
        quiet = logging.getLogger("zkkit.kazoo")
        self.client = KazooClient(
            hosts=hosts,
            timeout=timeout,
            handler=handler,
            auth_data=set(auth),
            connection_retry=patience,
            command_retry=KazooRetry(sleep_func=handler.sleep_func),
            logger=quiet,
            use_ssl=tls is not None,
            **(tls or {}),
        )
        self.chroot: str = self.client.chroot or ""
        self._listener: Listener
        self._outbox: deque[Call] = deque()
        self._connected = False
        self._ping_sent = 0.0
        self._sent: deque[tuple[int, float]] = deque()
        self._stand_between()

    def _stand_between(self) -> None:
        client, conn = self.client, self.client._connection
        self._conn = conn
        self._invoke, conn._invoke = conn._invoke, self._on_invoke
        self._submit, conn._submit = conn._submit, self._on_submit
        self._read_header, conn._read_header = conn._read_header, self._on_header
        self._read_event, conn._read_watch_event = conn._read_watch_event, self._on_watch_event
        self._change, client._session_callback = client._session_callback, self._on_change

    # --- what the session asks for ---------------------------------------------------

    def open(self, listener: Listener) -> None:
        """Begin to connect."""
        self._listener = listener
        self.client.start_async()

    def send(self, call: Call) -> None:
        """Send now, or as soon as the session is connected again."""
        call.bind(self)
        if self._connected:
            self.client._call(call, call)
        else:
            self._outbox.append(call)

    def forget_unsent(self) -> None:
        """The session is over: what it never sent must not reach the next one."""
        self._outbox.clear()

    @property
    def last_zxid(self) -> int:
        """The zxid of the reply that is just being handled."""
        zxid: int = self.client.last_zxid
        return zxid

    def drop(self) -> None:
        """Break the connection, if there is one; kazoo connects again by itself."""
        sock = self._conn._socket
        if sock is not None:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def close(self, patience: float) -> None:
        """Close the session on the server and free everything.

        A frozen server does not answer: after `patience` seconds the connection is dropped, and
        the session will expire.
        """
        client, conn = self.client, self._conn
        client._stopped.set()
        client._queue.append((Close(), None))
        with suppress(OSError, AttributeError):
            conn._write_sock.send(b"\0")
        if not conn.connection_stopped.wait(patience):
            self.drop()
            conn.connection_stopped.wait(1.0)
        client.handler.stop()
        if conn.connection_stopped.is_set():
            if conn._connection_routine is not None:
                conn._connection_routine.join(1.0)
            conn.close()

    # --- what kazoo tells us, on its connection thread --------------------------------

    def _on_invoke(self, timeout: float, request: Any, xid: int | None = None) -> Any:
        """Connecting: look at the session the server gives us before kazoo believes in it."""
        sent_at = now()
        result = self._invoke(timeout, request, xid)
        if isinstance(request, Connect):
            self._sent.clear()
            reply = result[0]
            if reply.time_out > 0:
                wanted = self._listener.session_opened(
                    reply.session_id, reply.time_out / 1000.0, sent_at
                )
                if not wanted:
                    self._invoke(timeout, Close(), 1)
                    raise SessionExpiredError("closed: it was lost by our own clock")
        return result

    def _on_submit(self, request: Any, timeout: float, xid: int | None = None) -> None:
        sent_at = now()
        if xid == PING_XID:
            self._ping_sent = sent_at
        elif xid is not None and xid > 0:
            self._sent.append((xid, sent_at))
        self._submit(request, timeout, xid)

    def _on_header(self, timeout: float) -> Any:
        result = self._read_header(timeout)
        xid = result[0].xid
        if xid == PING_XID:
            self._listener.answered(self._ping_sent)
        elif xid > 0:
            while self._sent:
                sent_xid, sent_at = self._sent.popleft()
                if sent_xid == xid:
                    self._listener.answered(sent_at)
                    break
        return result

    def _on_watch_event(self, buffer: bytes, offset: int) -> None:
        event, _ = Watch.deserialize(buffer, offset)
        kind = _FIRE_KINDS.get(event.type)
        if kind is not None:
            self._listener.fired(kind, event.path)
            self._read_event(buffer, offset)  # for watches set by the kazoo client itself

    def _on_change(self, state: str) -> None:
        was_connected = self._connected
        if state not in _CONNECTED:
            # Before kazoo fails what is pending: what scripts send next must wait for us.
            self._connected = False
            if was_connected:
                self._listener.connection_down()
        self._change(state)
        if state in _CONNECTED:
            self._connected = True
            self._listener.connection_up()
            while self._outbox and self._connected:
                call = self._outbox.popleft()
                self.client._call(call, call)
        elif state == KeeperState.EXPIRED_SESSION:
            self._listener.session_over()
        elif state == KeeperState.AUTH_FAILED:
            self._listener.ended("the server does not accept our credentials")
        elif state == KeeperState.CLOSED:
            self._listener.ended("the connection has ended")

    def _settle(self, call: Call, value: Any, error: BaseException | None) -> None:
        if error is None:
            if call.type == MULTI:
                (value,) = value  # kazoo wants to iterate over a multi's result
            failed = value if isinstance(value, ZkkitError) else None
            self._listener.replied(call, None if failed else value, failed)
            return
        code = error.code if isinstance(error, KazooException) else None
        if isinstance(code, int) and code not in CONNECTION_LOSS_CODES | SESSION_OVER_CODES:
            self._listener.replied(call, None, server_error(code, call.path))
        elif call.sent_at == 0.0:
            self._outbox.append(call)  # never sent, so it cannot have been applied
        else:
            self._listener.replied(
                call,
                None,
                ConnectionLost(
                    "the connection broke while a request was under way; "
                    f"it may or may not have been applied: {call.path}",
                    path=call.path,
                ),
            )
