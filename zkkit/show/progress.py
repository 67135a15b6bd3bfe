"""How far long work has come: a bar on a terminal, else one line for each finished unit."""

from __future__ import annotations

import shutil
import sys
from typing import Self, TextIO

_BAR = 24


class Progress:
    """Counts finished units of `total` on stderr::

    with Progress(len(plan), "runs") as progress:
        progress.done("herd, 16 contenders")
    """

    def __init__(
        self, total: int, unit: str, *, first: str = "starting", stream: TextIO | None = None
    ) -> None:
        self._first = first  # what goes on before the first unit is done
        self._total = total
        self._unit = unit
        self._stream = stream if stream is not None else sys.stderr
        self._live = self._stream.isatty()
        self._count = 0

    def done(self, what: str) -> None:
        """One more unit is finished."""
        self._count += 1
        if self._live:
            self._draw(what)
        else:
            self._write(f"{self._count}/{self._total} {self._unit}: {what}\n")

    def _draw(self, what: str) -> None:
        full = _BAR * self._count // max(1, self._total)
        bar = "#" * full + "." * (_BAR - full)
        line = f"[{bar}] {self._count}/{self._total} {self._unit}: {what}"
        # One column less than there is: a full line would wrap, and \r not bring us back.
        width = shutil.get_terminal_size().columns - 1
        self._write(f"\r\x1b[K{line[:width]}")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()

    def __enter__(self) -> Self:
        if self._live:
            self._draw(self._first)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._live:
            self._write("\r\x1b[K")
