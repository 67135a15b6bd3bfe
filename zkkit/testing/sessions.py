"""Ending a session from outside, as the servers do when its client was silent for too long."""

from __future__ import annotations

import itertools
import socket
import struct
import time

from zkkit.errors import ZkkitError
from zkkit.retry import Deadline
from zkkit.testing import wire

# A server that handles this session for its own client as well tells requests apart by xid alone
# (ZOOKEEPER-2684): ours must be none that the client may be using.
_XID = 0x7FFF_FFFF
_PAUSE = 0.05  # seconds before the next server is tried
_CONNECT_RESPONSE = struct.Struct(">iiq")  # protocol version, timeout, session id; then password
_REPLY = struct.Struct(">iqi")  # xid, zxid, error


class NotExpired(ZkkitError):
    """The session could not be ended from outside."""


def expire(hosts: str, session_id: int, password: bytes, timeout: float = 5.0) -> None:
    """Expire a session for real; when this returns the servers have ended it.

    A second connection takes the session over with its id and password (kazoo's
    `client.client_id`) and closes it. The client it belonged to is disconnected and, when it
    reconnects, is told that its session has expired. Another client that is to see the ephemeral
    nodes gone must sync first, as ever. Servers that do not answer are passed over.
    """
    servers, _ = wire.split_hosts(hosts)
    deadline = Deadline.after(timeout, time.monotonic())
    refusals: dict[str, str] = {}
    taken_over = False
    for host, port in itertools.cycle(servers):
        left = deadline.left(time.monotonic())
        if not left:
            break
        try:
            with socket.create_connection((host, port), timeout=left) as connection:
                if _take_over(connection, session_id, password, timeout):
                    taken_over = True
                    _close(connection)
                elif not taken_over:
                    raise _unknown(session_id)
                # Else: known a moment ago and no longer. It was our request that ended it.
                return
        except OSError as error:
            # Its own client, disconnected by us, may be taking the session back at this moment,
            # and a server that ends a session may hang up before it has answered: ask again.
            refusals[f"{host}:{port}"] = str(error)
            time.sleep(_PAUSE)
    tried = "; ".join(f"{server}: {error}" for server, error in refusals.items())
    raise NotExpired(
        f"no server closed session {session_id:#x} within {timeout:g} s ({tried})",
        hint="is the ensemble up, and does it have a leader?",
    )


def _take_over(connection: socket.socket, session_id: int, password: bytes, timeout: float) -> bool:
    """Continue the session on this connection; False if the servers know no such session."""
    connection.sendall(wire.frame(_connect_request(session_id, password, timeout)))
    _, _, resumed = _CONNECT_RESPONSE.unpack_from(_read_frame(connection))
    return bool(resumed)


def _unknown(session_id: int) -> NotExpired:
    return NotExpired(
        f"the servers do not know session {session_id:#x} with this password",
        hint="it may have expired already; id and password are kazoo's client.client_id",
    )


def _close(connection: socket.socket) -> None:
    """Close the session that lives on this connection, and wait for the answer."""
    connection.sendall(wire.frame(struct.pack(">ii", _XID, wire.CLOSE_SESSION)))
    while True:
        xid, _, error = _REPLY.unpack_from(_read_frame(connection))
        if xid == _XID:
            break
    if error:
        raise ConnectionError(f"closeSession was answered with error {error}")


def _connect_request(session_id: int, password: bytes, timeout: float) -> bytes:
    """Protocol version 0, last zxid seen 0, timeout in ms, id, password, not read-only."""
    head = struct.pack(">iqiq", 0, 0, int(timeout * 1000), session_id)
    return head + wire.frame(password) + b"\x00"


def _read_frame(connection: socket.socket) -> bytes:
    length = wire.frame_length(_read_exactly(connection, 4))
    if length is None:
        raise ConnectionError("the answer is not ZooKeeper's")
    return _read_exactly(connection, length)


def _read_exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = connection.recv(count - len(data))
        if not part:
            raise ConnectionError("the server closed the connection")
        data += part
    return data
