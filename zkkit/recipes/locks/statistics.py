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
        acquired, reentered, released, gave_up, lost, waited, longest, held = self.statistics
        seconds = duration_ns / 1e9
        if what == "gave up":
            gave_up += 1
        elif kind == "reentrant":
            reentered += 1
        elif what == "acquired":
            acquired += 1
            waited += seconds
            longest = max(longest, seconds)
        elif what == "released":
            released += 1
            held += seconds
        else:
            lost += 1
            held += seconds
        # One value, so that whoever reads it sees numbers that belong together.
        self.statistics = Statistics(
            acquired, reentered, released, gave_up, lost, waited, longest, held
        )
