"""As much of ZooKeeper's wire protocol as the proxy needs.

Frames are in `zkkit.ensemble.framing`. The first frame each way is the connect request
and its response; later requests begin with (xid, type), later replies with (xid, zxid, error).
"""

from __future__ import annotations

import struct

from zkkit.session.opcodes import MULTI, NAMES, OPERATIONS, SYNC
from zkkit.session.pulse import BEAT_PATH

BEAT = -1
"""A number of our own for the Syncs and writes by which a zkkit session proves that it lives: who
wants the reply to a script's Sync to be lost does not mean one of those."""

_NUMBERS = {**OPERATIONS, "beat": (BEAT,)}

_LENGTH = struct.Struct(">i")
_REQUEST = struct.Struct(">ii")
_AFTER_CHECK = 4 + 9


def operation_name(number: int) -> str:
    """The name of a request type, or "op<number>"."""
    return "beat" if number == BEAT else NAMES.get(number, f"op{number}")


def operation_numbers(operation: str | int) -> frozenset[int]:
    """The request types meant by a name, or by one number."""
    if isinstance(operation, int):
        return frozenset([operation])
    if operation not in _NUMBERS:
        raise ValueError(f"no operation {operation!r}; there are {', '.join(_NUMBERS)}")
    return frozenset(_NUMBERS[operation])


def request_header(body: bytes) -> tuple[int, int]:
    """(xid, type) of a request."""
    xid, number = _REQUEST.unpack_from(body)
    return xid, BEAT if _is_beat(number, body) else number


def _is_beat(number: int, body: bytes) -> bool:
    """Whether a request is a Sync of the node that beats are about, or a multi that only checks it.
    (What follows the path in such a multi is a version and the header that ends it.)"""
    path = BEAT_PATH.encode()
    return (number == SYNC and body.endswith(path)) or (
        number == MULTI and body[-_AFTER_CHECK - len(path) : -_AFTER_CHECK] == path
    )


def reply_xid(body: bytes) -> int:
    """The xid of a reply: that of its request, or a negative one for events and pings."""
    (xid,) = _LENGTH.unpack_from(body)
    return int(xid)
