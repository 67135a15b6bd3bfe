"""How far long work has come: a bar on a terminal, else one line for each finished unit."""

from __future__ import annotations

import shutil
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Self, TextIO

from zkkit.sim import Explored

_BAR = 24


class Progress:
    """Counts finished units of `total` on stderr::

    with Progress(len(plan), "runs") as progress:
        progress.done("herd, 16 contenders")

    A Ctrl-C that got lost is noticed when the next unit is done.
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
        self._interrupt = _Interrupt()

    def done(self, what: str) -> None:
        """One more unit is finished."""
        self._interrupt.check()
        self._count += 1
        if self._live:
            self._draw(what)
        else:
            self._write(f"{self._count}/{self._total} {self._unit}: {what}\n")

    def _draw(self, what: str) -> None:
        full = _BAR * self._count // max(1, self._total)
        bar = "#" * full + "." * (_BAR - full)
        line = f"[{bar}] {self._count}/{self._total} {self._unit}: {what}"
        self._write(_over(line))

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()

    def __enter__(self) -> Self:
        self._interrupt.remember()
        if self._live:
            self._draw(self._first)
        return self

    def __exit__(self, *exc: object) -> None:
        self._interrupt.forget()
        if self._live:
            self._write("\r\x1b[K")


class _Interrupt:
    """Ctrl-C, remembered: Python drops a KeyboardInterrupt that strikes in a finaliser or in the
    callback of a weak reference, and long work drops many objects between two units."""

    def __init__(self) -> None:
        self._struck = False

    def remember(self) -> None:
        if _in_main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._strike)

    def forget(self) -> None:
        if _in_main_thread() and signal.getsignal(signal.SIGINT) == self._strike:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def check(self) -> None:
        if self._struck:
            raise KeyboardInterrupt

    def _strike(self, number: int, frame: FrameType | None) -> None:
        self._struck = True
        signal.default_int_handler(number, frame)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def exploring(stream: TextIO | None = None, every: float = 2.0) -> Callable[[Explored], None]:
    """Shows how far an exploration has come: `explore(world, progress=exploring())`.

    On a terminal one line that is written over and over, and gone in the end; elsewhere, as in a
    notebook, a line every so many seconds. How many states there will be is unknown: so there is
    no bar.
    """
    out = stream if stream is not None else sys.stderr
    last = 0.0

    def show(far: Explored) -> None:
        nonlocal last
        text = f"{far.states:,} states in {far.seconds:.1f} s, {far.waiting:,} still to go on from"
        if out.isatty():
            out.write(_over("" if far.over else text))
        elif not far.over and far.seconds - last >= every:
            last = far.seconds
            out.write(f"{text}\n")
        out.flush()

    return show


def _over(line: str) -> str:
    """A line in place of the one that stands there."""
    # One column less than there is: a full line would wrap, and \r not bring us back.
    return f"\r\x1b[K{line[: shutil.get_terminal_size().columns - 1]}"
