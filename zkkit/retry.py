"""Retry policies and the one deadline type. Pure: the runner brings clock and dice.

A policy is made of numbers that make sense, or ValueError says which does not.

It answers one question: after `attempt` failures and `elapsed` seconds, how long to wait
before the next try, or None to give up. `chance` is a random number in [0, 1).
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Protocol

_LONGEST = 1_000_000_000
"""Seconds; threads cannot wait for very much longer."""


class RetryPolicy(Protocol):
    """Whether to try again, and after how long."""

    def delay(self, attempt: int, elapsed: float, chance: float) -> float | None:
        """Seconds to wait after failure number `attempt` (from 1), or None to give up."""
        ...


def check_policy(retry: object) -> None:
    """Raise ValueError unless this is a policy: one of these, or one of the caller's own."""
    delay = getattr(retry, "delay", None)
    if isinstance(retry, type) or not callable(delay) or inspect.iscoroutinefunction(delay):
        raise ValueError(
            f"retry must be a policy of zkkit.retry, such as NTimes(3, pause=0.1), not {retry!r}"
        )


def _check_times(times: object) -> None:
    if isinstance(times, bool) or not isinstance(times, int) or times < 0:
        raise ValueError(f"times must be a whole number, 0 or more, not {times!r}")


def _check_seconds(name: str, seconds: object) -> None:
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not number or not 0 <= seconds <= _LONGEST:  # type: ignore[operator]  # nan is not
        raise ValueError(
            f"{name} must be a number of seconds from 0 to {_LONGEST:,}, not {seconds!r}"
        )


@dataclass(frozen=True, slots=True)
class NTimes:
    """Try again up to `times` times, `pause` seconds apart (Curator's RetryNTimes)."""

    times: int
    pause: float = 0.0

    def __post_init__(self) -> None:
        _check_times(self.times)
        _check_seconds("pause", self.pause)

    def delay(self, attempt: int, elapsed: float, chance: float) -> float | None:
        return self.pause if attempt <= self.times else None


def once(pause: float = 0.0) -> NTimes:
    """Try again once (Curator's RetryOneTime)."""
    return NTimes(1, pause)


NEVER = NTimes(0)


@dataclass(frozen=True, slots=True)
class UntilElapsed:
    """Try again until `seconds` have passed since the first try (Curator's RetryUntilElapsed)."""

    seconds: float
    pause: float

    def __post_init__(self) -> None:
        _check_seconds("seconds", self.seconds)
        _check_seconds("pause", self.pause)

    def delay(self, attempt: int, elapsed: float, chance: float) -> float | None:
        return self.pause if elapsed + self.pause <= self.seconds else None


@dataclass(frozen=True, slots=True)
class Forever:
    """Never give up (Curator's RetryForever)."""

    pause: float

    def __post_init__(self) -> None:
        _check_seconds("pause", self.pause)

    def delay(self, attempt: int, elapsed: float, chance: float) -> float | None:
        return self.pause


@dataclass(frozen=True, slots=True)
class Exponential:
    """Wait longer and longer, with jitter: base x [1, 2^attempt) (ExponentialBackoffRetry).

    With `longest` set no single wait exceeds it (BoundedExponentialBackoffRetry).
    """

    base: float
    times: int
    longest: float | None = None

    def __post_init__(self) -> None:
        _check_seconds("base", self.base)
        _check_times(self.times)
        if self.longest is not None:
            _check_seconds("longest", self.longest)

    def delay(self, attempt: int, elapsed: float, chance: float) -> float | None:
        if attempt > self.times:
            return None
        # 2^30 is where Curator stops doubling as well; beyond it the number says nothing.
        slots = 1 << min(attempt, 30)
        pause = self.base * max(1, int(chance * slots))
        return pause if self.longest is None else min(pause, self.longest)


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on some clock by which a whole call must be over; `None` is never."""

    at: float | None

    @classmethod
    def after(cls, seconds: float | None, now: float) -> Deadline:
        """The deadline `seconds` after `now`; never, if `seconds` is None."""
        return cls(None if seconds is None else now + max(0.0, seconds))

    def left(self, now: float) -> float | None:
        """Seconds left, at least 0; None if it never comes."""
        return None if self.at is None else max(0.0, self.at - now)

    def over(self, now: float) -> bool:
        return self.at is not None and now >= self.at
