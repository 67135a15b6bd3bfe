"""Did two actors ever hold an exclusive lock at the same time?

A hold is the interval [acquired, released): from when its actor learned of it to when the actor
began to release it, on one monotonic clock. Measured this way, a lock that works never shows an
overlap, however slow its requests are, and an overlap that shows did happen. Clocks of two hosts
are never compared: a history comes from one host.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class HoldInterval(NamedTuple):
    """One hold: who had which lock, from when to when (nanoseconds of one monotonic clock)."""

    who: str
    lock: str
    acquired_ns: int
    released_ns: int


class Overlap(NamedTuple):
    """Two holds of one lock that share some time; `first` was acquired first."""

    first: HoldInterval
    second: HoldInterval

    @property
    def ns(self) -> int:
        """How long both held."""
        return min(self.first.released_ns, self.second.released_ns) - self.second.acquired_ns

    def __str__(self) -> str:
        return (
            f"{self.first.who} and {self.second.who} both held {self.first.lock} "
            f"for {self.ns / 1e6:.3f} ms"
        )


def overlaps(holds: Iterable[HoldInterval]) -> list[Overlap]:
    """Every hold that began before an earlier one of the same lock had ended, together with the one
    of those that lasted longest; in the order in which they began. Empty: no overlap.

    Two holds of one actor overlap too: count a reentrant acquire as part of the hold it is in.
    """
    found = []
    longest: dict[str, HoldInterval] = {}
    for hold in sorted(holds, key=lambda held: (held.acquired_ns, held.released_ns)):
        if hold.released_ns <= hold.acquired_ns:
            continue  # it took no time: nothing can lie in it
        before = longest.get(hold.lock)
        if before is not None and hold.acquired_ns < before.released_ns:
            found.append(Overlap(before, hold))
        if before is None or hold.released_ns > before.released_ns:
            longest[hold.lock] = hold
    return found
