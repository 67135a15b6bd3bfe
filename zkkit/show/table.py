"""Aligned tables in plain text, and colour where it is wanted."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Mapping, Sequence
from typing import TextIO

_COLOURS = {"green": "32", "red": "31", "yellow": "33", "bold": "1"}


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """The rows under their headers; the first `left` columns to the left, numbers to the right."""
    columns = list(zip(headers, *rows, strict=True))
    widths = [max(map(_width, column)) for column in columns]
    lines = [_line(headers, widths, left), "  ".join("-" * width for width in widths)]
    lines += [_line(row, widths, left) for row in rows]
    return "\n".join(lines)


def pairs(facts: Mapping[str, str], *, indent: int = 2) -> str:
    """Names and values, one pair a line."""
    widest = max(map(_width, facts), default=0)
    return "\n".join(
        f"{' ' * indent}{_pad(name, widest, True)}  {value}" for name, value in facts.items()
    )


def wants_colour(stream: TextIO) -> bool:
    """Whether to colour: on a terminal, unless NO_COLOR is set (to anything)."""
    return not os.environ.get("NO_COLOR") and stream.isatty()


def paint(text: str, colour: str, stream: TextIO) -> str:
    """The text in a colour, if the stream wants any."""
    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m" if wants_colour(stream) else text


def _line(cells: Sequence[str], widths: Sequence[int], left: int) -> str:
    padded = (
        _pad(cell, width, number < left)
        for number, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join(padded).rstrip()


def _pad(cell: str, width: int, to_left: bool) -> str:
    room = " " * (width - _width(cell))
    return cell + room if to_left else room + cell


def _width(text: str) -> int:
    """The columns a text takes on a terminal: Chinese characters take two."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
