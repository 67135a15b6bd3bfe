"""How values stand in their nodes.

    LONG, INT       eight and four bytes, big-endian, signed: Curator's
    TEXT            decimal digits, as kazoo's Counter writes whole numbers
    FLOAT           the same for numbers that need not be whole
    RAW             bytes as they are

A node that holds anything else is reported by its path, never guessed at.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from ...errors import CorruptData, CounterUsedUp
from ...steps import Data

T = TypeVar("T")


class Form(NamedTuple, Generic[T]):
    """How a value is written."""

    says: str
    """What it is, for messages."""
    kind: type[Any] | tuple[type[Any], ...]
    zero: T
    """What a node without data means, and no node at all."""
    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], T]

    def check(self, value: object) -> None:
        """Raise ValueError unless this is such a value."""
        fits = isinstance(value, self.kind) and not isinstance(value, bool)
        try:
            if fits:
                self.encode(value)
        except struct.error:
            fits = False
        if not fits:
            raise ValueError(f"the value must be {self.says}, not {value!r:.40}")

    def pack(self, path: str, value: T) -> bytes:
        """The data of a node that holds this value. Raises CounterUsedUp if it does not fit."""
        try:
            return self.encode(value)
        except struct.error:
            raise CounterUsedUp(
                f"{path} cannot hold {value}: it is {self.says}",
                path=path,
                hint="start anew from a lower value (force_set), or use an AtomicLong",
            ) from None

    def unpack(self, path: str, found: Data) -> T:
        """The value that a node holds. Raises CorruptData if it is none."""
        try:
            return self.decode(found.data)
        except (ValueError, struct.error):
            raise CorruptData(
                f"{path} holds {found.data[:20]!r} ({len(found.data)} bytes), not {self.says}",
                path=path,
                hint="is the path right, and its layout? force_set (or set) writes it anew",
            ) from None

    def read(self, path: str, found: Data | None) -> T:
        """The same; a node without data, or none at all, holds zero."""
        return self.zero if found is None or not found.data else self.unpack(path, found)


def _whole(letter: str, bits: int) -> Form[int]:
    number = struct.Struct(letter)
    return Form(
        f"an integer of {bits} bits", int, 0, number.pack, lambda data: int(number.unpack(data)[0])
    )


LONG = _whole(">q", 64)
INT = _whole(">i", 32)
TEXT = Form("an integer as text", int, 0, lambda value: repr(value).encode(), int)
FLOAT = Form(
    "a number as text", (int, float), 0.0, lambda value: repr(float(value)).encode(), float
)
RAW = Form("bytes", bytes, b"", bytes, bytes)

NUMBERS: dict[str, Form[int]] = {"curator": LONG, "kazoo": TEXT}
"""The layouts of a long counter."""


def as_text(value: object) -> str:
    """A value as records have it."""
    shown = value.decode(errors="backslashreplace") if isinstance(value, bytes) else str(value)
    return shown[:40]
