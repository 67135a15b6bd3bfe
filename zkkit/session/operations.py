"""The scripts behind a session's plain operations.

Reads are repeated after a connection loss as the session's retry policy allows. Writes are not:
their outcome is unknown, and only the caller knows what that means.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from ..errors import ConnectionLost, NodeExists, ZkkitError
from ..recipes.shared import begin_again, create_with_parents
from ..retry import RetryPolicy
from ..steps import Call, Create, Exists, Mode, Request, Script, Stat, Step

R = TypeVar("R")


class Outcome(NamedTuple):
    """What `background` hands to its callback: the step with its result or its error."""

    step: Step[Any]
    result: Any
    error: ZkkitError | None


def in_background(step: Step[Any], callback: Callable[[Outcome], object]) -> Script[None]:
    """Take a step, then tell the callback."""
    try:
        outcome = Outcome(step, (yield step), None)
    except ZkkitError as error:
        outcome = Outcome(step, None, error)
    yield from Call(callback, outcome)


def read(step: Request[R], retry: RetryPolicy) -> Script[R]:
    """A request that changes nothing, repeated after a connection loss."""
    return begin_again(lambda: iter(step), retry, ConnectionLost)


def make_namespace(path: str) -> Script[None]:
    """Make the root of a namespace: plain nodes, since nobody would make a reaped one again. Where
    it exists, we need no right to make it."""
    while True:
        made, there = yield from create_with_parents(
            Create(path), Exists(path), parents=Mode.PERSISTENT
        )
        if isinstance(there, Stat):
            return
        if isinstance(made, ZkkitError) and not isinstance(made, ConnectionLost | NodeExists):
            raise made
