"""As much of ZooKeeper's wire protocol as the proxy and `expire` need.

A frame is a four-byte length and that many bytes. The first frame each way is the connect request
and its response; later requests begin with (xid, type), later replies with (xid, zxid, error).
"""

from __future__ import annotations

import struct

from zkkit.session.pulse import BEAT_PATH

CLOSE_SESSION = -11
BEAT = -1
"""A number of our own for the Syncs and writes by which a zkkit session proves that it lives: who
wants the reply to a script's Sync to be lost does not mean one of those."""

#: The request types by the names used here; several wire types may be one kind of request.
OPERATIONS: dict[str, tuple[int, ...]] = {
    "create": (1, 15, 19, 21),  # plain, with stat, container, with TTL
    "delete": (2, 20),
    "exists": (3,),
    "get": (4,),
    "set": (5,),
    "get_acl": (6,),
    "set_acl": (7,),
    "children": (8, 12),
    "sync": (9,),
    "ping": (11,),
    "check": (13,),
    "multi": (14,),
    "reconfig": (16,),
    "check_watches": (17,),
    "remove_watches": (18,),
    "multi_read": (22,),
    "auth": (100,),
    "set_watches": (101, 105),
    "sasl": (102,),
    "add_watch": (106,),
    "close": (CLOSE_SESSION,),
    "beat": (BEAT,),
}
_NAMES = {number: name for name, numbers in OPERATIONS.items() for number in numbers}

# Jute's own limit is about 1 MB. Whatever is longer is no frame: a four-letter word read as a
# number is above 10**9, and so is the beginning of a TLS handshake above 10**8.
_LONGEST_FRAME = 64 * 1024 * 1024

_LENGTH = struct.Struct(">i")
_REQUEST = struct.Struct(">ii")
_AFTER_CHECK = 4 + 9


def operation_name(number: int) -> str:
    """The name of a request type, or "op<number>"."""
    return _NAMES.get(number, f"op{number}")


def operation_numbers(operation: str | int) -> frozenset[int]:
    """The request types meant by a name, or by one number."""
    if isinstance(operation, int):
        return frozenset([operation])
    if operation not in OPERATIONS:
        raise ValueError(f"no operation {operation!r}; there are {', '.join(OPERATIONS)}")
    return frozenset(OPERATIONS[operation])


def frame(body: bytes) -> bytes:
    """`body` with its length before it."""
    return _LENGTH.pack(len(body)) + body


def frame_length(prefix: bytes | bytearray) -> int | None:
    """The length a frame announces in its first four bytes; None if this is no frame at all."""
    (length,) = _LENGTH.unpack_from(prefix)
    return int(length) if 0 <= length <= _LONGEST_FRAME else None


def request_header(body: bytes) -> tuple[int, int]:
    """(xid, type) of a request."""
    xid, number = _REQUEST.unpack_from(body)
    return xid, BEAT if _is_beat(number, body) else number


def _is_beat(number: int, body: bytes) -> bool:
    """Whether a request is a Sync of the node that beats are about, or a multi that only checks it.
    (What follows the path in such a multi is a version and the header that ends it.)"""
    path = BEAT_PATH.encode()
    return (number == 9 and body.endswith(path)) or (
        number == 14 and body[-_AFTER_CHECK - len(path) : -_AFTER_CHECK] == path
    )


def reply_xid(body: bytes) -> int:
    """The xid of a reply: that of its request, or a negative one for events and pings."""
    (xid,) = _LENGTH.unpack_from(body)
    return int(xid)


def split_hosts(hosts: str) -> tuple[list[tuple[str, int]], str]:
    """The servers of a connect string, and its chroot ("" if there is none)."""
    servers, slash, chroot = hosts.partition("/")
    return [_split_host(server.strip()) for server in servers.split(",")], slash + chroot


def _split_host(server: str) -> tuple[str, int]:
    host, colon, port = server.rpartition(":")
    if not colon or server.endswith("]"):  # no port; in [::1] the colons are the address's own
        host, port = server, "2181"
    return host.strip("[]"), int(port)
