"""How values stand in their nodes.

    LONG, INT       eight and four bytes, big-endian, signed: Curator's
    TEXT            decimal digits, as kazoo's Counter writes whole numbers
    FLOAT           the same for numbers that need not be whole, but are finite
    RAW             bytes as they are

A node that holds anything else is reported by its path, never guessed at.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from ...errors import CorruptData, CounterUsedUp
from ...steps import Data

T = TypeVar("T")


_MISFITS = (struct.error, ValueError, OverflowError)
"""What encoding raises if a value does not fit."""


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
        except _MISFITS:
            fits = False
        if not fits:
            raise ValueError(f"the value must be {self.says}, not {_shown(value)}")

    def pack(self, path: str, value: T) -> bytes:
        """The data of a node that holds this value. Raises CounterUsedUp if it does not fit."""
        try:
            return self.encode(value)
        except _MISFITS:
            raise CounterUsedUp(
                f"{path} cannot hold {_shown(value)}: it is {self.says}",
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


def _shown(value: object) -> str:
    try:
        return f"{value!r:.40}"
    except ValueError:
        return "one of more digits than Python writes"


def _digits(data: bytes) -> int:
    if not re.fullmatch(rb"-?\d+", data):
        raise ValueError  # int takes more than anybody writes: blanks, underscores
    return int(data)


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError
    return number


def _decimals(data: bytes) -> float:
    if not re.fullmatch(rb"-?\d+(\.\d+)?(e[-+]\d+)?", data):
        raise ValueError
    return _finite(float(data))


def _whole(letter: str, bits: int) -> Form[int]:
    number = struct.Struct(letter)
    return Form(
        f"an integer of {bits} bits", int, 0, number.pack, lambda data: int(number.unpack(data)[0])
    )


LONG = _whole(">q", 64)
INT = _whole(">i", 32)
TEXT = Form("an integer as text", int, 0, lambda value: repr(value).encode(), _digits)
FLOAT = Form(
    "a finite number as text",
    (int, float),
    0.0,
    lambda value: repr(_finite(float(value))).encode(),
    _decimals,
)
RAW = Form("bytes", bytes, b"", bytes, bytes)

NUMBERS: dict[str, Form[int]] = {"curator": LONG, "kazoo": TEXT}
"""The layouts of a long counter."""


def as_text(value: object) -> str:
    """A value as records have it."""
    shown = value.decode(errors="backslashreplace") if isinstance(value, bytes) else str(value)
    return shown[:40]
