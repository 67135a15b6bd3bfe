"""Waiting for what somebody else does: ask until it is so, with a deadline.

A test that sleeps for a fixed time is slow where the time is long and fails now and then where it
is short. These two end as soon as the answer is known.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 30.0
PAUSE = 0.02


def eventually(
    question: Callable[[], T],
    seconds: float = PATIENCE,
    *,
    otherwise: Callable[[], object] | None = None,
) -> T:
    """Ask until the answer is true, and return that answer.

        eventually(lambda: len(session.children("/lock")) == 2)

    Raises AssertionError when `seconds` are over; the message ends with what `otherwise()` says
    then, or with the last answer. What `question` raises ends the wait at once. On asyncio use
    `zkkit.testing.aio.eventually`.
    """
    __tracebackhide__ = True  # pytest shows the line that waited
    deadline = time.monotonic() + seconds
    while not (answer := question()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not so within {seconds:g} s: {detail(answer, otherwise)}")
        time.sleep(PAUSE)
    return answer


def throughout(
    question: Callable[[], object],
    seconds: float,
    *,
    otherwise: Callable[[], object] | None = None,
) -> None:
    """Ask again and again for `seconds`: the answer must be true each time.

    Raises AssertionError at the first answer that is not; the message is made as by `eventually`.
    """
    __tracebackhide__ = True
    began = time.monotonic()
    while (now := time.monotonic()) < began + seconds:
        if not (answer := question()):
            after = f"no longer so after {now - began:.2f} s"
            raise AssertionError(f"{after}: {detail(answer, otherwise)}")
        time.sleep(PAUSE)


def detail(answer: object, otherwise: Callable[[], object] | None) -> object:
    """What an error says about an answer that was not true."""
    return repr(answer) if otherwise is None else otherwise()
