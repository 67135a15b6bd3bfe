"""What actors stand on: the same actor runs on threads, on greenlets and on asyncio.

An actor is written once, as a coroutine. On asyncio it is a task. On threads and greenlets, where
every call waits by itself, the coroutine never has to be suspended, and `drive` runs it as a
function.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple, TypeVar

R = TypeVar("R")


class Ground(NamedTuple):
    """How to open sessions, sleep and start actors on one of the fronts."""

    open: Callable[..., Any]
    sleep: Callable[[float], Any]
    start: Callable[[Coroutine[Any, Any, None]], Callable[[], bool]]
    """Start an actor; returns a function that says whether it has ended."""
    cancel_after: Callable[[float, Callable[[], Any]], Any] | None
    """Call something and cancel it when so many seconds have passed: then AttemptCancelled is
    raised. None on threads, which cannot be cancelled."""


class AttemptCancelled(Exception):
    """An acquire was cancelled while it waited."""


async def settled(value: Any) -> Any:
    """The result of a call on any front: awaited if it has to be."""
    return await value if inspect.isawaitable(value) else value


def drive(coroutine: Coroutine[Any, Any, R]) -> R:
    """Run a coroutine whose calls all wait by themselves."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        result: R = ended.value
        return result
    raise RuntimeError("a call of a blocking session gave something to await")
