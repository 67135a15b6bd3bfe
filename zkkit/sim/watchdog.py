"""Ends a script that computes for ever between two yields.

Only an exception thrown in from another thread can do that. The exploring thread says when it
enters a script's code and when it is out again; a guard looks now and then.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

PATIENCE = 2.0
"""Seconds that the code between two yields may take: it computes, and nothing else."""


class Stuck(KeyboardInterrupt):
    """Thrown into a script that does not come back, and like a Ctrl-C caught by nobody."""


class Activity:
    """What the exploring thread tells the guard, and the generators it has begun."""

    __slots__ = ("count", "generators", "inside", "latest")

    def __init__(self) -> None:
        self.count = 0
        self.inside = False
        self.generators: list[Generator[Any, Any, Any]] = []
        self.latest: dict[Any, Any] = {}  # by script, or its code: the last moment it came to


@contextmanager
def watched_over(activity: Activity) -> Iterator[None]:
    """Watch over this thread while it explores."""
    patience = PATIENCE
    thread = threading.get_ident()
    done = threading.Event()

    def watch() -> None:
        seen = -1
        while not done.wait(patience):
            if activity.inside and activity.count == seen:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(thread), ctypes.py_object(Stuck)
                )
            seen = activity.count

    guard = threading.Thread(target=watch, name="zkkit-sim-guard", daemon=True)
    guard.start()
    try:
        yield
    finally:
        done.set()
        guard.join()
