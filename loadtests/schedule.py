"""Held steps: a step's clock starts when its users are really there.

A step that began when it was *ordered* would spend its first seconds on users that still connect:
the figures would be those of fewer users than the table says. Here a step waits until so many
users run and have a session, then it is held for its time. Pure arithmetic, so that it can be
tested without a clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

PATIENCE = 30.0
"""How many seconds the users of a step have to be there, beyond the time their spawning takes."""


class StepEvent(Enum):
    """What has just happened."""

    WAITING = "the users of this step are not all there yet"
    BEGINS = "they are there: the step begins"
    HELD = "the step is being held"
    ENDS = "the step's time is over; the next one is ordered"
    OVER = "the last step's time is over"
    HOPELESS = "the users did not come in time"


class StepTick(NamedTuple):
    """What has just happened, and how many users are wanted from now on."""

    kind: StepEvent
    users: int


class Steps:
    """`seconds` is how long each step is held; None: the last one is held until it is stopped."""

    def __init__(
        self, users: Sequence[int], seconds: float | None, *, patience: float = PATIENCE
    ) -> None:
        self._users = tuple(users)
        self._seconds = seconds
        self._patience = patience
        self._step = 0
        self._ordered: float | None = None
        self._began: float | None = None

    def tick(self, now: float, running: int, connected: int) -> StepTick:
        """What to do at the time `now`, with so many users running and so many with a session."""
        users = self._users[self._step]
        if self._began is None:
            return self._not_begun(now, users, running, connected)
        if self._seconds is None or now - self._began < self._seconds:
            return StepTick(StepEvent.HELD, users)
        if self._step + 1 == len(self._users):
            return StepTick(StepEvent.OVER, users)
        self._step += 1
        self._ordered, self._began = now, None
        return StepTick(StepEvent.ENDS, self._users[self._step])

    def _not_begun(self, now: float, users: int, running: int, connected: int) -> StepTick:
        if self._ordered is None:
            self._ordered = now
        if running == connected == users:
            self._began = now
            return StepTick(StepEvent.BEGINS, users)
        if now - self._ordered > self._patience:
            return StepTick(StepEvent.HOPELESS, users)
        return StepTick(StepEvent.WAITING, users)
