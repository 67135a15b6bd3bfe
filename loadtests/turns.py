"""Every turn at the lock: when it was asked for, acquired, let go, and given back for good.

Locust keeps times rounded to whole milliseconds (below 100 ms) and only in a histogram. Whoever
compares designs of a lock wants microseconds, and whoever checks it wants every single hold. So
the turns are kept here as well: five columns of 64-bit numbers, 40 bytes a turn.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import NamedTuple

from zkkit.check.overlap import HoldInterval

MOST = 1_000_000
"""How many turns are kept at most: 40 MB. A test that gets there is stopped."""


class UserTurn(NamedTuple):
    """One turn, in nanoseconds of this process's monotonic clock.

    `done_ns` is 0 if the release was not answered: the user was stopped, or it failed.
    """

    user: int
    asked_ns: int
    acquired_ns: int
    released_ns: int
    done_ns: int


class Turns:
    """The turns of all users, in the order in which their holds ended."""

    def __init__(self) -> None:
        self._columns = tuple(array("q") for _ in UserTurn._fields)

    def held(self, user: int, asked_ns: int, acquired_ns: int, released_ns: int) -> int:
        """A hold has ended and is about to be released; gives the number of its turn."""
        turn = UserTurn(user, asked_ns, acquired_ns, released_ns, done_ns=0)
        for column, value in zip(self._columns, turn, strict=True):
            column.append(value)
        return len(self) - 1

    def done(self, number: int, now_ns: int) -> None:
        """The release of that turn was answered."""
        self._columns[-1][number] = now_ns

    def __len__(self) -> int:
        return len(self._columns[0])

    def __iter__(self) -> Iterator[UserTurn]:
        return map(UserTurn, *self._columns)

    def between(self, begin_ns: int, end_ns: int) -> list[UserTurn]:
        """The turns that were acquired in [begin, end), in the order of their grants."""
        inside = (turn for turn in self if begin_ns <= turn.acquired_ns < end_ns)
        return sorted(inside, key=lambda turn: turn.acquired_ns)

    def holds(self, lock: str) -> Iterator[HoldInterval]:
        """All holds, to be checked for overlap."""
        for turn in self:
            yield HoldInterval(user_name(turn.user), lock, turn.acquired_ns, turn.released_ns)


def user_name(number: int) -> str:
    """What user `number` is called, in lines and in the data of its lock node."""
    return f"user-{number}"
