"""Frames on the wire: a four-byte length and that many bytes."""

from __future__ import annotations

import struct

# Jute's own limit is about 1 MB. Whatever is longer is no frame: a four-letter word read as a
# number is above 10**9, and so is the beginning of a TLS handshake above 10**8.
_LONGEST_FRAME = 64 * 1024 * 1024

_LENGTH = struct.Struct(">i")


def frame(body: bytes) -> bytes:
    """`body` with its length before it."""
    return _LENGTH.pack(len(body)) + body


def frame_length(prefix: bytes | bytearray) -> int | None:
    """The length a frame announces in its first four bytes; None if this is no frame at all."""
    (length,) = _LENGTH.unpack_from(prefix)
    return int(length) if 0 <= length <= _LONGEST_FRAME else None
