"""What the proxy keeps of a connection: two streams of frames, and what is to be lost of them."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections import deque
from typing import NamedTuple

from zkkit.ensemble.framing import frame_length
from zkkit.testing import wire

_BACKLOG = 1024 * 1024  # bytes waiting in one direction before its source is read no further


class Loss:
    """Replies or requests that are to be lost; `lost` is set when that has happened."""

    def __init__(self, operation: str | int, count: int, *, of_reply: bool) -> None:
        self.lost = threading.Event()
        self.of_reply = of_reply
        self._numbers = wire.operation_numbers(operation)
        self._unclaimed = count
        self._missing = count

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all are lost and their connections dropped; False if time ran out."""
        return self.lost.wait(timeout)

    def claim(self, number: int) -> bool:
        """Whether a request of this type is one to lose; for the proxy only."""
        if self._unclaimed == 0 or number not in self._numbers:
            return False
        self._unclaimed -= 1
        return True

    def unclaim(self) -> None:
        """The connection broke before its server had answered: lose another one instead."""
        self._unclaimed += 1

    def happened(self) -> None:
        """One is lost and its connection dropped."""
        self._missing -= 1
        if self._missing == 0:
            self.lost.set()


class Drop(NamedTuple):
    """In a stream's queue: the connection ends here, and with it something may get lost."""

    loss: Loss | None = None


class Stream:
    """One direction of a connection: cuts bytes into frames and sends them on when they are due."""

    def __init__(self, source: socket.socket, sink: socket.socket) -> None:
        self.source = source
        self.sink = sink
        self.raw = False  # no frames but a four-letter word, or TLS: passed on as it comes
        self._greeted = False
        self._ended = False
        self._incoming = bytearray()
        self._queue: deque[tuple[float, bytes | Drop]] = deque()
        self._queued = 0

    @property
    def hungry(self) -> bool:
        """Whether more should be read from the source."""
        return not self._ended and self._queued < _BACKLOG

    @property
    def due(self) -> float | None:
        """When the next item is to be moved, if there is one."""
        return self._queue[0][0] if self._queue else None

    def take(self, data: bytes) -> list[tuple[bytes, bytes | None]]:
        """The chunks that `data` completes: each as it goes on the wire, and the body it holds.

        The body is None where it has no request or reply header: the greeting, foreign bytes.
        """
        self._incoming += data
        chunks: list[tuple[bytes, bytes | None]] = []
        while chunk := self._next_chunk():
            chunks.append((chunk, chunk[4:] if self._greeted and not self.raw else None))
            self._greeted = True
        return chunks

    def put(self, due: float, item: bytes | Drop) -> None:
        """Queue bytes, or the end of the connection, after which nothing more is taken."""
        if self._ended:
            return
        self._queue.append((due, item))
        if isinstance(item, Drop):
            self._ended = True
        else:
            self._queued += len(item)

    def move(self, now: float) -> bool:
        """Send what is due as far as the sink takes it; True if the connection ends here."""
        while self._queue and self._queue[0][0] <= now:
            due, item = self._queue[0]
            if isinstance(item, Drop):
                return True
            try:
                sent = self.sink.send(item)
            except BlockingIOError:
                return False
            self._queued -= sent
            if sent == len(item):
                self._queue.popleft()
            else:
                self._queue[0] = (due, item[sent:])
        return False

    def losses(self) -> list[Loss]:
        """What gets lost with the end of the connection."""
        return [item.loss for _, item in self._queue if isinstance(item, Drop) and item.loss]

    def _next_chunk(self) -> bytes:
        size = len(self._incoming)
        if not self.raw:
            if size < 4:
                return b""
            length = frame_length(self._incoming)
            self.raw = length is None
            if length is not None:
                size = 4 + length
        if len(self._incoming) < size:
            return b""
        chunk = bytes(self._incoming[:size])
        del self._incoming[:size]
        return chunk


class Connection:
    """A client's connection, ours to its server, and the streams between them."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client = client
        self.server = server
        self.up = Stream(client, server)
        self.down = Stream(server, client)
        self.established = False
        self.doomed: dict[int, Loss] = {}  # the losses of replies, by the xids of their requests

    def close(self) -> None:
        """Close both sides; what was to be lost with them is lost now."""
        for end in (self.client, self.server):
            with contextlib.suppress(OSError):  # it may be gone
                # gevent closes later, when nobody waits for the socket; they must know now
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        for loss in self.up.losses() + self.down.losses():
            loss.happened()
        for loss in self.doomed.values():
            loss.unclaim()
