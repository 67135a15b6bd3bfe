"""Runs scripts on a real session: the engine, plus what has to do with servers.

Requests and their flights, watches and who waits for them, the session's own clock, and what
happens when the session is lost: by the server's word, or by our clock, which is final.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

from ..errors import NotAStep, SessionClosed, SessionLost, Unreachable, ZkkitError
from ..hooks import Hooks
from ..paths import validate
from ..steps import (
    Children,
    Exists,
    Fire,
    FireKind,
    Get,
    Mark,
    Proved,
    Request,
    SessionId,
    Step,
    StillHeld,
    Watch,
)
from .clock import SessionClock, now
from .engine import PENDING, Engine
from .holds import Held, Holds
from .kazoo_transport import Call, KazooTransport
from .platforms import Platform
from .pulse import Beat, Pulse
from .report import Reporter
from .run import Flight, Run
from .service import Timer
from .watches import Key, WatchKind, WatchTable
from .wire import WRITES, Wire


class Runner(Engine):
    """One session's engine: the scripts that live in it, its clock, its watches, its table."""

    def __init__(
        self,
        transport: KazooTransport,
        *,
        platform: Platform,
        wire: Wire,
        timeout: float,
        tick: float | None,
        hooks: Hooks,
        deliver: Callable[[Callable[[], object]], None],
    ) -> None:
        super().__init__(platform, deliver)
        self.state = "connecting"
        self.on_up: list[Callable[[], object]] = []
        """Called once each when the session is connected or can no longer be."""
        self._report = Reporter(hooks)
        self._transport = transport
        self._wire = wire
        self._timeout = timeout
        self._clock = SessionClock(0, timeout, now())
        self._ticker: Timer | None = None
        self._condemned = 0
        self._epoch = 0  # how many sessions have been lost
        self._holds = Holds()
        self._watches: WatchTable[Run] = WatchTable(self._remove_watch, self._set_watch)
        self._unproved: list[tuple[Run, int]] = []  # those who wait for a proof, with their tickets
        self._pulse = Pulse(
            tick=tick,
            send=lambda step, beat: transport.send(Call(self._wire.encode(step), step.path, beat)),
            at=self._at,
            is_held=lambda: bool(self._unproved) or self._holds.any_mortal,
            lapsed=self._lapse,
            hang_up=transport.try_another if transport.servers > 1 else None,
        )
        self._instant[SessionId] = lambda run, step: self.session_id
        self._instant[StillHeld] = lambda run, step: self.is_held(step.path, step.zxid)
        self._instant[Mark] = self._mark
        self._slow[Proved] = self._prove

    # --- for the fronts ---------------------------------------------------------------

    def open(self) -> None:
        """Begin to connect."""
        self._transport.open(self)
        self._schedule_tick()

    def use_root(self, wire: Wire) -> None:
        """From now on all paths are below another root."""
        self._wire = wire

    @property
    def session_id(self) -> int:
        """The session's id; 0 while there is none that surely lives."""
        clock = self._clock
        return clock.session_id if clock.alive() else 0

    @property
    def timeout(self) -> float:
        """The negotiated session timeout in seconds."""
        return self._clock.timeout

    def is_held(self, path: str, zxid: int) -> bool:
        return self._holds.valid(self._pulse.proof, path, zxid)

    def when_lost(
        self, session_id: int, path: str, zxid: int, callback: Callable[[], object]
    ) -> None:
        with self._monitor:
            held = self._holds.find(path, zxid)
            if held is not None:
                held.on_lost.append(callback)
            elif self._holds.has_lapsed(path, zxid) or session_id not in (0, self.session_id):
                self._deliver(callback)

    def end_all(self) -> None:
        """End every run with SessionClosed."""
        with self._monitor:
            if self._closed is None:
                self._end(
                    SessionClosed("the session is closed", hint="open a new one with zkkit.connect")
                )

    def free(self, patience: float) -> None:
        """Close the session on the server and free everything."""
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
                    self._pulse.opened(timeout, sent_at, anew=False)
                    return True
                self._lose_by_our_clock()
                self._drain()
                return False
            if clock.session_id:
                self._lose(_expired())
            self._clock = SessionClock(session_id, timeout, sent_at)
            self._pulse.opened(timeout, sent_at, anew=True)
            self._report.begin(session_id)
            self._schedule_tick()
            self._drain()
            return self._closed is None

    def answered(self, sent_at: float) -> None:
        self._clock.answered(sent_at)

    def connection_up(self) -> None:
        with self._monitor:
            self._transport.resume()
            self._change_state("connected")
            for key, users in self._watches.lasting():
                self._set_watch(key)
                # Sent first, so whatever they read next is read with the watch in place.
                for run in users:
                    self._wake(run, Fire(FireKind.NONE, key.path))
            self._pulse.connected()
            self._tell_up()
            self._drain()

    def connection_down(self) -> None:
        with self._monitor:
            self._transport.suspend()
            self._pulse.disconnected()
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
            self._report.fired(Fire(kind, path))
            for run, fire in self._watches.fired(kind, path):
                self._wake(run, fire)
            self._drain()

    def replied(self, call: Call, value: Any, error: ZkkitError | None) -> None:
        with self._monitor:
            if self._clock.session_id and not self._clock.alive():
                self._lose_by_our_clock()
            owner = call.owner
            if isinstance(owner, Beat):
                self._pulse.answered(owner, call.sent_at, error)
            elif error is None and call.type in WRITES:
                self._pulse.wrote(call.sent_at)
            self._tell_proved()
            if isinstance(owner, Flight):
                self._landed(owner, call.index, value, error)
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
            kind, why = SessionLost, "no server has answered for the whole session timeout"
        else:
            kind, why = Unreachable, "no server could be reached for the whole session timeout"
        self._lose(
            kind(
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
        if clock.session_id and self._closed is None:
            self._change_state("lost")
        self._pulse.ended()
        self._tell_lost(self._holds.end(), type(error).__name__)
        self._unproved.clear()
        self._clock = SessionClock(0, self._timeout, now())
        self._epoch += 1
        self._watches.clear()
        self._transport.forget_unsent()
        for run in list(self._runs.values()):
            run.watches.clear()
            self._interrupt(run, copy(error))

    # --- holds, and the proof they stand on -----------------------------------------------

    def _prove(self, run: Run, step: Proved) -> Any:
        if self._pulse.is_proved():
            return None
        self._unproved.append((run, run.ticket))
        return PENDING

    def _tell_proved(self) -> None:
        """Let those go on who waited for a proof."""
        if self._unproved and self._pulse.is_proved():
            waiting, self._unproved = self._unproved, []
            for run, ticket in waiting:
                if run.ticket == ticket and not run.done:
                    self._resume(run, None)

    def _lapse(self, era: int) -> None:
        """Nothing proves any more that the session lives: what was held is lost for good, whatever
        becomes of the session."""
        self._tell_lost(self._holds.lapse(era), "Unproved")

    def _tell_lost(self, lost: list[Held], cause: str) -> None:
        for held in lost:
            self._report.lost(held, cause)
            for callback in held.on_lost:
                self._deliver(callback)

    def _at(self, moment: float, function: Callable[[], object]) -> Timer:
        """Call back later, with the monitor, unless the session is closed by then."""

        def call() -> None:
            with self._monitor:
                if self._closed is None:
                    function()
                    self._drain()

        return self._service.at(moment, call)

    # --- requests -----------------------------------------------------------------------

    def _fly(self, run: Run, steps: tuple[Any, ...], *, single: bool, settle: bool) -> Any:
        if self._closed is not None:
            return self._refuse(run)
        for step in steps:
            if not isinstance(step, Request):
                raise NotAStep(f"only requests can fly together, not {step!r}")
            _checked_path(step)
        flight = Flight(run, steps, single=single, settle=settle)
        # All are encoded before one is sent: a flight that makes no sense does not take off.
        calls = [Call(self._wire.encode(s), s.path, flight, i) for i, s in enumerate(steps)]
        flight.started = time.monotonic_ns()
        flight.epoch = self._epoch
        run.flight = flight
        for step, call in zip(steps, calls, strict=True):
            key = _watch_key(step)
            ask = self._watches.asked(key) if key is not None else None
            if ask != key:
                call = Call(self._wire.encode(_asking(step, ask)), call.path, flight, call.index)
            self._transport.send(call)
        return PENDING

    def _landed(self, flight: Flight, index: int, value: Any, error: ZkkitError | None) -> None:
        """One reply of a flight. Even if its run has moved on, what it did must be noted."""
        step, run = flight.steps[index], flight.run
        key = _watch_key(step)
        if key is not None and flight.epoch == self._epoch:
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
        for forsaken in self._watches.answered(key, run if wanted else None, was_set):
            self._wake(forsaken, Fire(FireKind.NONE, key.path))

    def _set_watch(self, key: Key) -> None:
        step = Watch(key.path, key.kind is WatchKind.RECURSIVE)
        self._transport.send(Call(self._wire.encode(step), key.path))

    def _remove_watch(self, key: Key) -> None:
        # No watch there is as good as removed: nobody waits for the answer.
        encoded = self._wire.encode_remove_watch(key.path, key.kind.removal)
        self._transport.send(Call(encoded, key.path))

    # --- what the engine asks for ---------------------------------------------------------

    def _ended(self, run: Run) -> None:
        self._watches.left(run, run.watches)

    def _woke(self, run: Run, fire: Fire) -> None:
        self._report.woke(run, fire)

    def _mark(self, run: Run, step: Mark) -> None:
        if step.what == "released":
            duration = self._holds.released(step.path, step.zxid)
        else:
            duration = time.monotonic_ns() - run.began
        if step.what == "acquired":
            proof = self._pulse.proof
            self._holds.acquired(run, step, 0 if proof is None else proof.era)
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


def _checked_path(step: Request[Any]) -> None:
    for op in getattr(step, "ops", (step,)):
        validate(op.path)


def _asking(step: Any, key: Key | None) -> Request[Any]:
    """The same request, asking for this watch instead of its own."""
    if key is not None:
        return Watch(key.path, key.kind is WatchKind.RECURSIVE)
    looking: Request[Any] = replace(step, watch=False)
    return looking


def _watch_key(step: Step[Any]) -> Key | None:
    if isinstance(step, Get | Exists):
        return Key(WatchKind.DATA, step.path) if step.watch else None
    if isinstance(step, Children):
        return Key(WatchKind.CHILD, step.path) if step.watch else None
    if isinstance(step, Watch):
        return Key(WatchKind.RECURSIVE if step.recursive else WatchKind.PERSISTENT, step.path)
    return None
