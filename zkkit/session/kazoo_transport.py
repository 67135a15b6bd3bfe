"""The connection to an ensemble: kazoo makes it, zkkit talks on it.

kazoo finds a server that takes us (`kazoo_handler.py`); what stands then is a `Link` on a socket
(`link.py`, `standing.py`). Here the two meet the session: requests that were not sent keep to their
session, no two requests of a session have the same number, and what the server says becomes what
the listener is told.
"""

from __future__ import annotations

import logging
import socket
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from kazoo.client import KazooClient
from kazoo.retry import KazooRetry

from ..errors import (
    CONNECTION_LOSS_CODES,
    SESSION_OVER_CODES,
    ConnectionLost,
    MultiFailed,
    NoNode,
    UnknownServerError,
    ZkkitError,
    server_error,
)
from ..steps import FireKind
from . import kazoo_private
from .clock import now
from .kazoo_handler import Handler, OwnRequest, kazoo_threads
from .limit import Limit
from .link import BODY, Fired, Heard, Link, Pong, Reply, fire_of
from .loop import AnySeat
from .opcodes import EXISTS
from .options import Options
from .platforms import Platform
from .standing import Standing
from .transport import Listener, Outgoing

_log = logging.getLogger("zkkit.kazoo")
# kazoo logs every lost connection and every try; what matters of it reaches the caller as an error.
# With a handler of its own the logger is silent for those who have not configured logging (Python
# would print its warnings to stderr) and as loud as ever for those who have.
_log.addHandler(logging.NullHandler())


_BACKLOG = 1 << 20
"""Bytes that may wait for a server that does not read; further requests are kept as they are."""


class KazooTransport:
    """Sends requests to a server that kazoo has found, and tells the listener what comes back."""

    def __init__(self, options: Options, platform: Platform) -> None:
        threads = kazoo_threads(platform)
        # kazoo's own default waits up to an hour between two tries to reconnect.
        patience = KazooRetry(
            max_tries=-1, delay=0.05, backoff=2, max_delay=1.0, sleep_func=threads.sleep_func
        )
        self.client = KazooClient(
            hosts=str(options.hosts),
            timeout=options.timeout,
            handler=threads,
            auth_data=set(options.auth),
            connection_retry=patience,
            command_retry=KazooRetry(sleep_func=threads.sleep_func),
            logger=_log,
            use_ssl=options.tls is not None,
            **(options.tls or {}),
        )
        self.client.restart = _refuse_to_restart
        self.chroot = options.hosts.chroot
        self.servers = len(options.hosts.servers)
        self.refusals: dict[str, str] = {}
        self.denied = False
        self._handler = Handler(self.client, self, platform.actor)
        self._has_session = False  # whether a server ever gave us one
        self._may_be_interrupted = platform.may_be_interrupted
        self._listener: Listener
        self._seat: AnySeat
        self._timeout = options.timeout
        self._standing: Standing | None = None
        self._stands_since = 0.0
        self._state_after = ""  # what kazoo's client is to be told when the connection is over
        self._last_xid = 0
        self._ready = False
        self._outbox: deque[Outgoing] = deque()
        self._sessions_lost = 0
        self._session_of_link = 0  # how many had been lost when the connection was made
        self._works_since = 0.0  # when the connection gave its first answer
        self._limit = Limit()

    # --- what the session asks for --------------------------------------------------------

    @property
    def last_zxid(self) -> int:
        """The zxid of the reply that is just being told."""
        zxid: int = self.client.last_zxid
        return zxid

    def open(self, listener: Listener, seat: AnySeat) -> None:
        """Begin to connect."""
        self._listener = listener
        self._seat = seat
        self.client.start_async()

    def suspend(self) -> None:
        """From now on keep what is sent."""
        self._ready = False

    def resume(self) -> None:
        """Send what was kept, in order, and from now on everything at once."""
        self._ready = True
        self._refill()

    def send(self, call: Outgoing) -> None:
        """Send with the next flush, or, unless it is perishable, when the session is connected
        again."""
        standing = self._standing
        if standing is None or not self._ready:
            if not call.perishable:
                self._outbox.append(call)
        elif self._outbox or len(standing.link.outgoing) > _BACKLOG:
            self._outbox.append(call)
        else:
            self._ask(standing, call)

    def _ask(self, standing: Standing, call: Outgoing) -> None:
        call.sent_at = now()
        standing.link.request(call.type, call.body, call, call.sent_at)

    def _refill(self) -> None:
        """Move what was kept to the connection, as far as there is room."""
        standing = self._standing
        if standing is not None and self._ready:
            while self._outbox and len(standing.link.outgoing) <= _BACKLOG:
                self._ask(standing, self._outbox.popleft())

    def flush(self) -> None:
        """Let what was sent go out."""
        standing = self._standing
        if standing is None:
            return
        standing.flush()
        while self._ready and self._outbox and not standing.link.outgoing:
            self._refill()
            standing.flush()

    def take_back(self, owner: Any) -> list[Outgoing]:
        """Never send what was not sent of this owner's."""
        found: list[Outgoing] = []
        for call in self._outbox:
            if call.owner is owner:
                found.append(call)
            elif found:
                break  # they were sent together
        for call in found:
            self._outbox.remove(call)
        return found

    def forget_unsent(self) -> None:
        """The session is over: what it never sent must not reach the next one."""
        self._outbox.clear()
        self._sessions_lost += 1  # and what the present connection has of it is not kept either
        self._ready = False  # what is sent from now on is for the next session

    def tell_client(self, kind: FireKind, path: str) -> None:
        """Let kazoo's watchers of this hear of it."""
        self._handler.tell_fire(fire_of(kind, path))

    def hang_up(self) -> None:
        """Break the connection, if there is one; kazoo connects again by itself."""
        if self._standing is not None:
            self._standing.left = True
        self._handler.hang_up()

    def try_another(self) -> None:
        """Leave this server for another one."""
        self._handler.avoid_current()
        self.hang_up()

    def shut_down(self, patience: float) -> None:
        """Close the session on the server and free everything."""
        # Where there never was a session nobody says goodbye.
        self._handler.shut_down(patience if self._has_session else 0.0)

    # --- what kazoo tells us --------------------------------------------------------------

    def session_offered(self, session_id: int, timeout: float, sent_at: float) -> bool:
        self._timeout, self._has_session = timeout, True
        return self._listener.session_opened(session_id, timeout, sent_at)

    def connected(self, sock: socket.socket) -> None:
        # A server knows the requests of a session apart by their numbers alone (ZOOKEEPER-2684).
        # When the session has moved there, it may still hear of a write that was sent to the last
        # server, and would give its outcome as the answer to another one of the same number. So
        # the numbers go on.
        standing = Standing(sock, Link(self._last_xid), self._timeout, self, self._seat)
        with self.batch():
            self._standing = standing
            self._stands_since, self._works_since = now(), 0.0
            self._state_after = ""
            self._session_of_link = self._sessions_lost
            self._listener.connection_up()
            self._pass_own_requests_on()
            self.flush()
        standing.begin()

    def not_connected(self, server: str, why: object) -> None:
        self.refusals[server] = str(why)

    def changed(self, state: str) -> None:
        if state == kazoo_private.EXPIRED:
            self._listener.session_over()
        elif state == kazoo_private.AUTH_FAILED:
            self.denied = True
            self._listener.ended("the server does not accept our credentials")
        elif state == kazoo_private.CLOSED:
            self._listener.ended("the connection has ended")

    def later(self, seconds: float, function: Callable[[], object]) -> None:
        self._seat.at(now() + seconds, function)

    def rung(self) -> None:
        """kazoo's own methods have something to send: on the caller's thread, unless an interrupt
        may strike there."""
        if self._standing is None:
            return  # when it is connected
        if self._may_be_interrupted():
            self._seat.soon(self._answer_the_bell)
        else:
            self._answer_the_bell()

    def _answer_the_bell(self) -> None:
        with self.batch():
            self._pass_own_requests_on()
            self.flush()

    def _pass_own_requests_on(self) -> None:
        """Send what there is room for; the rest stays with kazoo until the socket is drained."""
        standing = self._standing
        if standing is None:
            return
        outgoing = standing.link.outgoing
        if self._outbox:
            self.flush()  # nobody overtakes a watch that may stand for theirs
        if self._outbox or (standing.full and len(outgoing) > _BACKLOG):
            return
        for own in self._handler.own_requests():
            self._seat.expect()
            if own.mishap:
                self._state_after = own.mishap
                standing.hang_up("somebody tests what happens then")
                return
            try:
                body = self._serialized(own)
            except Exception as error:  # it is no request
                own.fail(error)
                continue
            standing.link.request(own.request.type, body, own, now())
            if len(outgoing) > _BACKLOG:
                standing.flush()
                if len(outgoing) > _BACKLOG:
                    return

    def _serialized(self, own: OwnRequest) -> bytes:
        """A request of kazoo's, asking for no watch where another one stands for it."""
        body: bytes = own.request.serialize()
        kind = own.watch
        if kind is None or self._is_outlived or self._listener.client_asks(kind, own.request.path):
            return body
        without: bytes = own.request._replace(watcher=None).serialize()
        return without

    def _own_answered(self, own: OwnRequest, *, was_set: bool) -> None:
        kind = own.watch
        if kind is not None and not self._is_outlived:
            self._listener.client_answered(kind, own.request.path, was_set)

    @property
    def _is_outlived(self) -> bool:
        """Whether the session that the connection was made for is over."""
        return self._session_of_link != self._sessions_lost

    # --- what the server says -------------------------------------------------------------

    def batch(self) -> AbstractContextManager[Any]:
        return self._listener.batch()

    def hear(self, heard: Heard) -> None:
        if not self._works_since:
            self._works_since = now()
        if isinstance(heard, Reply):
            self._listener.answered(heard.sent_at)
            if heard.zxid > 0:
                self.client.last_zxid = heard.zxid
            if isinstance(heard.what, OwnRequest):
                own = heard.what
                self._state_after = self._handler.tell(own, heard) or self._state_after
                # Whoever looks whether a node exists waits for its creation if it does not.
                none_yet = heard.error == NoNode.code and own.request.type == EXISTS
                self._own_answered(own, was_set=none_yet or not heard.error)
                if self._state_after:
                    self.hang_up()
            else:
                self._settle(heard.what, heard)
        elif isinstance(heard, Pong):
            self._listener.answered(heard.sent_at)
        else:
            self._hear_fire(heard)

    def _hear_fire(self, fire: Fired) -> None:
        self._listener.fired(fire.kind, fire.path)
        self._handler.tell_fire(fire)

    def _settle(self, call: Outgoing, reply: Reply) -> None:
        code, value = reply.error, None
        if code == NoNode.code and call.type == EXISTS:
            code = 0
        elif not code:
            try:
                value = call.decode(reply.frame, BODY)
            except Exception as unreadable:
                self._garbled(call, unreadable)
                return
            code = _code_within(value)
        if code in SESSION_OVER_CODES:
            # A connection can outlive its session, if it was made while the session ended: the
            # server answers pings and reads on it and refuses every write. Connecting again we are
            # told that the session is over.
            self.hang_up()
        if code in SESSION_OVER_CODES or code in CONNECTION_LOSS_CODES:
            self._listener.replied(call, None, self._limit.error(call.size, call.path))
            return
        self._limit.taken(call.size)
        if code:
            self._listener.replied(call, None, server_error(code, call.path))
        elif isinstance(value, ZkkitError):
            self._listener.replied(call, None, value)
        else:
            self._listener.replied(call, value, None)

    def _garbled(self, call: Outgoing, unreadable: Exception) -> None:
        _log.warning("the reply to %r cannot be read: %r", call, unreadable)
        self._listener.replied(call, None, self._limit.error(call.size, call.path))
        self.hang_up()

    def drained(self) -> None:
        self.flush()
        self._pass_own_requests_on()
        self.flush()

    def over(self, why: str) -> None:
        standing, self._standing = self._standing, None
        assert standing is not None
        self._last_xid = standing.link.last_xid
        taken, not_taken = standing.link.unanswered()
        kept = [] if self._is_outlived else _of_scripts(not_taken)
        awaited = self._listener.is_awaited
        left = [call for call in kept if not awaited(call)]
        kept = [call for call in kept if awaited(call)]
        # What was not sent is older than whatever scripts make of the news.
        self._outbox = deque(call for call in (*kept, *self._outbox) if not call.perishable)
        for call in self._outbox:
            call.sent_at = 0.0
        self._listener.connection_down()
        lost = _of_scripts(taken)
        self._limit.hung_up_on(0 if standing.left else self._suspected(lost))
        for call in lost:
            self._listener.replied(call, None, self._limit.error(call.size, call.path))
        for call in left:
            self._listener.replied(call, None, ConnectionLost("it was not sent", path=call.path))
        own = [what for what in (*taken, *not_taken) if isinstance(what, OwnRequest)]
        for each in own:
            self._own_answered(each, was_set=False)
        self._handler.go_on(self._state_after, why, now() - self._stands_since, own)

    def _suspected(self, lost: list[Outgoing]) -> int:
        """The size of the request on which the server may have hung up, of all that were under way;
        0 for none."""
        call = max(lost, key=lambda each: each.size, default=None)
        if call is None or not 0.0 < self._works_since <= call.sent_at:
            return 0
        return call.size if self._limit.suspects(call.size, now() - call.sent_at) else 0


def _refuse_to_restart() -> None:
    raise ZkkitError(
        "the client belongs to a session, which ends when the client is stopped",
        hint="close the session and open another one with zkkit.connect",
    )


def _of_scripts(asked: list[Any]) -> list[Outgoing]:
    return [what for what in asked if isinstance(what, Outgoing)]


def _code_within(value: Any) -> int:
    """The code of a refusal that zkkit has no class for: that the session is over is said of a
    multi in its body, as the error of one of its operations. 0 for none."""
    refused = value.error if isinstance(value, MultiFailed) else None
    return refused.number if isinstance(refused, UnknownServerError) else 0
