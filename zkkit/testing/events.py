"""Waiting for what a session's hooks report: that somebody is in line, was woken, lost a hold."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

from zkkit.hooks import HOOK_NAMES, Event, Hook


class Countdown:
    """An instrument that ends a wait when enough events of each kind have happened."""

    def __init__(self, **counts: int) -> None:
        """Raises ValueError for a name that is no hook's: it would be waited for in vain."""
        unknown = sorted(set(counts) - set(HOOK_NAMES))
        if unknown:
            raise ValueError(f"no hook is called {unknown[0]}; hooks are {', '.join(HOOK_NAMES)}")
        self._missing = Counter(counts)
        self._done = threading.Event()
        for name in counts:
            setattr(self, name, self._counter(name))
        self._look()

    def _counter(self, name: str) -> Hook:
        def count(event: Event) -> None:
            self._missing[name] -= 1
            self._look()

        return count

    def _look(self) -> None:
        if not +self._missing:
            self._done.set()

    def wait(self, seconds: float = 20.0) -> bool:
        """Wait until all have happened. Raises AssertionError, with what is missing, if they have
        not within `seconds`."""
        __tracebackhide__ = True
        assert self._done.wait(seconds), f"missing after {seconds:g} s: {dict(+self._missing)}"
        return True


def when(*sessions: Any, **counts: int) -> Countdown:
    """Count events of these sessions from now on, by the names of the hooks:

        in_line = when(session, watch_set=1)
        ...                                   # start somebody who acquires
        in_line.wait()

    `sessions` are zkkit sessions of any front, or whatever else has `hooks`.

    Raises ValueError if a name is no hook's.
    """
    countdown = Countdown(**counts)
    for session in sessions:
        session.hooks.add(countdown)
    return countdown
