"""The engine: keeps scripts going, one at a time, and lets them wait, spawn and be interrupted.

A script lives here, not in its caller: it advances when a reply, a watch or a timer arrives, under
the monitor, on whatever thread brought the news. Callers only wait, and may leave at any time; then
`Cancelled` is thrown into the script, once, and its clean-up goes on here until it is done.

Some steps are answered on the spot (`Guid`, `Note`, ...); a run is never interrupted at those.
What goes to a server is the business of the `Runner`, which builds on this.
"""

from __future__ import annotations

import itertools
import logging
import random
import time
import uuid
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Hashable
from contextlib import suppress
from copy import copy
from typing import Any

from ..errors import Cancelled, NotAStep, SessionLost, TimedOut
from ..scripting import BackgroundActor, Returnable, as_script, name_of
from ..steps import (
    Actor,
    Call,
    Fire,
    Guid,
    Look,
    Note,
    Now,
    Random,
    Request,
    Script,
    Spawn,
    Spawned,
    Stop,
    Together,
    Wait,
    Within,
)
from .clock import now
from .platforms import Platform
from .run import Frame, Run
from .service import Worker

log = logging.getLogger("zkkit.session")

PENDING = object()
"""What starting a step gives when its result will come later."""

_PATIENCE = 3  # how often a script is told that its session is closed


class Engine(ABC):
    """Scripts, and what they need of each other and of time."""

    def __init__(self, platform: Platform, deliver: Callable[[Callable[[], object]], None]) -> None:
        self._monitor = platform.monitor()
        self._service = Worker(platform, "zkkit-timer")
        self._deliver = deliver
        self._closed: SessionLost | None = None
        self._runs: dict[int, Run] = {}
        self._numbers = itertools.count(1)
        self._table: dict[Hashable, Any] = {}
        self._ready: deque[tuple[Run, int, Any, BaseException | None]] = deque()
        self._draining = False
        self._instant: dict[type, Callable[[Run, Any], Any]] = {
            Guid: lambda run, step: str(uuid.uuid4()),
            Now: lambda run, step: now(),
            Random: lambda run, step: random.random(),
            Actor: lambda run, step: run.actor,
            Note: self._note,
            Look: lambda run, step: self._table.get(step.key),
            Spawn: self._spawn,
        }
        self._slow: dict[type, Callable[[Run, Any], Any]] = {
            Together: self._together,
            Wait: self._wait,
            Within: self._within,
            Stop: self._stop,
            Call: self._call_user,
        }

    @abstractmethod
    def _fly(self, run: Run, steps: tuple[Any, ...], *, single: bool, settle: bool) -> Any:
        """Send requests for a run; PENDING."""

    @abstractmethod
    def _ended(self, run: Run) -> None:
        """A run has ended: what it still has on the server is no longer wanted."""

    @abstractmethod
    def _woke(self, run: Run, fire: Fire) -> None:
        """A run is about to be resumed by a fire."""

    # --- for the fronts -----------------------------------------------------------------

    def hand_over(self, function: Callable[..., object], *args: Any) -> None:
        """Do it on the service thread: for callers that an interrupt may strike anywhere."""
        self._service.soon(lambda: function(*args))

    def start(self, run: Run) -> None:
        """Begin a run; its first requests are sent before this returns. One that was cancelled
        before it began has ended, and stays so."""
        with self._monitor:
            if not run.done:
                self._enter(run)
                self._drain()

    def cancel(self, run: Run) -> None:
        """Throw `Cancelled` into a run, once."""
        with self._monitor:
            self._cancel(run)
            self._drain()

    def _cancel(self, run: Run) -> None:
        if not run.done and not run.cancelled:
            run.cancelled = True
            if run.doom(0):
                self._interrupt(run, Cancelled())

    def abandon(self, run: Run) -> None:
        """Nobody waits for this run any more: cancel it, and give back what it still gives."""
        with self._monitor:
            run.left = True
            self.cancel(run)
            if run.done:
                self._give_back(run)
                self._drain()

    # --- advancing ----------------------------------------------------------------------

    def _enter(self, run: Run) -> None:
        run.number = run.number or next(self._numbers)
        run.began = time.monotonic_ns()
        self._runs[run.number] = run
        self._ready.append((run, run.ticket, None, None))

    def _resume(self, run: Run, value: Any, error: BaseException | None = None) -> None:
        run.ticket += 1
        run.flight = None
        run.waiting = False
        self._ready.append((run, run.ticket, value, error))

    def _interrupt(self, run: Run, error: BaseException) -> None:
        """Throw `error` where the run stands, or at its next yield if it is just moving."""
        run.interrupts.append(error)
        self._resume(run, None)

    def _drain(self) -> None:
        if self._draining:
            return  # further down this very thread's stack somebody is at it
        self._draining = True
        try:
            while self._ready:
                run, ticket, value, error = self._ready.popleft()
                if ticket == run.ticket and not run.done:
                    self._advance(run, value, error)
        finally:
            self._draining = False

    def _advance(self, run: Run, value: Any, error: BaseException | None) -> None:
        """Send the script results until it has to wait, or has ended."""
        if run.interrupts:
            error = run.interrupts.popleft()
        while True:
            body = run.frames[-1].body
            try:
                step = body.send(value) if error is None else body.throw(error)
            except StopIteration as end:
                value, error = self._leave_frame(run, end.value, None)
                if run.frames:
                    continue
                return self._finish(run, value, error)
            except BaseException as raised:
                value, error = self._leave_frame(run, None, raised)
                if run.frames:
                    continue
                return self._finish(run, value, error)
            value, error = None, None
            instant = self._instant.get(type(step))
            if instant is None and run.interrupts:
                error = run.interrupts.popleft()
                continue
            try:
                if instant is not None:
                    value = instant(run, step)
                    continue
                run.ticket += 1  # whoever wanted to resume it before came too late
                value = self._begin(run, step)
            except Exception as refused:  # a step that makes no sense is the script's own error
                error = refused
            if value is PENDING:
                return None

    def _leave_frame(
        self, run: Run, value: Any, error: BaseException | None
    ) -> tuple[Any, BaseException | None]:
        """A frame has ended: what that means to the one below."""
        frame = run.frames.pop()
        if frame.timer is not None:
            frame.timer.cancel()
        if frame.expired and isinstance(error, Cancelled):
            return None, TimedOut(f"not done within {frame.seconds:g} s")
        if frame.doomed and not frame.expired and run.frames:
            return None, error or Cancelled()  # whatever it made of its cancel: those below unwind
        return value, error

    def _begin(self, run: Run, step: Any) -> Any:
        """Start a step that takes time; gives PENDING, or the result if it is there already."""
        slow = self._slow.get(type(step))
        if slow is not None:
            return slow(run, step)
        if isinstance(step, Request):
            return self._fly(run, (step,), single=True, settle=False)
        raise NotAStep(
            f"a script yielded {step!r}, which is no step: {name_of(run.frames[-1].body)}",
            hint="yield a step from zkkit.steps, or use `yield from` for another script",
        )

    def _finish(self, run: Run, result: Any, error: BaseException | None) -> None:
        run.done = True
        run.result, run.error = result, error
        self._runs.pop(run.number, None)  # it is not there if it was cancelled before it began
        self._ended(run)
        if run.left:
            self._give_back(run)
        for tell in run.on_done:
            tell()

    def _give_back(self, run: Run) -> None:
        """A result nobody took."""
        if isinstance(run.result, Returnable) and run.claim() and self._closed is None:
            self._enter(Run(run.result.give_back(), run.actor, run.recipe))

    def _refuse(self, run: Run) -> Any:
        """The session is closed. A script that goes on regardless is told, and then cut off."""
        assert self._closed is not None
        run.refusals += 1
        if run.refusals <= _PATIENCE:
            raise copy(self._closed)
        while run.frames:
            with suppress(BaseException):  # it would go on even now
                run.frames.pop().body.close()
        run.frames.append(Frame(_raising(copy(self._closed))))
        return None

    # --- waiting ------------------------------------------------------------------------

    def _wait(self, run: Run, step: Wait) -> Any:
        if run.fires:
            return run.fires.popleft()
        if self._closed is not None:
            return self._refuse(run)
        run.waiting = True
        run.parked_at = time.monotonic_ns()
        return PENDING

    def _wake(self, run: Run, fire: Fire) -> None:
        if run.done:
            return
        if not run.waiting:
            run.fires.append(fire)
            return
        self._woke(run, fire)
        self._resume(run, fire)

    def _within(self, run: Run, step: Within[Any]) -> Any:
        frame = Frame(as_script(step.body), step.seconds)
        frame.timer = self._service.at(now() + step.seconds, lambda: self._expire(run, frame))
        run.frames.append(frame)
        return None  # starts the body

    def _expire(self, run: Run, frame: Frame) -> None:
        with self._monitor:
            if run.done or frame not in run.frames or frame.doomed:
                return
            frame.expired = True
            if run.doom(run.frames.index(frame)):
                self._interrupt(run, Cancelled())
                self._drain()

    # --- other actors -------------------------------------------------------------------

    def background_run(self, body: Script[Any], name: str, recipe: str = "") -> Run:
        """A run that nobody waits for, to be started; it has its number already."""
        number = next(self._numbers)
        run = Run(body, BackgroundActor(name, number), recipe or name)
        run.number = number
        run.on_done.append(lambda: _log_failure(run))
        return run

    def _spawn(self, run: Run, step: Spawn) -> Spawned:
        spawned = self.background_run(as_script(step.script), step.name, run.recipe)
        self._enter(spawned)
        return Spawned(spawned.number)

    def _stop(self, run: Run, step: Stop) -> Any:
        target = self._runs.get(step.spawned.number)
        if target is None:
            return None
        ticket = run.ticket
        target.on_done.append(lambda: self._resume(run, None) if run.ticket == ticket else None)
        self._cancel(target)
        return PENDING

    def _call_user(self, run: Run, step: Call) -> Any:
        ticket = run.ticket

        def call() -> None:
            value: Any = None
            error: BaseException | None = None
            try:
                value = step.function(*step.args)
            except BaseException as raised:  # whatever it is: the script waits for it
                error = raised
            with self._monitor:
                if run.ticket == ticket and not run.done:
                    self._resume(run, value, error)
                    self._drain()

        self._deliver(call)
        return PENDING

    # --- small steps ----------------------------------------------------------------------

    def _together(self, run: Run, step: Together[Any]) -> Any:
        if not step.requests:
            return ()
        return self._fly(run, step.requests, single=False, settle=step.settle)

    def noted(self, key: Hashable) -> Any:
        """What the table has under this key. Needs no monitor: a dict answers at once."""
        return self._table.get(key)

    def _note(self, run: Run, step: Note) -> None:
        if step.value is None:
            self._table.pop(step.key, None)
        else:
            self._table[step.key] = step.value


def _raising(error: BaseException) -> Script[Any]:
    yield from ()
    raise error


def _log_failure(run: Run) -> None:
    if run.error is not None and not isinstance(run.error, Cancelled | SessionLost):
        log.error("the background script %s failed", run.actor_name, exc_info=run.error)
