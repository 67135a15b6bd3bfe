"""The engine: keeps scripts going, one at a time, and lets them wait, spawn and be interrupted.

A script lives here, not in its caller: it advances when a reply, a watch or a timer arrives, under
the monitor, on whatever thread brought the news. Callers only wait, and may leave at any time; then
`Cancelled` is thrown into the script, once, and its clean-up goes on here until it is done. The
rules are the kernel's (zkkit.kernel); here are the threads, the timers and the clock.

What goes to a server is the business of the `Runner`, which has an engine.
"""

from __future__ import annotations

import itertools
import logging
import os
import random
import time
from collections import deque
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from copy import copy
from typing import Any

from ..errors import Cancelled, SessionLost
from ..hooks import guarded
from ..kernel import (
    CANCELLED,
    ENDED,
    HINT,
    PENDING,
    RUNS,
    TIMED_OUT,
    Refused,
    advance,
    refuse,
)
from ..scripting import BackgroundActor, InSession, Returnable, as_script, innermost, name_of
from ..steps import (
    Actor,
    Call,
    Dismiss,
    Employ,
    Employment,
    Fire,
    Guid,
    Heard,
    IfUntaken,
    Notify,
    Now,
    Post,
    Posted,
    Random,
    Recall,
    Remember,
    Script,
    Spawn,
    Spawned,
    Stop,
    Wait,
    Within,
)
from .board import BOARD
from .clock import now
from .emit import Reporter
from .loop import AnySeat
from .platforms import Employer, Platform
from .run import Frame, Run
from .worker import Timer

log = logging.getLogger("zkkit.session")

Handlers = Mapping[type, Callable[[Run, Any], Any]]
Notes = dict[Hashable, Any]


class Engine:
    """Scripts, and what they need of each other and of time.

    `deliver` has user code called, in order; `employ` lets it run as an actor of its own (see
    zkkit.session.platforms). `fly` sends the requests of a step for a run, and gives PENDING;
    `flush` lets what was sent go out. `ended` is called with a run that has ended: what it still
    has on the server is no longer wanted; `abandoned` with a flight that its run waits for no
    longer. `instant` and `slow` are the steps that others take for it, beside its own (see
    zkkit.kernel.Host)."""

    def __init__(
        self,
        platform: Platform,
        seat: AnySeat,
        deliver: Callable[[Callable[[], object]], None],
        employ: Employer,
        report: Reporter,
        fly: Callable[[Run, Any], Any],
        flush: Callable[[], None],
        ended: Callable[[Run], None],
        abandoned: Callable[[Any], None],
        instant: Handlers,
        slow: Handlers,
    ) -> None:
        self.monitor = platform.monitor()
        self.closed: SessionLost | None = None
        self.runs: dict[int, Run] = {}
        """The live ones, by number."""
        self.fly = fly
        self.batch = Batch(self)
        """The monitor, for several pieces of news: scripts move when it is given back."""
        self._flush = flush
        self._seat = seat
        self._deliver = deliver
        self._employ_actor = employ
        self._report = report
        self._ended = ended
        self._abandoned = abandoned
        self._numbers = itertools.count(1)
        self._table: Notes = {}
        self._handed_over: dict[object, None] = {}
        self._heeding: dict[Hashable, list[Run]] = {}
        self._dismissals: dict[Hashable, Callable[[], object]] = {}
        self._ready: deque[tuple[Run, int, Any, BaseException | None]] = deque()
        self.draining = False
        self.instant: Handlers = {
            Guid: lambda run, step: _guid(),
            Now: lambda run, step: now(),
            Random: lambda run, step: random.random(),
            Actor: lambda run, step: run.actor,
            Remember: self._remember,
            Recall: self._recall,
            Post: lambda run, step: BOARD.post(step.topic, step.text),
            Posted: lambda run, step: BOARD.posted(step.topic),
            Spawn: self._spawn,
            Notify: self._notify,
            Employ: self._employ,
            Dismiss: self._dismiss,
            Heard: self._heard,
            IfUntaken: self._if_untaken,
            **instant,
        }
        self.slow: Handlers = {
            Wait: self._wait,
            Within: self._within,
            Stop: self._stop,
            Call: self._call_user,
            **slow,
        }

    # --- for the fronts -----------------------------------------------------------------

    def at(self, moment: float, function: Callable[[], object]) -> Timer:
        """Call back later, with the monitor, unless the session is closed by then."""

        def call() -> None:
            with self.monitor:
                if self.closed is None:
                    function()
                    self.drain()

        return self._seat.at(moment, call)

    def stop(self) -> None:
        """No timer goes off any more."""
        self._seat.stop()

    def hand_over(self, function: Callable[..., object], *args: Any) -> None:
        """Do it elsewhere: for callers that an interrupt may strike anywhere."""
        token = object()

        def do() -> None:
            try:
                function(*args)
            finally:
                self._handed_over.pop(token, None)

        self._handed_over[token] = None
        try:
            self._seat.soon(do)
        except BaseException:
            self._handed_over.pop(token, None)  # interrupted: nobody relies on the order
            raise

    def has_handed_over(self) -> bool:
        """Whether something that was handed over is still to be done: what comes later must not
        overtake it."""
        return bool(self._handed_over)

    def start(self, run: Run) -> None:
        """Begin a run; its first requests are sent before this returns. One that was cancelled
        before it began has ended, and stays so."""
        with self.monitor:
            if not run.done:
                self._enter(run)
                self.drain()

    def cancel(self, run: Run) -> None:
        """Throw `Cancelled` into a run, once."""
        with self.monitor:
            self._cancel(run)
            self.drain()

    def _cancel(self, run: Run) -> None:
        if not run.done and not run.cancelled:
            run.cancelled = True
            if run.interrupt(0, CANCELLED):
                self.interrupt(run, Cancelled())

    def abandon(self, run: Run) -> None:
        """Nobody waits for this run any more: cancel it, and give back what it still gives."""
        with self.monitor:
            run.abandoned = True
            self.cancel(run)
            if run.done:
                self._give_back(run)
                self.drain()

    # --- advancing ----------------------------------------------------------------------

    def _enter(self, run: Run) -> None:
        run.number = run.number or next(self._numbers)
        run.began = time.monotonic_ns()
        self.runs[run.number] = run
        self._ready.append((run, run.ticket, None, None))

    def resume(self, run: Run, value: Any, error: BaseException | None = None) -> None:
        """Let a run go on with this result, or with this error, when others have moved."""
        run.ticket += 1
        run.flight = None
        run.waiting = False
        self._ready.append((run, run.ticket, value, error))

    def interrupt(self, run: Run, error: BaseException) -> None:
        """Throw `error` where the run stands, or at its next yield if it is just moving."""
        self._report.wakeup_ended(run, "failed")
        run.interrupts.append(error)
        if run.flight is not None:
            self._abandoned(run.flight)
        self.resume(run, None)

    def drain(self) -> None:
        """Let everybody move whose turn has come; then what they have sent goes out."""
        if self.draining:
            return  # further down this very thread's stack somebody is at it
        self.draining = True
        try:
            while self._ready:
                run, ticket, value, error = self._ready.popleft()
                if ticket == run.ticket and not run.done:
                    self._advance(run, value, error)
        finally:
            self.draining = False
            self._flush()

    def _advance(self, run: Run, value: Any, error: BaseException | None) -> None:
        if run.interrupts:
            error = run.interrupts.pop(0)
        ended = advance(self, run, value, error)
        if ended is not None:
            while run.frames:  # it was cut off
                with suppress(BaseException):  # it would go on even now
                    run.frames.pop().body.close()
            self._finish(run, *ended)

    def go_on(self, run: Run, value: Any, error: BaseException | None) -> Any:
        run.ticket += 1  # whoever wanted to resume it before came too late
        frame = run.frames[-1]
        try:
            return frame.body.send(value) if error is None else frame.body.throw(error)
        except StopIteration as end:
            frame.result = end.value
        except BaseException as raised:
            frame.error = raised
        return ENDED

    def drop_frame(self, run: Run) -> tuple[int, float, Any, BaseException | None]:
        frame = run.frames.pop()
        if frame.timer is not None:
            frame.timer.cancel()
        error, frame.error = frame.error, None  # its traceback leads back to the frame
        return frame.fate, frame.seconds, frame.result, error

    def where(self, run: Run) -> str:
        return name_of(innermost(run.frames[-1].body))

    def refused(self, error: Exception) -> BaseException:
        """A step that makes no sense is the script's own error."""
        return error

    def _finish(self, run: Run, result: Any, error: BaseException | None) -> None:
        run.done = True
        run.result, run.error = result, error
        self.runs.pop(run.number, None)  # it is not there if it was cancelled before it began
        self._report.wakeup_ended(run, "useful" if error is None else "failed")
        for key in run.heeds:
            heeding = self._heeding[key]
            heeding.remove(run)
            if not heeding:
                del self._heeding[key]
        self._ended(run)
        if run.abandoned:
            self._give_back(run)
        for tell in run.on_done:
            tell()

    def _give_back(self, run: Run) -> None:
        """Give back a result that nobody took."""
        undo = run.result.give_back if isinstance(run.result, Returnable) else run.undo
        if undo is not None and run.error is None and run.claim() and self.closed is None:
            self._enter(Run(undo(), run.actor, run.recipe))

    def refuse(self, run: Run) -> Refused:
        """The session is closed: what to raise in a step that would send or wait."""
        assert self.closed is not None
        return refuse(run, copy(self.closed))

    # --- waiting ------------------------------------------------------------------------

    def _wait(self, run: Run, step: Wait) -> Any:
        if run.fires:
            return run.fires.popleft()
        if self.closed is not None:
            raise self.refuse(run)
        self._report.wakeup_ended(run, "again")
        run.waiting = True
        run.parked_at = time.monotonic_ns()
        return PENDING

    def _if_untaken(self, run: Run, step: IfUntaken) -> None:
        run.undo = lambda: step.undo(*step.args)

    def _heard(self, run: Run, step: Heard) -> tuple[Fire, ...]:
        fires, run.fires = run.fires, ()
        return tuple(fires)

    def wake(self, run: Run, fire: Fire) -> None:
        """A watch of this run has fired: it hears of it now, or when it waits."""
        if run.done:
            return
        if not run.waiting:
            run.hear(fire)
            return
        self._report.woke(run, fire)
        self.resume(run, fire)

    def heed(self, run: Run, key: Hashable) -> None:
        """Let a run be woken by the next `stir` of this key."""
        if key not in run.heeds:
            run.heeds.add(key)
            self._heeding.setdefault(key, []).append(run)

    def stir(self, key: Hashable) -> None:
        """Something has changed in this session: wake whoever heeds it. No watch has fired, so the
        hooks are told of no wakeup."""
        for run in self._heeding.pop(key, ()):
            run.heeds.discard(key)
            if run.waiting:
                self.resume(run, HINT)
            else:
                run.hear(HINT)

    def _within(self, run: Run, step: Within[Any]) -> Any:
        frame = Frame(as_script(step.body), step.seconds)
        frame.timer = self._seat.at(now() + step.seconds, lambda: self._expire(run, frame))
        run.frames.append(frame)
        return None  # starts the body

    def _expire(self, run: Run, frame: Frame) -> None:
        with self.monitor:
            if run.done or frame not in run.frames or frame.fate != RUNS:
                return
            if run.interrupt(run.frames.index(frame), TIMED_OUT):
                self.interrupt(run, Cancelled())
                self.drain()

    # --- other actors -------------------------------------------------------------------

    def background_run(self, body: Script[Any], name: str, recipe: str = "") -> Run:
        """A run that nobody waits for, to be started; it has its number already."""
        number = next(self._numbers)
        run = Run(body, BackgroundActor(name, number), recipe)
        run.number = number
        run.on_done.append(lambda: _log_failure(run))
        return run

    def _spawn(self, run: Run, step: Spawn) -> Spawned:
        spawned = self.background_run(as_script(step.script), step.name, run.recipe)
        self._enter(spawned)
        return Spawned(spawned.number)

    def _stop(self, run: Run, step: Stop) -> Any:
        target = self.runs.get(step.spawned.number)
        if target is None:
            return None
        ticket = run.ticket
        target.on_done.append(lambda: self.resume(run, None) if run.ticket == ticket else None)
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
            with self.monitor:
                if run.ticket == ticket and not run.done:
                    self.resume(run, value, error)
                    self.drain()

        self._deliver(call)
        return PENDING

    def _notify(self, run: Run, step: Notify) -> None:
        def call() -> None:
            with guarded(log, "user code of %s failed", run.recipe or run.actor_name):
                step.function(*step.args)

        self._deliver(call)

    def _employ(self, run: Run, step: Employ) -> None:
        key = step.key

        def begun(actor: Hashable) -> None:
            with self.monitor:
                notes, place = self._place(key)
                if place in notes:
                    notes[place] = notes[place]._replace(actor=actor)

        def ended() -> None:
            with self.monitor:
                self._dismissals.pop(key, None)
                job = self.noted(key)
                if job is not None:  # else nobody wants to know
                    self._write(key, job._replace(ended=True))
                    self.drain()

        notes, place = self._place(key)
        notes[place] = Employment()
        name = f"{run.recipe or run.actor_name}'s user code"
        self._dismissals[key] = self._employ_actor(
            name, lambda stop: step.function(stop, *step.args), begun, ended
        )

    def _dismiss(self, run: Run, step: Dismiss) -> None:
        dismiss = self._dismissals.pop(step.key, None)
        if dismiss is not None:
            self._write(step.key, self.noted(step.key)._replace(dismissed=True))
            dismiss()

    # --- small steps ----------------------------------------------------------------------

    def noted(self, key: Hashable) -> Any:
        """What the table has under this key. Needs no monitor: a dict answers at once."""
        notes, place = self._place(key)
        return notes.get(place)

    def _place(self, key: Hashable) -> tuple[Notes, Hashable]:
        """Where a note is kept. What is noted about a recipe, under itself or a tuple that begins
        with it, is kept with that object and goes with it: a session may live for months, and see
        recipes come and go. All else is kept here."""
        if isinstance(key, InSession):
            return key.notes, self
        if isinstance(key, tuple) and key and isinstance(key[0], InSession):
            return key[0].notes, (self, *key[1:])
        return self._table, key

    def _remember(self, run: Run, step: Remember) -> None:
        self._write(step.key, step.value)

    def _write(self, key: Hashable, value: Any) -> None:
        notes, place = self._place(key)
        if value is None:
            notes.pop(place, None)
        else:
            notes[place] = value
        if key in self._heeding:
            self.stir(key)

    def _recall(self, run: Run, step: Recall) -> Any:
        if step.watch:
            self.heed(run, step.key)
        return self.noted(step.key)


class Batch:
    """Several pieces of news under one hold of the monitor."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._outer: list[bool] = []

    def __enter__(self) -> None:
        engine = self._engine
        engine.monitor.__enter__()
        self._outer.append(engine.draining)
        engine.draining = True

    def __exit__(self, *exc: object) -> None:
        engine = self._engine
        try:
            engine.draining = self._outer.pop()
            engine.drain()
        finally:
            engine.monitor.__exit__(None, None, None)


def _guid() -> str:
    """A random uuid (of version 4): `str(uuid.uuid4())` gives such a one at twice the cost."""
    digits = os.urandom(16).hex()
    variant = "89ab"[int(digits[16], 16) % 4]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


def _log_failure(run: Run) -> None:
    if run.error is not None and not isinstance(run.error, Cancelled | SessionLost):
        log.error("the background script %s failed", run.actor_name, exc_info=run.error)
