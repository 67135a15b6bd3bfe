"""Runs scripts on a real session: an engine for the scripts, and what has to do with servers.

Requests and their flights, watches and who waits for them, the session's own clock, and what
happens when the session is lost: by the server's word, or by our clock, which is final.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

from ..errors import SessionClosed, SessionLost, Unreachable, ZkkitError
from ..hooks import Hooks
from ..kernel import (
    PENDING,
    WatchKey,
    WatchKind,
    flight_result,
    held_key,
    requests_of,
    used_up,
    watch_of,
)
from ..steps import Fire, FireKind, Mark, Proved, Request, SessionId, StillHeld, Watch
from .clock import SessionClock, now
from .emit import Reporter
from .engine import Batch, Engine
from .holds import HeldNode, Holds
from .loop import seat_for
from .opcodes import WRITES
from .options import Options
from .platforms import Employer, Platform
from .pulse import Beat, Pulse
from .run import Flight, Run
from .transport import Outgoing, Transport
from .watches import WatchTable
from .wire import Wire
from .worker import Timer


class Client:
    """All who watch by kazoo's client: for the table of watches they are one user."""


CLIENT = Client()


class Runner:
    """One session: the engine with its scripts, its clock, its watches, its holds."""

    def __init__(
        self,
        transport: Transport,
        options: Options,
        platform: Platform,
        hooks: Hooks,
        deliver: Callable[[Callable[[], object]], None],
        employ: Employer,
    ) -> None:
        self._deliver = deliver
        self._report = Reporter(hooks)
        self._seat = seat_for(platform)
        self._engine = engine = Engine(
            platform,
            self._seat,
            deliver,
            employ,
            self._report,
            self.fly,
            flush=transport.flush,
            ended=lambda run: self._watches.left(run, run.watches),
            abandoned=self._abandoned,
            instant={
                SessionId: lambda run, step: self.session_id,
                StillHeld: self._still_held,
                Mark: self._mark,
            },
            slow={Proved: self._prove},
        )
        # For the fronts: scripts are the engine's business.
        self.start, self.cancel, self.abandon = engine.start, engine.cancel, engine.abandon
        self.background_run, self.noted = engine.background_run, engine.noted
        self.hand_over, self.has_handed_over = engine.hand_over, engine.has_handed_over
        self._monitor = engine.monitor
        self.state = "connecting"
        self.on_up: list[Callable[[], object]] = []
        """Called once each when the session is connected or can no longer be."""
        self._transport = transport
        self._options = options
        self._wire = Wire(transport.chroot, options.acl)
        self._clock = SessionClock(0, options.timeout, now())
        self._ticker: Timer | None = None
        self._condemned = 0
        self._epoch = 0  # how many sessions have been lost
        self._holds = Holds()
        self._watches: WatchTable[Run | Client] = WatchTable(self._remove_watch, self._set_watch)
        self._unproved: list[tuple[Run, int]] = []  # those who wait for a proof, with their tickets
        self._pulse = Pulse(
            tick=options.tick,
            send=lambda step, beat: transport.send(
                Outgoing(self._wire.encode(step), step.path, beat, perishable=True)
            ),
            at=engine.at,
            is_held=lambda: bool(self._unproved) or self._holds.any_mortal,
            lapsed=self._lapse,
            hang_up=transport.try_another if transport.servers > 1 else None,
        )

    # --- for the fronts ---------------------------------------------------------------

    def open(self) -> None:
        """Begin to connect."""
        self._transport.open(self, self._seat)
        self._schedule_tick()

    def live_below(self, namespace: str) -> None:
        """From now on all paths are below this one."""
        self._wire = Wire(self._transport.chroot + namespace, self._options.acl)

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
        ours = session_id in (0, self.session_id)
        return ours and self._holds.valid(self._pulse.proof, path, zxid)

    def when_lost(
        self, session_id: int, path: str, zxid: int, callback: Callable[[], object]
    ) -> None:
        with self._monitor:
            held = self._holds.find(path, zxid)
            if held is not None:
                held.on_lost.append(callback)
            elif self._holds.has_lapsed(path, zxid) or session_id not in (0, self.session_id):
                self._deliver(callback)

    def standing(self) -> list[str]:
        """Where each live script stands, and what it waits for."""
        with self._monitor:
            return [
                f"{run.recipe} of {run.actor_name} in {self._engine.where(run)} waits for "
                + self._awaited(run)
                for run in self._engine.runs.values()
            ]

    def _awaited(self, run: Run) -> str:
        if run.flight is not None:
            asked = [f"{type(each).__name__} {each.path}" for each in run.flight.requests]
            return f"the reply to {', '.join(asked)}"
        if run.waiting:
            otherwise = "something in its own session" if run.heeds else "nothing"
            return f"a watch on {', '.join(self._watches.paths_of(run)) or otherwise}"
        unproved = any(waiting is run for waiting, _ in self._unproved)
        return "a proof that the session lives" if unproved else "something else"

    def end_all(self) -> None:
        """End every run with SessionClosed."""
        with self._monitor:
            if self._engine.closed is None:
                self._end(
                    SessionClosed("the session is closed", hint="open a new one with zkkit.connect")
                )

    def free(self, patience: float) -> None:
        """Close the session on the server and free everything."""
        try:
            self._transport.shut_down(patience)
        finally:
            self._engine.stop()

    def _end(self, error: SessionClosed) -> None:
        self._engine.closed = error
        self._lose(error)
        self._change_state("closed")
        self._engine.drain()

    # --- the transport's listener -------------------------------------------------------

    def batch(self) -> Batch:
        return self._engine.batch

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
                self._engine.drain()
                return False
            if clock.session_id:
                self._lose(_expired())
            self._clock = SessionClock(session_id, timeout, sent_at)
            self._pulse.opened(timeout, sent_at, anew=True)
            self._report.begin(session_id)
            self._schedule_tick()
            self._engine.drain()
            return self._engine.closed is None

    def answered(self, sent_at: float) -> None:
        self._clock.answered(sent_at)

    def connection_up(self) -> None:
        with self._monitor:
            self._transport.resume()
            self._change_state("connected")
            for key, users in self._watches.persistent():
                self._set_watch(key)
                # Sent first, so whatever they read next is read with the watch in place.
                self._look_again(users, key.path)
            self._pulse.connected()
            self._tell_up()
            self._engine.drain()

    def connection_down(self) -> None:
        with self._monitor:
            self._transport.suspend()
            self._pulse.disconnected()
            if self.state == "connected":
                self._change_state("suspended")
            for user, path in self._watches.disconnected():
                if isinstance(user, Run):  # kazoo's client tells its own watchers
                    self._tell_fire(user, Fire(FireKind.NONE, path))
            self._engine.drain()

    def session_over(self) -> None:
        with self._monitor:
            if self._clock.session_id:
                self._lose(_expired())
                self._engine.drain()

    def ended(self, why: str) -> None:
        """The connection is given up for good, and not because we closed the session."""
        with self._monitor:
            if self._engine.closed is None:
                self._end(SessionClosed(why, hint="open a new session with zkkit.connect"))
                self._tell_up()

    def fired(self, kind: FireKind, full_path: str) -> None:
        with self._monitor:
            path = self._wire.strip_if_inside(full_path)
            if path is None:
                return  # somebody watches it by kazoo's client, which knows no namespace
            self._report.fired(Fire(kind, path))
            for user, fire in self._watches.fired(kind, path):
                if isinstance(user, Run):
                    self._tell_fire(user, fire)
                elif fire.path != path:  # else it hears of it anyway
                    self._transport.tell_client(fire.kind, self._wire.full(fire.path))
            self._engine.drain()

    def _tell_fire(self, run: Run, fire: Fire) -> None:
        run.watches.difference_update(used_up(fire))  # or a run with new watches always would grow
        self._engine.wake(run, fire)

    def replied(self, call: Outgoing, value: Any, error: ZkkitError | None) -> None:
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
            self._engine.drain()

    # --- losing a session ---------------------------------------------------------------

    def _tick(self) -> None:
        if not self._clock.alive():
            self._lose_by_our_clock()
        self._schedule_tick()

    def _schedule_tick(self) -> None:
        if self._ticker is not None:
            self._ticker.cancel()
        self._ticker = self._engine.at(self._clock.expires, self._tick)

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
            # that is done when it is connected again.
            self._transport.hang_up()

    def _lose(self, error: SessionLost) -> None:
        """The session is over, by whichever clock: tell everybody who lived in it."""
        clock = self._clock
        clock.end()
        if clock.session_id and self._engine.closed is None:
            self._change_state("lost")
        self._pulse.ended()
        self._tell_lost(self._holds.end(), type(error).__name__)
        self._unproved.clear()
        self._clock = SessionClock(0, self._options.timeout, now())
        self._epoch += 1
        self._watches.clear()
        self._transport.forget_unsent()
        for run in list(self._engine.runs.values()):
            run.watches.clear()
            self._engine.interrupt(run, copy(error))

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
                    self._engine.resume(run, None)

    def _lapse(self, era: int) -> None:
        """Nothing proves any more that the session lives: what was held is lost for good, whatever
        becomes of the session."""
        self._tell_lost(self._holds.lapse(era), "Unproved")

    def _still_held(self, run: Run, step: StillHeld) -> bool:
        if step.watch:
            self._engine.heed(run, held_key(step.path, step.zxid))
        return self.is_held(step.session_id, step.path, step.zxid)

    def _tell_lost(self, lost: list[HeldNode], cause: str) -> None:
        for held in lost:
            self._report.lost(held, cause)
            self._engine.stir(held_key(held.path, held.zxid))
            for callback in held.on_lost:
                self._deliver(callback)

    # --- requests -----------------------------------------------------------------------

    def fly(self, run: Run, step: Any) -> Any:
        """Send the requests of a step. All are encoded before one is sent: a flight that makes no
        sense does not take off."""
        if self._engine.closed is not None:
            raise self._engine.refuse(run)
        requests = requests_of(step, self._engine.where, run)
        flight = Flight(run, step, requests)
        try:
            calls = [self._encoded(flight, i, request) for i, request in enumerate(requests)]
        except BaseException:
            for key in filter(None, flight.watches):
                self._watch_answered(flight, key, was_set=False)
            raise
        flight.started = time.monotonic_ns()
        flight.epoch = self._epoch
        run.flight = flight
        for call in calls:
            self._transport.send(call)
        return PENDING

    def _encoded(self, flight: Flight, index: int, request: Any) -> Outgoing:
        """One request of a flight, asking for another watch than its own where that must be."""
        key = watch_of(request)
        ask = self._watches.asked(key) if key is not None else None
        flight.watches.append(key)
        if ask != key:
            request = _asking(request, ask)
        return Outgoing(self._wire.encode(request), request.path, flight, index)

    def _landed(self, flight: Flight, index: int, value: Any, error: ZkkitError | None) -> None:
        """One reply of a flight. Even if its run has moved on, what it did must be noted."""
        run, key = flight.run, flight.watches[index]
        if key is not None and flight.epoch == self._epoch:
            self._watch_answered(flight, key, was_set=error is None)
        request = flight.requests[index]
        self._report.replied(flight, request, value, error, self._transport.last_zxid)
        flight.outcomes[index] = value if error is None else error
        flight.outstanding -= 1
        if not flight.outstanding and run.flight is flight:
            self._engine.resume(run, *flight_result(flight.step, flight.outcomes))

    def _abandoned(self, flight: Flight) -> None:
        """Its run waits no longer: what of it was not sent never is."""
        for call in self._transport.take_back(flight):
            key = flight.watches[call.index]
            if key is not None:
                self._watch_answered(flight, key, was_set=False)

    def is_awaited(self, call: Outgoing) -> bool:
        flight = call.owner
        return not isinstance(flight, Flight) or flight.run.flight is flight

    def _watch_answered(self, flight: Flight, key: WatchKey, *, was_set: bool) -> None:
        run = flight.run
        wanted = run.flight is flight
        if was_set and wanted:
            run.watches.add(key)
            self._report.watch_set(key, run)
        forsaken = self._watches.answered(key, run if wanted else None, was_set)
        if forsaken:
            self._look_again(forsaken, key.path)

    # --- whoever watches by kazoo's client ---------------------------------------------------

    def client_asks(self, kind: WatchKind, full_path: str) -> bool:
        with self._monitor:
            path = self._wire.strip_if_inside(full_path)
            return path is None or self._watches.asked(WatchKey(kind, path)) is not None

    def client_answered(self, kind: WatchKind, full_path: str, was_set: bool) -> None:
        with self._monitor:
            path = self._wire.strip_if_inside(full_path)
            if path is not None:
                key = WatchKey(kind, path)
                self._look_again(self._watches.answered(key, CLIENT, was_set), path)
                self._engine.drain()

    def _look_again(self, forsaken: list[Run | Client], path: str) -> None:
        """Nobody knows whether the server has the watches that these wait for."""
        for user in forsaken:
            if isinstance(user, Run):
                self._engine.wake(user, Fire(FireKind.NONE, path))
            else:  # it looks again when it is connected again, and only then
                self._transport.hang_up()

    def _set_watch(self, key: WatchKey) -> None:
        step = Watch(key.path, key.kind is WatchKind.RECURSIVE)
        self._transport.send(Outgoing(self._wire.encode(step), key.path, perishable=True))

    def _remove_watch(self, key: WatchKey) -> None:
        # No watch there is as good as removed: nobody waits for the answer.
        encoded = self._wire.encode_remove_watch(key.path, key.kind.removal)
        self._transport.send(Outgoing(encoded, key.path, perishable=True))

    # --- what is told ---------------------------------------------------------------------

    def _mark(self, run: Run, step: Mark) -> None:
        if step.what == "unled" and step.kind == "lost":
            self._tell_lost(self._holds.forfeit(step.path, step.zxid), "Doubted")
            return
        proof = self._pulse.proof
        duration = self._holds.marked(run, step, 0 if proof is None else proof.era)
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


def _asking(step: Any, key: WatchKey | None) -> Request[Any]:
    """The same request, asking for this watch instead of its own."""
    if key is not None:
        return Watch(key.path, key.kind is WatchKind.RECURSIVE)
    looking: Request[Any] = replace(step, watch=False)
    return looking
