"""The session's pulse: the beats that prove that it lives (`clock.py` has the rule and why).

    nothing held      a Sync each gap, so that a grant begins with a proof that is young
    something held    a Sync each half gap (an eighth of the timeout, if that is more), and when it
                      is answered a write: a multi of one check, which changes nothing and fires no
                      watch

What scripts write proves as much as a beat's write, so an acquire is proved by its own create. Only
where a grant comes without a young write (after a long wait in line), one is sent at once, and the
grant counts when it is answered.

A beat that stays unanswered makes the session hang up and try another server, if it knows one: a
follower that is cut off its leader, or a leader that was deposed, may answer everything else for
seconds.

Beats belong to no script. The hooks do not see them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import MultiFailed, NoAuth, NoNode, ZkkitError
from ..steps import Check, Multi, Request, Sync
from .clock import Proof, gap_for, now
from .worker import Timer

BEAT_PATH = "/zookeeper"
"""What beats are about: the servers' own node, which recipes have no business with. It need not be
there, below a chroot, nor need we be allowed to see it."""

_SYNC = Sync(BEAT_PATH)
_WRITE = Multi((Check(BEAT_PATH),))
_HOLDING_PACE = 1 / 8  # of the session timeout: no faster than that, however short the tick
_PATIENCE = 0.12  # of the session timeout, for the answer to a beat while something is held ...
_IDLE_PATIENCE = 0.3  # ... and while nothing is: then there is less to lose
_ROUND_TRIPS = 6  # at least so many of the usual round trips,
_SHORTEST_PATIENCE = 0.5  # and so many seconds: a busy machine stands still for longer than a link
_MARGIN = 0.05  # of the session timeout: what is proved for less is as good as not proved


class Beat:
    """A Sync, or the write after it, that is under way."""

    __slots__ = ("patience", "step")

    def __init__(self, step: Request[Any]) -> None:
        self.step = step
        self.patience: Timer | None = None


class Pulse:
    """Beats for one session after the other. Whoever calls it has the session's monitor."""

    def __init__(
        self,
        *,
        tick: float | None,
        send: Callable[[Request[Any], Beat], None],
        at: Callable[[float, Callable[[], object]], Timer],
        is_held: Callable[[], bool],
        lapsed: Callable[[int], object],
        hang_up: Callable[[], object] | None,
    ) -> None:
        """`send` sends a beat. `at` calls back later, with the monitor. `is_held` says whether
        somebody relies on the proof; `lapsed` is called when it has lapsed all the same, with the
        number of the era that has begun. `hang_up` is None where there is no other server."""
        self.proof: Proof | None = None
        self._tick = tick
        self._send = send
        self._at = at
        self._is_held = is_held
        self._lapsed = lapsed
        self._hang_up = hang_up
        self._connected = False
        self._beat: Beat | None = None
        self._next: Timer | None = None
        self._next_at = 0.0
        self._end: Timer | None = None
        self._era = 0  # the one that was told
        self._usual = 0.0  # seconds of a usual round trip
        self._unanswered = 0  # connections in a row that were given up for a beat

    # --- what the session tells -------------------------------------------------------------

    def opened(self, timeout: float, sent_at: float, *, anew: bool) -> None:
        """A connect that was sent then is answered: for a new session, or for the same one."""
        at = now()
        self._usual = at - sent_at
        if anew or self.proof is None:
            gap = gap_for(timeout, self._tick)
            self.proof = Proof(timeout, gap, sent_at=sent_at, answered_at=at)
            self._era = self._unanswered = 0
        else:
            self.proof.reconnected(sent_at, at)

    def connected(self) -> None:
        """Requests can be sent."""
        self._connected = True
        if self._is_held():
            self._begin(_WRITE)  # the connect stands for the Sync
        self._schedule()

    def disconnected(self) -> None:
        """The connection broke: what was under way proves nothing."""
        self._connected = False
        self._drop(self._next, self._beat.patience if self._beat is not None else None)
        self._beat = self._next = None
        if self.proof is not None:
            self.proof.disconnected()

    def ended(self) -> None:
        """The session is over."""
        self.disconnected()
        self._drop(self._end)
        self.proof = self._end = None

    def wrote(self, sent_at: float) -> None:
        """A script's write, sent then, has succeeded."""
        if self.proof is not None:
            self.proof.wrote(sent_at, now())
            self._tell_lapse(self.proof)

    def answered(self, beat: Beat, sent_at: float, error: ZkkitError | None) -> None:
        """A beat has its answer."""
        if beat is not self._beat or self.proof is None:
            return  # of a connection that is gone
        self._drop(beat.patience)
        self._beat = None
        at = now()
        if beat.step is _SYNC and error is None:
            self._usual += (at - sent_at - self._usual) / 4
            self.proof.synced(sent_at, at)
            if self._is_held():
                self._begin(_WRITE)
                return
        elif beat.step is _WRITE and _applied(error):
            self.proof.wrote(sent_at, at)
            self._tell_lapse(self.proof)
        self._unanswered = 0
        self._schedule()

    def is_proved(self) -> bool:
        """Whether a grant may count: the session is proved to live, for long enough to prove it
        again. If not, that is seen to at once."""
        proof = self.proof
        if proof is None:
            return False
        at, margin = now(), _MARGIN * proof.timeout
        if self._connected and self._beat is None:
            too_late = self._next_at + margin + 2 * self._usual > proof.deadline
            if too_late and proof.promise > proof.deadline:
                self._begin(_WRITE)
            elif self._next_at > at + self._pace(held=True):
                self._schedule(held=True)
        return proof.deadline - at > margin

    # --- beating ------------------------------------------------------------------------------

    def _pace(self, *, held: bool) -> float:
        assert self.proof is not None
        gap = self.proof.gap
        return max(gap / 2, _HOLDING_PACE * self.proof.timeout) if held else gap

    def _schedule(self, *, held: bool = False) -> None:
        """Let the next beat come in time for what is held, or is about to be."""
        if self.proof is None or not self._connected:
            return
        held = held or self._is_held()
        self._drop(self._next)
        self._next_at = now() + self._pace(held=held)
        self._next = self._at(self._next_at, self._sync)
        if held:
            self._watch_the_end()

    def _sync(self) -> None:
        self._next = None
        if self._connected and self._beat is None:
            self._begin(_SYNC)
        if self._is_held():
            self._watch_the_end()

    def _begin(self, step: Request[Any]) -> None:
        self._beat = beat = Beat(step)
        self._be_patient(beat)
        self._send(step, beat)

    def _be_patient(self, beat: Beat) -> None:
        assert self.proof is not None
        share = _PATIENCE if self._is_held() else _IDLE_PATIENCE
        patience = max(share * self.proof.timeout, _ROUND_TRIPS * self._usual, _SHORTEST_PATIENCE)
        # A server that is slow to answer only beats would be left for ever: be more patient.
        moment = now() + patience * 2 ** min(self._unanswered, 5)
        beat.patience = self._at(moment, lambda: self._out_of_patience(beat))

    def _out_of_patience(self, beat: Beat) -> None:
        if beat is not self._beat or not self._connected:
            return
        self._unanswered += 1
        if self._hang_up is not None:
            self._hang_up()
            self._be_patient(beat)
        else:  # nobody else to ask: ask again
            self._beat = None
            self._begin(_SYNC)

    # --- lapsing ------------------------------------------------------------------------------

    def _watch_the_end(self) -> None:
        if self._end is None and self.proof is not None:
            self._end = self._at(self.proof.deadline, self._look_at_the_end)

    def _look_at_the_end(self) -> None:
        self._end = None
        if self.proof is None or not self._is_held():
            return
        if self.proof.holds(self.proof.era, now()):
            self._watch_the_end()
        else:
            self._tell_lapse(self.proof)

    def _tell_lapse(self, proof: Proof) -> None:
        if proof.era != self._era:
            self._era = proof.era
            self._lapsed(self._era)

    def _drop(self, *timers: Timer | None) -> None:
        for timer in timers:
            if timer is not None:
                timer.cancel()


def _applied(error: ZkkitError | None) -> bool:
    """Whether a majority took the beat's write. The leader looks at the session first, so a node
    that is not there, or that we may not see, proves as much as one that is."""
    return error is None or (
        isinstance(error, MultiFailed) and isinstance(error.errors[0], NoNode | NoAuth)
    )
