"""A standing connection without I/O: what is asked becomes bytes, bytes become what was heard.

It begins when a server has taken us and ends when the connection is over; sockets, threads and
clocks are somebody else's (`standing.py`), so it can be fed any bytes a test can think of.

    request(kind, body, what)   numbers a request and puts its frame into `outgoing`
    ping(sent_at)               the same for a ping
    outgoing                    bytes for the socket; `sent(count)` takes off what it took
    receive(data)               bytes from the socket, cut anywhere: gives what they say, in order

A frame is its length and that many bytes. Those of a reply begin with three numbers: xid, zxid and
error. The server answers the requests of a connection in their order, so a reply belongs to the
oldest request without one, and its xid must say so. Three xids are not numbers of requests: that of
a fire, that of a ping, and that of credentials, which the server answers out of turn.

`Garbled` is raised where the bytes cannot be a server's: a length that makes no sense, a reply to
nothing, a fire that cannot be read. There is no way to find the next frame then: the connection
must be given up. What was heard before that is in the error: it was said, and counts.

What was asked and not answered when the connection ends is of two kinds, and `unanswered` tells
them apart: what the socket has taken, even if only the first byte, may have been applied; what it
has not taken was not.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

from ..steps import FireKind
from .opcodes import AUTH, PING

LARGEST_FRAME = 1 << 26
"""Bytes. Servers send less by far, whatever their settings; the first bytes of a web server's or a
TLS server's greeting, taken for a length, are more."""

FIRE_XID, PING_XID, AUTH_XID = -1, -2, -4
_LAST_XID = 0x7FFF_FFFF

_LENGTH = struct.Struct(">i")
_REQUEST = struct.Struct(">iii")  # length, xid, opcode
_REPLY = struct.Struct(">iqi")  # xid, zxid, error
_EVENT = struct.Struct(">iii")  # kind, state, length of the path
FIRE_KINDS = {1: FireKind.CREATED, 2: FireKind.DELETED, 3: FireKind.CHANGED, 4: FireKind.CHILD}

_CONNECTED = 3  # the state of the session that servers name in a fire

BODY = _REPLY.size
"""Where the body of a reply begins in its frame."""


class Reply(NamedTuple):
    """The answer to a request: `what` it was made with, and when it was sent."""

    what: Any
    sent_at: float
    error: int
    zxid: int
    xid: int
    frame: bytes


class Pong(NamedTuple):
    """The answer to a ping that was sent then."""

    sent_at: float


class Fired(NamedTuple):
    """A watch notification."""

    kind: FireKind
    path: str
    frame: bytes


Heard = Reply | Pong | Fired


class Garbled(Exception):
    """These bytes are no server's. `heard`: what was said before them."""

    def __init__(self, why: str, heard: list[Heard]) -> None:
        super().__init__(why)
        self.heard = heard


class _Asked(NamedTuple):
    """A request without an answer."""

    xid: int
    what: Any
    sent_at: float
    begins: int
    """How many bytes were put into `outgoing` before it, since the connection began."""


class Link:
    """One connection: numbers, frames, and which reply belongs to which request."""

    def __init__(self, last_xid: int) -> None:
        self.last_xid = last_xid
        """The number of the last request: the next connection goes on from there."""
        self.outgoing = bytearray()
        self._taken = 0  # bytes that the socket has taken
        self._asked: deque[_Asked] = deque()
        self._credentials: deque[_Asked] = deque()
        self._pings: deque[float] = deque()
        self._untold: list[Any] = []  # what was answered, but not to those who asked
        self._incoming = bytearray()
        self._needed = 4  # so many bytes before it is worth while to look

    # --- out ------------------------------------------------------------------------------------

    def request(self, kind: int, body: bytes, what: Any, sent_at: float) -> None:
        """Ask a server for something; `what` comes back with the reply."""
        begins = self._taken + len(self.outgoing)
        if kind == AUTH:
            xid = AUTH_XID
            self._credentials.append(_Asked(xid, what, sent_at, begins))
        else:
            self.last_xid = xid = self.last_xid % _LAST_XID + 1
            self._asked.append(_Asked(xid, what, sent_at, begins))
        self.outgoing += _REQUEST.pack(len(body) + 8, xid, kind)
        self.outgoing += body

    def ping(self, sent_at: float) -> None:
        self._pings.append(sent_at)
        self.outgoing += _REQUEST.pack(8, PING_XID, PING)

    def sent(self, count: int) -> None:
        """The socket has taken so many bytes of `outgoing`."""
        self._taken += count
        del self.outgoing[:count]

    # --- in -------------------------------------------------------------------------------------

    def receive(self, data: bytes) -> list[Heard]:
        """What the server says. Raises Garbled if that is nothing a server would say."""
        incoming = self._incoming
        incoming += data
        if len(incoming) < self._needed:
            return []
        heard: list[Heard] = []
        at, end = 0, len(incoming)
        while end - at >= 4:
            (length,) = _LENGTH.unpack_from(incoming, at)
            if not BODY <= length <= LARGEST_FRAME:
                raise Garbled(f"a frame of {length} bytes", heard)
            if end - at - 4 < length:
                self._needed = 4 + length
                break
            at += 4
            heard_now = self._read(bytes(incoming[at : at + length]), heard)
            if heard_now is not None:
                heard.append(heard_now)
            at += length
        else:
            self._needed = 4
        del incoming[:at]
        return heard

    def _read(self, frame: bytes, before: list[Heard]) -> Heard | None:
        xid, zxid, error = _REPLY.unpack_from(frame)
        if xid == PING_XID and self._pings:
            return Pong(self._pings.popleft())
        if xid == FIRE_XID:
            return _read_fire(frame, before)
        asked = self._credentials if xid == AUTH_XID else self._asked
        if asked:
            answered = asked[0]
            if answered.xid == xid and answered.begins < self._taken:  # else it was never sent
                asked.popleft()
                return Reply(answered.what, answered.sent_at, error, zxid, xid, frame)
        raise Garbled(f"a reply to nothing we are waiting for: xid {xid}", before)

    # --- what is open ---------------------------------------------------------------------------

    @property
    def waits_since(self) -> float | None:
        """When the oldest of what has no answer was sent; None if everything has one."""
        queues = self._asked, self._credentials
        since = [queue[0].sent_at for queue in queues if queue]
        if self._pings:
            since.append(self._pings[0])
        return min(since, default=None)

    def take_back(self, heard: Iterable[Heard]) -> None:
        """Nobody could be told of this: the requests count as unanswered."""
        self._untold += [each.what for each in heard if isinstance(each, Reply)]

    def unanswered(self) -> tuple[list[Any], list[Any]]:
        """The connection is over: what was asked and has no answer, in order. First what the socket
        has taken (if only in part), then what it has not."""
        asked = sorted((*self._asked, *self._credentials), key=lambda each: each.begins)
        taken = [each.what for each in asked if each.begins < self._taken]
        not_taken = [each.what for each in asked if each.begins >= self._taken]
        return self._untold + taken, not_taken


def fire_of(kind: FireKind, path: str) -> Fired:
    """As if a server had told of this."""
    (number,) = (number for number, known in FIRE_KINDS.items() if known is kind)
    name = path.encode()
    header = _REPLY.pack(FIRE_XID, -1, 0) + _EVENT.pack(number, _CONNECTED, len(name))
    return Fired(kind, path, header + name)


def _read_fire(frame: bytes, before: list[Heard]) -> Fired | None:
    """A fire; None for one that is no news."""
    try:
        kind, _, length = _EVENT.unpack_from(frame, BODY)
        path = frame[BODY + _EVENT.size : BODY + _EVENT.size + length].decode()
    except (struct.error, UnicodeDecodeError) as unreadable:
        raise Garbled(f"a fire that cannot be read: {unreadable}", before) from unreadable
    if not path or len(frame) < BODY + _EVENT.size + length:
        raise Garbled(f"a fire with a path of {length} bytes", before)
    # Servers also tell of watches that were removed: that is no news.
    return Fired(FIRE_KINDS[kind], path, frame) if kind in FIRE_KINDS else None
