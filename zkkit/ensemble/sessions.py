"""Ending a session from outside, as the servers do when its client was silent for too long."""

from __future__ import annotations

import itertools
import socket
import struct
import time
from typing import Any, BinaryIO

from zkkit.ensemble.framing import frame, frame_length
from zkkit.errors import ZkkitError
from zkkit.hosts import parse_hosts
from zkkit.retry import Deadline
from zkkit.session.opcodes import CLOSE

# A server that handles this session for its own client as well tells requests apart by xid alone
# (ZOOKEEPER-2684): ours must be none that the client may be using.
_XID = 0x7FFF_FFFF
_PAUSE = 0.05  # seconds before the next server is tried
_CONNECT_RESPONSE = struct.Struct(">iiq")  # protocol version, timeout, session id; then password
_REPLY = struct.Struct(">iqi")  # xid, zxid, error
_CLOSE_REQUEST = frame(struct.pack(">ii", _XID, CLOSE))


class NotExpired(ZkkitError):
    """The session could not be ended from outside."""


def expire(hosts: str, session_id: int, password: bytes, timeout: float = 5.0) -> int:
    """Expire a session for real; when this returns the servers have ended it. Gives the time at
    which they were asked to, in nanoseconds of the monotonic clock.

    A second connection takes the session over with its id and password (kazoo's
    `client.client_id`) and closes it. The client it belonged to is disconnected and, when it
    reconnects, is told that its session has expired. Another client that is to see the ephemeral
    nodes gone must sync first, as ever. Servers that do not answer are passed over.

    Raises NotExpired if the servers do not know this session with this password, or if none has
    ended it within `timeout`; ZkkitError if `hosts` names no usable server. (One that hangs up on
    the request may have ended the session: if it is not known after that, it has ended.)
    """
    servers = parse_hosts(hosts).servers
    deadline = Deadline.after(timeout, time.monotonic())
    refusals: dict[str, str] = {}
    asked_ns = 0
    for server in itertools.cycle(servers):
        left = deadline.left(time.monotonic())
        if not left:
            break
        try:
            with (
                socket.create_connection(server, timeout=left) as connection,
                connection.makefile("rb") as answers,
            ):
                sent_ns = time.monotonic_ns()
                # In one piece: its own client, which is disconnected by the first half, must not
                # get the session back before the second one ends it.
                connection.sendall(_connect_request(session_id, password, timeout) + _CLOSE_REQUEST)
                # From here on it may be over, whether its answer reaches us or not.
                asked_before, asked_ns = asked_ns, asked_ns or sent_ns
                _, _, resumed = _CONNECT_RESPONSE.unpack_from(_read_frame(answers))
                if resumed:
                    asked_ns = sent_ns  # so what was asked before did not end it
                    _await_close(answers)
                elif not asked_before:
                    raise NotExpired(
                        f"the servers do not know session {session_id:#x} with this password",
                        hint="it may have expired already; id and password are kazoo's "
                        "client.client_id",
                    )
                # Else: it was our request that ended it, a moment ago.
                return asked_ns
        except OSError as error:
            # Its own client, disconnected by us, may be taking the session back at this moment,
            # and a server that ends a session may hang up before it has answered: ask again.
            refusals[str(server)] = str(error)
            time.sleep(_PAUSE)
    tried = "; ".join(f"{server}: {error}" for server, error in refusals.items())
    raise NotExpired(
        f"no server closed session {session_id:#x} within {timeout:g} s ({tried})",
        hint="is the ensemble up, and does it have a leader?",
    )


def expire_session(hosts: str, session: Any) -> None:
    """Expire the ZooKeeper session of a zkkit session, on any front, or of a kazoo client.

    `hosts` are the servers themselves, also where the session goes through a `Proxy`.

    Raises NotExpired if it has no session, and as `expire`.
    """
    identity = getattr(session, "kazoo", session).client_id
    if identity is None:
        raise NotExpired(f"{session!r} has no session to expire", hint="connect it first")
    expire(hosts, *identity)


def _await_close(answers: BinaryIO) -> None:
    """The answer to the close."""
    xid = error = 0
    while xid != _XID:
        xid, _, error = _REPLY.unpack_from(_read_frame(answers))
    if error:
        raise ConnectionError(f"closeSession was answered with error {error}")


def _connect_request(session_id: int, password: bytes, timeout: float) -> bytes:
    """Protocol version 0, last zxid seen 0, timeout in ms, id, password, not read-only."""
    head = struct.pack(">iqiq", 0, 0, int(timeout * 1000), session_id)
    return frame(head + frame(password) + b"\x00")


def _read_frame(answers: BinaryIO) -> bytes:
    length = frame_length(_read_exactly(answers, 4))
    if length is None:
        raise ConnectionError("the answer is not ZooKeeper's")
    return _read_exactly(answers, length)


def _read_exactly(answers: BinaryIO, count: int) -> bytes:
    data = answers.read(count)
    if len(data) < count:
        raise ConnectionError("the server closed the connection")
    return data
