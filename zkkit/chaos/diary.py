"""How a process writes down what happens to it.

One JSON object a line, appended by one write each: what was written stays, however the process
ends, and lines of several threads do not mix. Times are of a clock that all processes of a machine
share.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

# The clock that sessions live by, where there is one: it goes on while the machine sleeps.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def now() -> int:
    """Nanoseconds on the clock of the diaries."""
    return time.clock_gettime_ns(_CLOCK)


class Diary:
    """A file that is only ever appended to."""

    def __init__(self, file: Path) -> None:
        self._file = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def note(self, event: str, *, at: int | None = None, **facts: Any) -> None:
        """Write a line; it happened now, unless `at` says when."""
        line = {"t": now() if at is None else at, "e": event, **facts}
        os.write(self._file, json.dumps(line).encode() + b"\n")

    def close(self) -> None:
        """Write no more."""
        os.close(self._file)
