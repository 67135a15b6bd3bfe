"""What has happened on one lock object, counted."""

from __future__ import annotations

from typing import NamedTuple


class Statistics(NamedTuple):
    """Counts and seconds since the lock object was made. Times are of grants, not of reentries."""

    acquired: int = 0
    reentered: int = 0
    released: int = 0
    gave_up: int = 0
    """Attempts that did not end in a grant: not blocking, deadline, cancelled, failed."""
    lost: int = 0
    """Holds that ended with their session."""
    waited: float = 0.0
    """Seconds from call to grant, all together."""
    longest_wait: float = 0.0
    held: float = 0.0
    """Seconds from grant to release or loss, all together."""


class Counter:
    """Counts for one lock object; the session calls it, one event at a time."""

    def __init__(self) -> None:
        self.statistics = Statistics()

    def count(self, what: str, kind: str, duration_ns: int) -> None:
        now, seconds = self.statistics, duration_ns / 1e9
        if what == "gave up":
            now = now._replace(gave_up=now.gave_up + 1)
        elif kind == "reentrant":
            now = now._replace(reentered=now.reentered + 1)
        elif what == "acquired":
            now = now._replace(
                acquired=now.acquired + 1,
                waited=now.waited + seconds,
                longest_wait=max(now.longest_wait, seconds),
            )
        elif what == "released":
            now = now._replace(released=now.released + 1, held=now.held + seconds)
        else:
            now = now._replace(lost=now.lost + 1, held=now.held + seconds)
        self.statistics = now
