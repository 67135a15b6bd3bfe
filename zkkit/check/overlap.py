"""Did two actors ever hold an exclusive lock at the same time?

A hold is the interval [acquired, released): from when its actor was told to when it began to let
go, on one monotonic clock. Taken so, a lock that works never shows an overlap, however slow its
requests are; and an overlap that shows is one that the actors really had. Clocks of two hosts are
never compared: a history comes from one host.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from zkkit.record.frames import Row


class Held(NamedTuple):
    """One hold: who had which lock, from when to when (nanoseconds of one monotonic clock)."""

    who: str
    lock: str
    acquired_ns: int
    released_ns: int


class Overlap(NamedTuple):
    """Two holds of one lock that share some time; `first` was acquired first."""

    first: Held
    second: Held

    @property
    def ns(self) -> int:
        """How long both held."""
        return min(self.first.released_ns, self.second.released_ns) - self.second.acquired_ns

    def __str__(self) -> str:
        return (
            f"{self.first.who} and {self.second.who} both held {self.first.lock} "
            f"for {self.ns / 1e6:.3f} ms"
        )


def overlaps(holds: Iterable[Held]) -> list[Overlap]:
    """Every hold that began while an earlier one of the same lock had not ended, each with the
    one of those that lasted longest; in the order in which they began. Empty: no overlap.

    Two holds of one actor overlap too: count a reentrant acquire as part of the hold it is in.
    """
    found = []
    longest: dict[str, Held] = {}
    for hold in sorted(holds, key=lambda held: (held.acquired_ns, held.released_ns)):
        if hold.released_ns <= hold.acquired_ns:
            continue  # it took no time: nothing can lie in it
        before = longest.get(hold.lock)
        if before is not None and hold.acquired_ns < before.released_ns:
            found.append(Overlap(before, hold))
        if before is None or hold.released_ns > before.released_ns:
            longest[hold.lock] = hold
    return found


def holds_of(rows: Iterable[Row]) -> list[Held]:
    """The holds of exclusive locks in a recording. A lock is the directory its nodes lie in.

    A hold that was lost ends when that was noticed; one that has not ended lasts to the end of
    the recording. A reentrant acquire belongs to the hold it is in.
    """
    found: list[Held] = []
    running: dict[tuple[int, str, str], int] = {}
    now = 0
    for hook, event in rows:
        now = max(now, event.t_ns)
        key = (event.session, event.actor, event.path)
        if hook == "acquired" and event.kind != "reentrant":
            running[key] = event.t_ns
        elif hook in ("released", "lost") and key in running:
            found.append(_held(key, running.pop(key), event.t_ns))
    found += [_held(key, since, now) for key, since in running.items()]
    return found


def _held(key: tuple[int, str, str], acquired_ns: int, released_ns: int) -> Held:
    session, actor, path = key
    # Actors of two processes may bear one name; no two sessions have one id.
    return Held(f"{actor} (session {session:#x})", _directory(path), acquired_ns, released_ns)


def _directory(path: str) -> str:
    return path.rpartition("/")[0] or "/"
