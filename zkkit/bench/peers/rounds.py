"""Acquire, hold, release, again and again: the same loop for every lock, in every language.

Times are nanoseconds of the machine's monotonic clock, `time.monotonic_ns()`. Java's
`System.nanoTime()` reads the same one, so holds of processes of one machine can be laid side by
side.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, Protocol

NO_LIMIT = sys.maxsize  # of rounds, or a time that never comes; fits Java's long


class Round(NamedTuple):
    """When a contender asked, was granted, began to release, and had released."""

    asked_ns: int
    acquired_ns: int
    released_ns: int
    done_ns: int


class RoundsPlan(NamedTuple):
    """A contender makes at most `rounds` rounds, the first at `start_ns`, none begun after
    `until_ns`; it holds for `hold_ns` in each."""

    start_ns: int
    rounds: int = NO_LIMIT
    until_ns: int = NO_LIMIT
    hold_ns: int = 0


class CanContend(Protocol):
    """A lock and whoever acquires it, in whatever language."""

    def begin_contend(self, plan: RoundsPlan) -> Callable[[], list[Round]]:
        """Begin to do as planned; what it gives waits for the end, and gives the rounds."""


def contend_all(contenders: Sequence[CanContend], plan: RoundsPlan) -> list[list[Round]]:
    """Let all of them contend at once; the rounds of each."""
    running = [contender.begin_contend(plan) for contender in contenders]
    return [ended() for ended in running]


def contend(
    acquire: Callable[[], object], release: Callable[[], object], plan: RoundsPlan
) -> list[Round]:
    """Do as planned in this thread."""
    found: list[Round] = []
    _sleep_until(plan.start_ns)
    while len(found) < plan.rounds and (asked := time.monotonic_ns()) < plan.until_ns:
        acquire()
        acquired = time.monotonic_ns()
        _sleep_until(acquired + plan.hold_ns)
        released = time.monotonic_ns()
        release()
        found.append(Round(asked, acquired, released, time.monotonic_ns()))
    return found


async def contend_awaiting(
    acquire: Callable[[], Awaitable[object]],
    release: Callable[[], Awaitable[object]],
    plan: RoundsPlan,
) -> list[Round]:
    """Do the same in this task."""
    found: list[Round] = []
    await _awake_at(plan.start_ns)
    while len(found) < plan.rounds and (asked := time.monotonic_ns()) < plan.until_ns:
        await acquire()
        acquired = time.monotonic_ns()
        await _awake_at(acquired + plan.hold_ns)
        released = time.monotonic_ns()
        await release()
        found.append(Round(asked, acquired, released, time.monotonic_ns()))
    return found


async def _awake_at(when_ns: int) -> None:
    while (left := when_ns - time.monotonic_ns()) > 0:
        await asyncio.sleep(left / 1e9)


def _sleep_until(when_ns: int) -> None:
    while (left := when_ns - time.monotonic_ns()) > 0:
        time.sleep(left / 1e9)
