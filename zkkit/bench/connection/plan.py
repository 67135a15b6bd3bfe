"""What is compared: a row for each figure, and the plan of the cells.

A cell is one peer at one row for some seconds. The peers take turns as `peers.cells` says.
"""

from __future__ import annotations

from dataclasses import dataclass

from zkkit.bench.peers.cells import ComparisonPlan
from zkkit.show.wording import many

AT_ONCE = 100
"""Requests that are under way at once where they are pipelined."""
SESSION_KAZOO = "session.kazoo"
"""kazoo's client as zkkit's sessions offer it: kazoo's own calls on zkkit's connection."""


@dataclass(frozen=True)
class ConnectionRow:
    """One line of the comparison: so many sessions, each with one caller, do the same again and
    again."""

    name: str
    kind: str
    """ "exists" or "set", one at a time, or "pipelined": a flight of `AT_ONCE` exists."""
    unit: str
    """ "us" of a time, "/s" of a rate."""
    sessions: int = 1
    asked: float | None = None
    """How much faster than kazoo zkkit is to be, if that is asked."""

    @property
    def is_rate(self) -> bool:
        return self.unit == "/s"

    @property
    def operations(self) -> int:
        """How many operations one round has."""
        return AT_ONCE if self.kind == "pipelined" else 1


ROUND_TRIP = ConnectionRow("exists, round trip", "exists", "us", asked=1 / 0.75)
SET = ConnectionRow("set, round trip", "set", "us")
PIPELINED = ConnectionRow("exists, pipelined", "pipelined", "/s", asked=2.0)


@dataclass(frozen=True)
class ConnectionPlan(ComparisonPlan[ConnectionRow]):
    """What to measure. Raises ValueError if that is nothing."""

    peers: tuple[str, ...]
    sessions: tuple[int, ...]
    """The numbers of sessions, with one caller each, that get a row."""
    repeats: int
    seconds: float
    idle: int
    """Sessions of a process that does nothing."""
    seed: int

    def __post_init__(self) -> None:
        if self.repeats < 1 or self.seconds <= 0 or min((self.idle, *self.sessions)) < 1:
            raise ValueError("a plan has repeats, cells of some seconds, and sessions")

    @property
    def rows(self) -> tuple[ConnectionRow, ...]:
        many_sessions = (
            ConnectionRow(f"exists, {many(number, 'session')}", "exists", "/s", number)
            for number in self.sessions
        )
        return ROUND_TRIP, SET, PIPELINED, *many_sessions
