"""What a recipe tells unasked, and when: leadership, values, nodes that changed.

Times are nanoseconds of the machine's monotonic clock, as in rounds.py.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple


class ToldEvent(NamedTuple):
    """One thing that was told."""

    event: str
    at_ns: int
    value: Any = None


class ToldLog:
    """Everything that was told, in order; from any thread."""

    def __init__(self) -> None:
        self._more = threading.Condition()
        self._told: list[ToldEvent] = []

    def add(self, event: ToldEvent) -> None:
        """Add something that was told."""
        with self._more:
            self._told.append(event)
            self._more.notify_all()

    def all(self, *events: str) -> list[ToldEvent]:
        """What was told so far; only these events, if some are named."""
        with self._more:
            return [one for one in self._told if not events or one.event in events]

    def wait(self, number: int, patience: float, *events: str) -> list[ToldEvent]:
        """What `all` gives, once it is so many events or the patience is over."""
        with self._more:
            self._more.wait_for(lambda: len(self.all(*events)) >= number, patience)
            return self.all(*events)
