"""One script being run: its frames, what it waits for, and who waits for it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from typing import Any

from ..scripting import actor_name
from ..steps import Fire, Script
from .service import Timer
from .watches import Key


class Frame:
    """A script inside a script: the body of a `Within`, with its timer.

    `doomed`: it was cancelled, or stood on one that was, and is unwinding. `expired`: its own
    deadline did it, and nothing below unwinds with it: a `TimedOut` is to come out of it.
    """

    __slots__ = ("body", "doomed", "expired", "seconds", "timer")

    def __init__(self, body: Script[Any], seconds: float = 0.0) -> None:
        self.body = body
        self.seconds = seconds
        self.timer: Timer | None = None
        self.doomed = False
        self.expired = False


class Flight:
    """Requests sent together, and the outcomes that have come back."""

    __slots__ = ("epoch", "left", "outcomes", "run", "settle", "single", "started", "steps")

    def __init__(self, run: Run, steps: tuple[Any, ...], *, single: bool, settle: bool) -> None:
        self.run = run
        self.steps = steps
        self.single = single
        self.settle = settle
        self.outcomes: list[Any] = [None] * len(steps)
        self.left = len(steps)
        self.started = 0
        self.epoch = 0


class Run:
    """The life of one script in a session.

    `ticket` changes with every resumption: whoever wants to resume the run shows the ticket it
    got when the run was parked, and an outdated one is worth nothing. That is what makes a reply,
    a timer and a cancel that race for the same run harmless.
    """

    __slots__ = (
        "actor", "actor_name", "began", "cancelled", "done", "error", "fires", "flight", "frames",
        "interrupts", "left", "number", "on_done", "parked_at", "recipe", "refusals", "result",
        "ticket", "unclaimed", "waiting", "watches",
    )  # fmt: skip

    def __init__(self, body: Script[Any], actor: Hashable, recipe: str) -> None:
        self.number = 0
        self.frames = [Frame(body)]
        self.actor = actor
        self.actor_name = actor_name(actor)
        self.recipe = recipe
        self.began = 0
        self.ticket = 0
        self.flight: Flight | None = None
        self.waiting = False
        self.parked_at = 0
        self.fires: deque[Fire] = deque()
        self.watches: set[Key] = set()
        self.interrupts: deque[BaseException] = deque()
        self.cancelled = False
        self.refusals = 0
        self.done = False
        self.unclaimed = [True]
        self.left = False
        self.result: Any = None
        self.error: BaseException | None = None
        self.on_done: list[Callable[[], None]] = []

    def doom(self, upwards_from: int) -> bool:
        """Let all frames from this one up unwind. False if the upper ones are unwinding already:
        then nothing more is to be thrown, or their clean-up would be hit a second time. They go
        on with it, and we with ours when they are through."""
        for frame in self.frames[upwards_from:]:
            if frame.doomed:
                frame.expired = False
                return False
            frame.doomed = True
        return True

    def claim(self) -> bool:
        """Claim the result: true for one claimant only. Atomic, so it needs no monitor: the
        caller that takes it and the runner that gives it back may come at the same time."""
        try:
            return self.unclaimed.pop()
        except IndexError:
            return False
