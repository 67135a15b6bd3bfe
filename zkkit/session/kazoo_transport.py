"""The connection to an ensemble, made by kazoo.

Three things kazoo does not offer are added here: replies are delivered where they arrive (kazoo
would hop to another thread), the send time of what was answered is known (for the session's own
clock), and unsent requests keep to their session: they are handed to kazoo only while connected,
and what it fails without having sent it is kept until the reconnect, or dropped with the session.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException
from kazoo.retry import KazooRetry

from ..errors import (
    CONNECTION_LOSS_CODES,
    SESSION_OVER_CODES,
    ConnectionLost,
    TooLarge,
    ZkkitError,
    server_error,
)
from ..steps import FireKind
from . import kazoo_private
from .clock import now
from .platforms import Platform
from .wire import MULTI, Decode

_log = logging.getLogger("zkkit.kazoo")
# kazoo logs every lost connection and every try; what matters of it reaches the caller as an error.
# With a handler of its own the logger is silent for those who have not configured logging (Python
# would print its warnings to stderr) and as loud as ever for those who have.
_log.addHandler(logging.NullHandler())


SERVERS_TAKE = 0xFFFFF
"""The most bytes a request may have: the servers' jute.maxbuffer, unless it was set. They hang up
on a larger one, before they have read it."""

_HEADER = 8


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

    __slots__ = (
        "_transport", "body", "decode", "index", "life", "owner", "path", "sent_at", "type",
    )  # fmt: skip

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

    @property
    def size(self) -> int:
        """Bytes on the wire, as servers measure a request: its header too, its length not."""
        return _HEADER + len(self.body)

    def bind(self, transport: KazooTransport) -> None:
        self._transport = transport
        self.life = transport.life
        """The session that it is meant for."""

    # What kazoo wants of a request ...

    def serialize(self) -> bytes:
        self.sent_at = now()
        return self.body

    def deserialize(self, buffer: bytes, offset: int) -> Any:
        return self.decode(buffer, offset)

    # ... and of an async result.

    def set(self, value: Any) -> None:
        self._transport.settle(self, value, None)

    def set_exception(self, error: BaseException) -> None:
        self._transport.settle(self, None, error)


class KazooTransport(kazoo_private.Interposer):
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
        super().__init__(
            KazooClient(
                hosts=hosts,
                timeout=timeout,
                handler=handler,
                auth_data=set(auth),
                connection_retry=patience,
                command_retry=KazooRetry(sleep_func=handler.sleep_func),
                logger=_log,
                use_ssl=tls is not None,
                **(tls or {}),
            )
        )
        kazoo_private.Bell.put_into(self.client)
        self.chroot: str = self.client.chroot or ""
        self._listener: Listener
        self._outbox: deque[Call] = deque()
        self.life = 0
        """How many sessions have been lost."""
        self.refusals: dict[str, str] = {}
        """Which servers did not take us, and why."""
        self.denied = False
        """Whether our credentials were not accepted."""
        self._connected = False
        self._connect_sent = 0.0
        self._ping_sent = 0.0
        self._sent: deque[tuple[int, float]] = deque()
        self._largest_taken = SERVERS_TAKE  # these servers may take more

    # --- what the session asks for --------------------------------------------------------

    def open(self, listener: Listener) -> None:
        """Begin to connect."""
        self._listener = listener
        self.client.start_async()

    def suspend(self) -> None:
        """From now on keep what is sent. The caller has the monitor, as with `send`: so nothing
        slips into kazoo's queue, which might take it into another session."""
        self._connected = False

    def resume(self) -> None:
        """Send what was kept, in order, and from now on everything at once."""
        self._connected = True
        while self._outbox:
            call = self._outbox.popleft()
            self.hand_over(call, call)

    def send(self, call: Call) -> None:
        """Send now, or as soon as the session is connected again."""
        call.bind(self)
        if self._connected:
            self.hand_over(call, call)
        else:
            self._outbox.append(call)

    @property
    def servers(self) -> int:
        """How many servers we know."""
        return len(self.client.hosts)

    def try_another(self) -> None:
        """Leave this server for another one."""
        self.avoid_current()
        self.hang_up()

    def forget_unsent(self) -> None:
        """The session is over: what it never sent must not reach the next one."""
        self._outbox.clear()
        self.life += 1  # and what kazoo still has of it, unsent, is not kept either

    # --- what kazoo tells us --------------------------------------------------------------

    def session_offered(self, session_id: int, timeout: float) -> bool:
        self._sent.clear()
        return self._listener.session_opened(session_id, timeout, self._connect_sent)

    def sent(self, xid: int | None, request: Any) -> None:
        if not xid:
            self._connect_sent = now()
        elif xid == kazoo_private.PING:
            self._ping_sent = now()
        elif xid > 0:
            self._sent.append((xid, now()))

    def heard(self, xid: int) -> None:
        if xid == kazoo_private.PING:
            self._listener.answered(self._ping_sent)
        elif xid > 0:
            while self._sent:
                sent_xid, sent_at = self._sent.popleft()
                if sent_xid == xid:
                    self._listener.answered(sent_at)
                    break

    def fired(self, kind: FireKind, path: str) -> None:
        self._listener.fired(kind, path)

    def connected(self) -> None:
        self._listener.connection_up()

    def not_connected(self, server: str, why: object) -> None:
        self.refusals[server] = str(why)

    def changing(self, state: str) -> None:
        # Before kazoo fails what is pending: what scripts send next must wait for us.
        if state not in kazoo_private.CONNECTED:
            self._listener.connection_down()

    def changed(self, state: str) -> None:
        if state == kazoo_private.EXPIRED:
            self._listener.session_over()
        elif state == kazoo_private.AUTH_FAILED:
            self.denied = True
            self._listener.ended("the server does not accept our credentials")
        elif state == kazoo_private.CLOSED:
            self._listener.ended("the connection has ended")

    def settle(self, call: Call, value: Any, error: BaseException | None) -> None:
        """A call has its outcome."""
        if error is None:
            self._largest_taken = max(self._largest_taken, call.size)
            if call.type == MULTI:
                (value,) = value  # kazoo wants to iterate over a multi's result
            failed = value if isinstance(value, ZkkitError) else None
            self._listener.replied(call, None if failed else value, failed)
            return
        code = error.code if isinstance(error, KazooException) else None
        if code in SESSION_OVER_CODES and self._connected:
            # A connection can outlive its session, if it was made while the session ended: the
            # server answers pings and reads on it and refuses every write. Connecting again we are
            # told that the session is over.
            self.hang_up()
        if isinstance(code, int) and code not in CONNECTION_LOSS_CODES | SESSION_OVER_CODES:
            self._largest_taken = max(self._largest_taken, call.size)
            self._listener.replied(call, None, server_error(code, call.path))
        elif call.sent_at == 0.0:
            if call.life == self.life:
                self._outbox.append(call)  # never sent, so it cannot have been applied
        else:
            self._listener.replied(call, None, self._broke(call))

    def _broke(self, call: Call) -> ZkkitError:
        """What it means that the connection broke while this call was under way."""
        if call.size > self._largest_taken:
            return TooLarge(call.size, SERVERS_TAKE, call.path)
        return ConnectionLost(
            "the connection broke while a request was under way; "
            f"it may or may not have been applied: {call.path}",
            path=call.path,
        )
