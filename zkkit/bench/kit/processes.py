"""Child processes that are spoken to line by line.

A child gets its orders on stdin and answers on stdout. What it complains of on stderr is kept: its
last words are part of every error about it. When we end, in whatever way, its stdin is closed, and
that is how it knows that it should end too.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO

from zkkit.errors import ZkkitError

_GOODBYE = 10.0  # seconds for a child to end by itself
_TAIL = 5  # lines of its last words


class ChildSilent(ZkkitError):
    """A child process has ended, failed or hangs: what it was asked for cannot be had."""


class Child:
    """A child process. `name` is what errors call it."""

    def __init__(self, name: str, command: Sequence[str]) -> None:
        self.name = name
        self._errors: IO[str] = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            start_new_session=True,  # a Ctrl-C in the terminal is for us
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def say(self, line: str) -> None:
        """Send it a line; ChildSilent if it has ended."""
        try:
            self._in.write(f"{line}\n")
            self._in.flush()
        except (BrokenPipeError, ValueError):
            raise self._silent() from None

    def hear(self, patience: float) -> str:
        """Its next line; ChildSilent if it ends first. A child that takes longer is ended."""
        with ended_after(patience, self.pid):
            line = self._out.readline()
        if not line:
            raise self._silent()
        return line

    def lines(self) -> Iterator[str]:
        """All its lines until it ends, for a thread that does nothing but read them."""
        return iter(self._out)

    def last_words(self) -> str:
        """The end of what it complained of."""
        if self._errors.closed:
            return "(it was closed)"
        self._errors.seek(0)
        return "\n".join(self._errors.read().splitlines()[-_TAIL:]) or "(it said nothing)"

    def kill(self) -> None:
        """End it at once, if it has not ended."""
        self._process.kill()
        self._process.wait()

    def say_goodbye(self) -> None:
        """Let it end by itself; kill it if it does not."""
        try:
            self._in.close()
            self._process.wait(_GOODBYE)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            pass
        finally:
            self.kill()

    def close(self) -> None:
        """Say goodbye, and read no more. Closing twice is harmless."""
        self.say_goodbye()
        self._out.close()
        self._errors.close()

    def _silent(self) -> ChildSilent:
        return ChildSilent(f"{self.name} ended or hung: {self.last_words()}")


@contextmanager
def ended_after(patience: float, pid: int) -> Iterator[None]:
    """Kill a process that hangs: whoever waits for it then sees that it has ended."""
    watchdog = threading.Timer(max(0.0, patience), os.kill, [pid, signal.SIGKILL])
    watchdog.daemon = True
    watchdog.start()
    try:
        yield
    finally:
        watchdog.cancel()
