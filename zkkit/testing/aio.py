"""What tests on asyncio need instead of their blocking counterparts."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable
from typing import Any

from zkkit.testing.waiting import PATIENCE, PAUSE, detail


async def eventually(
    question: Callable[[], Any],
    seconds: float = PATIENCE,
    *,
    otherwise: Callable[[], object] | None = None,
) -> Any:
    """Ask until the answer is true, and return that answer; it is awaited where it is a coroutine.

        await eventually(lambda: session.exists("/ready"))

    Raises AssertionError when `seconds` are over, as `zkkit.testing.eventually` does.
    """
    __tracebackhide__ = True
    deadline = time.monotonic() + seconds
    while True:
        answer = question()
        if inspect.isawaitable(answer):
            answer = await answer
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"not so within {seconds:g} s: {detail(answer, otherwise)}")
        await asyncio.sleep(PAUSE)
