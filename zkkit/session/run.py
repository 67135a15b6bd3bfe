"""One script being run: its frames, what it waits for, and who waits for it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any

from ..kernel import RUNS, WatchKey, interrupt
from ..scripting import actor_name
from ..steps import Fire, Request, Script
from .worker import Timer


class Frame:
    """A script, or the body of a `Within` inside it with its timer, and how it ended. Its fate: see
    zkkit.kernel."""

    __slots__ = ("body", "error", "fate", "result", "seconds", "timer")

    def __init__(self, body: Script[Any], seconds: float = 0.0) -> None:
        self.body = body
        self.seconds = seconds
        self.timer: Timer | None = None
        self.fate = RUNS
        self.result: Any = None
        self.error: BaseException | None = None


class Flight:
    """The requests of a step, sent together, with the watches they set, and the outcomes that have
    come back."""

    __slots__ = (
        "epoch", "outcomes", "outstanding", "requests", "run", "started", "step", "watches",
    )  # fmt: skip

    def __init__(self, run: Run, step: Any, requests: tuple[Request[Any], ...]) -> None:
        self.run = run
        self.step = step
        self.requests = requests
        self.watches: list[WatchKey | None] = []
        self.outcomes: list[Any] = [None] * len(requests)
        self.outstanding = len(requests)
        self.started = 0
        self.epoch = 0


class Run:
    """The life of one script in a session.

    `ticket` changes with every resumption: whoever wants to resume the run shows the ticket it
    got when the run was parked, and an outdated one is worth nothing. That is what makes a reply,
    a timer and a cancel that race for the same run harmless.
    """

    __slots__ = (
        "_claimed", "abandoned", "actor", "actor_name", "began", "cancelled", "done", "error",
        "fires", "flight", "frames", "heeds", "interrupts", "number", "on_done", "parked_at",
        "recipe", "refusals", "result", "ticket", "undo", "waiting", "watches",
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
        self.fires: deque[Fire] | tuple[()] = ()  # a deque from the first one on
        self.watches: set[WatchKey] = set()
        self.heeds: set[Hashable] = set()  # what in its own session it waits for
        self.interrupts: list[BaseException] = []
        self.cancelled = False
        self.refusals = 0
        self.done = False
        self.abandoned = False
        self._claimed = Lock()
        self.result: Any = None
        self.error: BaseException | None = None
        self.on_done: list[Callable[[], None]] = []
        self.undo: Callable[[], Script[Any]] | None = None  # if nobody takes its result

    def hear(self, fire: Fire) -> None:
        """Keep a fire until it is waited for."""
        if not self.fires:
            self.fires = deque()
        self.fires.append(fire)

    def interrupt(self, place: int, fate: int) -> bool:
        """Let a frame and all above it unwind; whether `Cancelled` is to be thrown."""
        fates, throws = interrupt([frame.fate for frame in self.frames], place, fate)
        for frame, after in zip(self.frames, fates, strict=True):
            frame.fate = after
        return throws

    @property
    def unclaimed(self) -> bool:
        """Whether nobody has claimed the result yet."""
        return not self._claimed.locked()

    def claim(self) -> bool:
        """Claim the result: true for one claimant only. Atomic, so it needs no monitor: the
        caller that takes it and the runner that gives it back may come at the same time."""
        return self._claimed.acquire(blocking=False)  # and never released
