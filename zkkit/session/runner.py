"""Runs scripts on a real session. The rules of the runner, in one place.

A script lives here, not in its caller: it advances when a reply, a watch or a timer arrives, one
script at a time (the monitor), on whatever thread brought the news. Callers only wait, and may
leave at any time; then `Cancelled` is thrown into the script, once, and its clean-up goes on here
until it is done or the session is over.

Some steps are answered on the spot (`Guid`, `Note`, ...); a run is never interrupted at those.
"""

from __future__ import annotations

import logging
import random
import time
import uuid
from collections import deque
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Any

from ..errors import (
    Cancelled,
    NotAStep,
    SessionClosed,
    SessionLost,
    TimedOut,
    ZkkitError,
)
from ..hooks import Hooks
from ..paths import validate
from ..scripting import Returnable, name_of
from ..steps import (
    Actor,
    Children,
    Exists,
    Fire,
    FireKind,
    Get,
    Guid,
    Look,
    Mark,
    Note,
    Now,
    Random,
    Request,
    Script,
    SessionId,
    Spawn,
    Spawned,
    Step,
    Stop,
    Together,
    Wait,
    Watch,
    Within,
    of_step,
)
from ..steps import (
    Call as CallStep,
)
from .clock import SessionClock, now
from .holds import Holds
from .kazoo_transport import Call, KazooTransport
from .platforms import Platform
from .report import Reporter
from .run import Flight, Frame, Run
from .service import Timer, Worker
from .watches import Key, WatchKind, WatchTable
from .wire import Wire

log = logging.getLogger("zkkit.session")

_PENDING = object()
_PATIENCE = 3  # how often a script is told that its session is closed


class Runner:
    """One session's engine: the scripts that live in it, its clock, its watches, its table."""

    def __init__(
        self,
        transport: KazooTransport,
        *,
        platform: Platform,
        wire: Wire,
        timeout: float,
        hooks: Hooks,
        deliver: Callable[[Callable[[], object]], None],
    ) -> None:
        self._report = Reporter(hooks)
        self.state = "connecting"
        self._transport = transport
        self._wire = wire
        self._timeout = timeout
        self._deliver = deliver
        self._monitor = platform.monitor()
        self._service = Worker(platform, "zkkit-timer")
        self._clock = SessionClock(0, timeout, now())
        self._ticker: Timer | None = None
        self._condemned = 0
        self._closed: SessionLost | None = None
        self._runs: dict[int, Run] = {}
        self._numbers = 0
        self._table: dict[Hashable, Any] = {}
        self._holds = Holds()
        self._ready: deque[tuple[Run, int, Any, BaseException | None]] = deque()
        self._draining = False
        self._watches: WatchTable[Run] = WatchTable(self._remove_watch)
        self.on_up: list[Callable[[], object]] = []
        """Called once each when the session is connected or can no longer be."""
        self._instant: dict[type, Callable[[Run, Any], Any]] = {
            Guid: lambda run, step: str(uuid.uuid4()),
            Now: lambda run, step: now(),
            Random: lambda run, step: random.random(),
            SessionId: lambda run, step: self.session_id,
            Actor: lambda run, step: run.actor,
            Note: self._note,
            Look: lambda run, step: self._table.get(step.key),
            Mark: self._mark,
            Spawn: self._spawn,
        }
        self._slow: dict[type, Callable[[Run, Any], Any]] = {
            Together: self._together,
            Wait: self._wait,
            Within: self._within,
            Stop: self._stop,
            CallStep: self._call_user,
        }

    # --- for the fronts ---------------------------------------------------------------

    def open(self) -> None:
        """Begin to connect."""
        self._transport.open(self)
        self._schedule_tick()

    def use_root(self, wire: Wire) -> None:
        """From now on all paths are below another root."""
        self._wire = wire

    def hand_over(self, function: Callable[..., object], *args: Any) -> None:
        """Do it on the service thread: for callers that an interrupt may strike anywhere."""
        self._service.soon(lambda: function(*args))

    def start(self, run: Run) -> None:
        """Begin a run; its first requests are sent before this returns."""
        with self._monitor:
            self._enter(run)
            self._drain()

    def cancel(self, run: Run) -> None:
        """Throw `Cancelled` into a run, once."""
        with self._monitor:
            if not run.done and not run.cancelled:
                run.cancelled = True
                self._interrupt(run, Cancelled())
                self._drain()

    def abandon(self, run: Run) -> None:
        """Nobody waits for this run any more: cancel it, and give back what it still gives."""
        with self._monitor:
            run.left = True
            self.cancel(run)
            if run.done:
                self._give_back(run)
                self._drain()

    @property
    def session_id(self) -> int:
        """The session's id; 0 while there is none that surely lives."""
        clock = self._clock
        return clock.session_id if clock.alive() else 0

    @property
    def timeout(self) -> float:
        """The negotiated session timeout in seconds."""
        return self._clock.timeout

    def is_held(self, session_id: int, path: str, zxid: int) -> bool:
        return self._holds.valid(self._clock, session_id, path, zxid)

    def when_lost(
        self, session_id: int, path: str, zxid: int, callback: Callable[[], object]
    ) -> None:
        with self._monitor:
            held = self._holds.find(path, zxid)
            if self.session_id != session_id:
                self._deliver(callback)
            elif held is not None:
                held.on_lost.append(callback)

    def close(self, patience: float) -> None:
        """End every run with SessionClosed, close the session, free everything."""
        with self._monitor:
            if self._closed is None:
                self._end(
                    SessionClosed("the session is closed", hint="open a new one with zkkit.connect")
                )
        self._transport.shut_down(patience)
        self._service.stop()

    def _end(self, error: SessionClosed) -> None:
        self._closed = error
        self._lose(error)
        self._change_state("closed")
        self._drain()

    # --- the transport's listener -------------------------------------------------------

    def session_opened(self, session_id: int, timeout: float, sent_at: float) -> bool:
        with self._monitor:
            clock = self._clock
            if session_id == self._condemned:
                return False
            if session_id == clock.session_id:
                clock.answered(sent_at)
                if clock.alive():
                    return True
                self._lose_by_our_clock()
                self._drain()
                return False
            if clock.session_id:
                self._lose(_expired())
            self._clock = SessionClock(session_id, timeout, sent_at)
            self._report.session = session_id
            self._schedule_tick()
            self._drain()
            return self._closed is None

    def answered(self, sent_at: float) -> None:
        self._clock.answered(sent_at)

    def connection_up(self) -> None:
        with self._monitor:
            self._change_state("connected")
            for key, users in self._watches.lasting():
                step = Watch(key.path, key.kind is WatchKind.RECURSIVE)
                self._transport.send(Call(self._wire.encode(step), key.path))
                # Sent first, so whatever they read next is read with the watch in place.
                for run in users:
                    self._wake(run, Fire(FireKind.NONE, key.path))
            self._tell_up()
            self._drain()

    def connection_down(self) -> None:
        with self._monitor:
            if self.state == "connected":
                self._change_state("suspended")
            for run, path in self._watches.disconnected():
                self._wake(run, Fire(FireKind.NONE, path))
            self._drain()

    def session_over(self) -> None:
        with self._monitor:
            if self._clock.session_id:
                self._lose(_expired())
                self._drain()

    def ended(self, why: str) -> None:
        """The connection is given up for good, and not because we closed the session."""
        with self._monitor:
            if self._closed is None:
                self._end(SessionClosed(why, hint="open a new session with zkkit.connect"))
                self._tell_up()

    def fired(self, kind: FireKind, full_path: str) -> None:
        with self._monitor:
            path = self._wire.strip(full_path)
            fire = Fire(kind, path)
            self._report.fired(fire)
            for run in self._watches.fired(kind, path):
                self._wake(run, fire)
            self._drain()

    def replied(self, call: Call, value: Any, error: ZkkitError | None) -> None:
        with self._monitor:
            if self._clock.session_id and not self._clock.alive():
                self._lose_by_our_clock()
            flight: Flight | None = call.owner
            if flight is not None:
                self._landed(flight, call.index, value, error)
            self._drain()

    # --- losing a session ---------------------------------------------------------------

    def _tick(self) -> None:
        with self._monitor:
            if self._closed is not None:
                return
            if not self._clock.alive():
                self._lose_by_our_clock()
                self._drain()
            self._schedule_tick()

    def _schedule_tick(self) -> None:
        if self._ticker is not None:
            self._ticker.cancel()
        self._ticker = self._service.at(self._clock.expires, self._tick)

    def _lose_by_our_clock(self) -> None:
        clock = self._clock
        if clock.session_id:
            self._condemned = clock.session_id
            why = "no server has answered for the whole session timeout"
        else:
            why = "no server could be reached for the whole session timeout"
        self._lose(
            SessionLost(
                f"{why} ({clock.timeout:g} s): the session counts as lost",
                hint="see whether the ensemble is up; a new session is made as soon as it answers",
            )
        )
        if clock.session_id:
            # A server that still answers would keep the session going: it must be closed, and
            # that is done when kazoo connects with it again.
            self._transport.hang_up()

    def _lose(self, error: SessionLost) -> None:
        """The session is over, by whichever clock: tell everybody who lived in it."""
        clock = self._clock
        clock.end()
        if clock.session_id and self.state != "closed":
            self._change_state("lost")
        for held in self._holds.lose_all():
            self._report.lost(held, error)
            for callback in held.on_lost:
                self._deliver(callback)
        self._clock = SessionClock(0, self._timeout, now())
        self._watches.clear()
        self._transport.forget_unsent()
        for run in list(self._runs.values()):
            run.watches.clear()
            self._interrupt(run, error)

    # --- advancing ----------------------------------------------------------------------

    def _enter(self, run: Run) -> None:
        self._numbers += 1
        run.number = self._numbers
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
                value, error = end.value, None
                if self._leave_frame(run):
                    continue
                return self._finish(run, value, None)
            except BaseException as raised:
                value, error = None, raised
                if self._leave_frame(run):
                    continue
                return self._finish(run, None, raised)
            value, error = None, None
            instant = self._instant.get(type(step))
            if instant is not None:
                value = instant(run, step)
                continue
            if run.interrupts:
                error = run.interrupts.popleft()
                continue
            run.ticket += 1  # whoever wanted to resume it before came too late
            try:
                value = self._begin(run, step)
            except ZkkitError as refused:
                error = refused
            if value is _PENDING:
                return None

    def _leave_frame(self, run: Run) -> bool:
        """A frame has ended: go on in the one below, if there is one."""
        frame = run.frames.pop()
        if frame.timer is not None:
            frame.timer.cancel()
        return bool(run.frames)

    def _begin(self, run: Run, step: Any) -> Any:
        """Start a step that takes time; gives _PENDING, or the result if it is there already."""
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
        del self._runs[run.number]
        self._watches.left(run, run.watches)
        if run.left:
            self._give_back(run)
        for tell in run.on_done:
            tell()

    def _give_back(self, run: Run) -> None:
        """A result nobody took."""
        if isinstance(run.result, Returnable) and run.claim() and self._closed is None:
            self._enter(Run(run.result.give_back(), run.actor, run.recipe))

    # --- requests -----------------------------------------------------------------------

    def _together(self, run: Run, step: Together[Any]) -> Any:
        if not step.requests:
            return ()
        return self._fly(run, step.requests, single=False, settle=step.settle)

    def _fly(self, run: Run, steps: tuple[Any, ...], *, single: bool, settle: bool) -> Any:
        if self._closed is not None:
            return self._refuse(run)
        for step in steps:
            if not isinstance(step, Request):
                raise NotAStep(f"only requests can fly together, not {step!r}")
            _checked_path(step)
        flight = Flight(run, steps, single=single, settle=settle)
        flight.started = time.monotonic_ns()
        run.flight = flight
        for index, step in enumerate(steps):
            key = _watch_key(step)
            if key is not None:
                self._watches.asked(key)
            self._transport.send(Call(self._wire.encode(step), step.path, flight, index))
        return _PENDING

    def _refuse(self, run: Run) -> Any:
        """The session is closed. A script that goes on regardless is told, and then cut off."""
        assert self._closed is not None
        run.refusals += 1
        if run.refusals <= _PATIENCE:
            raise self._closed
        while run.frames:
            with suppress(RuntimeError):  # it would go on even now
                run.frames.pop().body.close()
        run.frames.append(Frame(_ended(self._closed)))
        return None

    def _landed(self, flight: Flight, index: int, value: Any, error: ZkkitError | None) -> None:
        """One reply of a flight. Even if its run has moved on, what it did must be noted."""
        step, run = flight.steps[index], flight.run
        key = _watch_key(step)
        if key is not None:
            self._watch_answered(flight, key, error)
        self._report.replied(flight, step, value, error, self._transport.last_zxid)
        flight.outcomes[index] = value if error is None else error
        flight.left -= 1
        if flight.left or run.flight is not flight:
            return
        if flight.single:
            self._resume(run, value, error)
        elif flight.settle:
            self._resume(run, tuple(flight.outcomes))
        else:
            first = next((o for o in flight.outcomes if isinstance(o, ZkkitError)), None)
            self._resume(run, None if first else tuple(flight.outcomes), first)

    def _watch_answered(self, flight: Flight, key: Key, error: ZkkitError | None) -> None:
        run = flight.run
        wanted = run.flight is flight
        was_set = error is None
        if was_set and wanted:
            run.watches.add(key)
            self._report.watch_set(key, run)
        self._watches.answered(key, run if wanted else None, was_set)

    def _remove_watch(self, key: Key) -> None:
        # No watch there is as good as removed: nobody waits for the answer.
        encoded = self._wire.encode_remove_watch(key.path, key.kind.removal)
        self._transport.send(Call(encoded, key.path))

    # --- waiting ------------------------------------------------------------------------

    def _wait(self, run: Run, step: Wait) -> Any:
        if run.fires:
            return run.fires.popleft()
        if self._closed is not None:
            return self._refuse(run)
        run.waiting = True
        run.parked_at = time.monotonic_ns()
        return _PENDING

    def _wake(self, run: Run, fire: Fire) -> None:
        if run.done:
            return
        if not run.waiting:
            run.fires.append(fire)
            return
        self._report.woke(run, fire)
        self._resume(run, fire)

    def _within(self, run: Run, step: Within[Any]) -> Any:
        frame = Frame(of_step(step.body))
        run.frames.append(frame)
        frame.timer = self._service.at(
            now() + step.seconds, lambda: self._time_out(run, frame, step.seconds)
        )
        return None  # starts the body

    def _time_out(self, run: Run, frame: Frame, seconds: float) -> None:
        with self._monitor:
            if not run.done and frame in run.frames:
                self._interrupt(run, TimedOut(f"not done within {seconds:g} s"))
                self._drain()

    # --- other actors -------------------------------------------------------------------

    def spawn(self, body: Script[Any], name: str) -> Spawned:
        """Run a script in the background until it or the session ends."""
        with self._monitor:
            spawned = self._enter_background(body, name)
            self._drain()
            return spawned

    def _enter_background(self, body: Script[Any], name: str) -> Spawned:
        run = Run(body, name, name)
        run.on_done.append(lambda: _log_failure(run))
        self._enter(run)
        return Spawned(run.number)

    def _spawn(self, run: Run, step: Spawn) -> Spawned:
        return self._enter_background(step.script, step.name)

    def _stop(self, run: Run, step: Stop) -> Any:
        target = self._runs.get(step.spawned.number)
        if target is None:
            return None
        ticket = run.ticket
        target.on_done.append(lambda: self._resume(run, None) if run.ticket == ticket else None)
        if not target.cancelled:
            target.cancelled = True
            self._interrupt(target, Cancelled())
        return _PENDING

    def _call_user(self, run: Run, step: CallStep) -> Any:
        ticket = run.ticket

        def call() -> None:
            value: Any = None
            error: BaseException | None = None
            try:
                value = step.function(*step.args)
            except Exception as raised:
                error = raised
            with self._monitor:
                if run.ticket == ticket and not run.done:
                    self._resume(run, value, error)
                    self._drain()

        self._deliver(call)
        return _PENDING

    # --- instant steps ------------------------------------------------------------------

    def _note(self, run: Run, step: Note) -> None:
        if step.value is None:
            self._table.pop(step.key, None)
        else:
            self._table[step.key] = step.value

    def _mark(self, run: Run, step: Mark) -> None:
        if step.what == "released":
            duration = self._holds.released(step.path, step.zxid)
        else:
            duration = time.monotonic_ns() - run.began
            self._holds.acquired(run, step.path, step.zxid)
        self._report.marked(step, run, duration)

    def _change_state(self, state: str) -> None:
        if self.state != state:
            self.state = state
            self._report.session_changed(state)

    def _tell_up(self) -> None:
        waiting, self.on_up = self.on_up, []
        for tell in waiting:
            tell()


def _expired() -> SessionLost:
    return SessionLost(
        "the server says that the session has expired",
        hint="everything held in it is lost; a new session is being made",
    )


def _ended(error: BaseException) -> Script[Any]:
    yield from ()
    raise error


def _checked_path(step: Request[Any]) -> None:
    for op in getattr(step, "ops", (step,)):
        validate(op.path)


def _watch_key(step: Step[Any]) -> Key | None:
    if isinstance(step, Get | Exists):
        return Key(WatchKind.DATA, step.path) if step.watch else None
    if isinstance(step, Children):
        return Key(WatchKind.CHILD, step.path) if step.watch else None
    if isinstance(step, Watch):
        return Key(WatchKind.RECURSIVE if step.recursive else WatchKind.PERSISTENT, step.path)
    return None


def _log_failure(run: Run) -> None:
    if run.error is not None and not isinstance(run.error, Cancelled | SessionLost):
        log.error("the background script %s failed", run.recipe, exc_info=run.error)
