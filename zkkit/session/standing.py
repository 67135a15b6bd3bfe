"""A link on a socket: the one place that reads and writes a standing connection.

Whoever sends writes at once, with the monitor, into the non-blocking socket; what the socket does
not take waits until it can. Reading is the seat's business (`loop.py`): when there is something,
everything that is there is taken and told under one hold of the monitor, and what the scripts send
in answer goes out in one write.

A connection ends in one way only: its socket is shut, by whomever, and the reader finds that out.
So nobody ever closes a socket that somebody else is reading. With TLS nothing is received or sent
without the monitor either: OpenSSL wants that.

It is kept alive by pings where nothing else is sent for a third of the session timeout, and given
up where nothing is heard for two thirds while an answer is awaited.
"""

from __future__ import annotations

import socket
import ssl
from contextlib import AbstractContextManager, suppress
from typing import Any, Protocol

from .clock import now
from .forks import tell_in_child
from .link import Garbled, Heard, Link
from .loop import AnySeat

_CHUNK = 1 << 18
_NOT_NOW = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class Receiver(Protocol):
    """Whom a standing connection tells, always with the monitor: the transport."""

    def batch(self) -> AbstractContextManager[Any]:
        """The monitor. What scripts have to send goes out at the end."""

    def hear(self, heard: Heard) -> None:
        """The server said this."""

    def drained(self) -> None:
        """The socket takes more again."""

    def over(self, why: str) -> None:
        """The connection is over, and its socket shut."""


class Standing:
    """One connection from the moment a server has taken us until it is over."""

    def __init__(
        self, sock: socket.socket, link: Link, timeout: float, receiver: Receiver, seat: AnySeat
    ) -> None:
        """`timeout` is that of the session, as negotiated."""
        self.link = link
        self._socket = sock
        self._receiver = receiver
        self._seat = seat
        self._pace, self._patience = timeout / 3, timeout * 2 / 3
        self.longest_rest = min(timeout / 8, 1.0)
        self.is_over = False
        self.full = False
        """Whether the socket takes nothing at the moment."""
        self.left = False
        """Whether it was broken off on this side."""
        self._why = ""
        self._last_sent = self._last_heard = now()
        tell_in_child(self)

    def forked(self) -> None:
        self.is_over = True  # for the child: it reads and writes nothing

    def begin(self) -> None:
        """Listen from now on."""
        self._seat.attach(self)
        self._schedule(self._last_sent + self._pace)

    def fileno(self) -> int:
        return self._socket.fileno()

    # --- out, with the monitor --------------------------------------------------------------------

    def flush(self) -> None:
        """Write what there is to write."""
        outgoing = self.link.outgoing
        if not outgoing or self.full or self.is_over:
            return
        self._last_sent = now()
        try:
            self.link.sent(self._socket.send(outgoing))
        except _NOT_NOW:
            pass
        except OSError as broken:
            self._shut(f"the connection broke: {broken}")
            return
        if outgoing:
            self.full = True
            self._seat.await_writing(self, True)

    def hang_up(self, why: str) -> None:
        """Break it off. The reader finds out."""
        self.left = True
        self._shut(why)

    def _shut(self, why: str) -> None:
        if not self.is_over:
            self._why = self._why or why
            shut(self._socket)

    # --- in, as the seat says ---------------------------------------------------------------------

    def can_write(self) -> None:
        with self._receiver.batch():
            if self.is_over or not self.full:
                return
            self.full = False
            self.flush()
            if not self.full:
                self._seat.await_writing(self, False)
                self._receiver.drained()

    def can_read(self) -> None:
        with self._receiver.batch():
            if self.is_over:
                return
            try:
                try:
                    self._read_all()
                except Garbled as garbled:
                    self._tell(garbled.heard)
                    self._end(f"the other side is no ZooKeeper server: {garbled}")
            except _NOT_NOW:
                pass
            except OSError as broken:
                self._end(f"the connection broke: {broken}")
            except BaseException:
                self._end("what the server said could not be dealt with")
                raise

    def _read_all(self) -> None:
        more = True
        while more and not self.is_over:
            data = self._socket.recv(_CHUNK)
            if not data:
                self._end("the server hung up")
                return
            self._last_heard = now()
            self._tell(self.link.receive(data))
            # TLS may have decrypted more than we took: no selector would tell us of that.
            more = len(data) == _CHUNK or (
                isinstance(self._socket, ssl.SSLSocket) and self._socket.pending() > 0
            )

    def _tell(self, heard: list[Heard]) -> None:
        hear, untold = self._receiver.hear, iter(heard)
        try:
            for each in untold:
                hear(each)
        except BaseException:
            self.link.take_back(untold)  # whoever waits for those is told of the end at least
            raise

    def _end(self, why: str) -> None:
        if not self.is_over:
            self.is_over = True
            shut(self._socket)
            self._seat.detach(self, self._socket.close)
            self._receiver.over(self._why or why)

    # --- pings ------------------------------------------------------------------------------------

    def _schedule(self, moment: float) -> None:
        self._seat.at(moment, self._look)

    def _look(self) -> None:
        with self._receiver.batch():
            if self.is_over:
                return
            at, since = now(), self.link.waits_since
            silent = 0.0 if since is None else at - max(since, self._last_heard)
            if silent >= self._patience:
                self.hang_up(f"the server has said nothing for {silent:.1f} s")
            elif at - self._last_sent >= self._pace:
                self.link.ping(at)
                self.flush()
                since = self.link.waits_since
            due = [max(self._last_sent + self._pace, at + self._pace / 8)]
            if since is not None:
                due.append(max(since, self._last_heard) + self._patience)
            self._schedule(max(min(due), at + 0.01))


def shut(sock: socket.socket) -> None:
    """End the connection, TLS or not, with or without the monitor. A TLS socket's own `shutdown`
    takes TLS off: whoever reads on is given what is encrypted as if it had been said."""
    with suppress(OSError):
        if isinstance(sock, ssl.SSLSocket):
            super(ssl.SSLSocket, sock).shutdown(socket.SHUT_RDWR)
        else:
            sock.shutdown(socket.SHUT_RDWR)
