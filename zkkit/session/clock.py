"""The session's own two clocks: life and proof.

**Life** says when a session is given up. Any answer extends it: the session counts as alive until
the answered request *was sent* plus the negotiated timeout S. After that it is lost for good.

**Proof** says until when a hold may call itself valid. An answer is not enough for that. Only the
leader expires sessions, and a follower that is cut off its leader goes on answering pings and
reads by itself while the leader's clock runs out. Even a Sync proves little: a leader that was
deposed and does not know it answers Syncs, too. So `Proof` counts only what no server can do
unless the leader that rules has not expired the session.

What the servers do (3.6 to 3.9):

- The leader expires a session later than the last touch it knows of, plus S.
- A follower notes in a table which sessions it has heard of. The leader pings each follower every
  half tick; the answer carries that table, and this alone touches the sessions at the leader.
- Both channels between the two keep their order, and one thread of the follower handles what the
  leader sends. A follower that changes its leader closes the connections of its clients.
- A write needs a majority, and fails for a session that is expired.
- A new leader gives every session a whole S, from when a majority has accepted it.
- A connect that is answered has touched the session at the leader.

The rule. Three requests on one connection, each sent when the one before it was answered:

    X    any request, sent at x
    Y    a Sync, sent at least `gap` after X was answered; `gap` is more than half a tick
    W    a write

When W is answered the session surely lives until **x + S**. For X was in the follower's table, at x
or later, when it was answered. In the gap the leader sent a ping. It came to the follower before
the answer to Y, so the follower's answer to it, with our touch, left before W and came to the
leader before W. The leader thus touched the session at x or later, and did not expire it before
x + S. And it was the one that ruled, for a majority took W: a later leader began to count only
after that. Two requests are not enough, for the answer to Y can reach us while the answer to the
ping is still on its way.

After a reconnect the connect itself stands for X and Y: one answered write on the new connection
proves the session until the connect was sent plus S. All else is forgotten with the connection. A
new session is a write itself: proved until its connect was sent plus S.

A proof that has lapsed is never mended: a later one begins a new *era*, and a hold belongs to the
era it was granted in. So `valid`, once false, stays false, however late an answer comes.

It assumes that clocks run at about the same rate, that the leader's pings are late by less than
the gap exceeds half a tick (else the error is about that delay), and that clients do not sit behind
an ObserverMaster, where a touch takes one hop more. The protocol never tells the tick. By default
a server grants no S below two ticks, so a gap of 0.275 S is enough; a known tick makes it shorter.
"""

from __future__ import annotations

import threading
import time
from collections import deque

# A laptop that slept has lost its session: prefer a clock that goes on while the machine sleeps.
# (On macOS CLOCK_MONOTONIC is such a clock, on Linux CLOCK_BOOTTIME is.)
_CLOCK = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))

_OF_TIMEOUT = 0.275
_OF_TICK = 0.55


def now() -> float:
    """Seconds on the clock that sessions live by."""
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)


def gap_for(timeout: float, tick: float | None) -> float:
    """More than half a tick, in seconds: a tenth more, for the leader's pings may be late."""
    return _OF_TIMEOUT * timeout if tick is None else _OF_TICK * tick


class SessionClock:
    """Life: until when one session counts as alive. Session id 0: not yet born, the time to get
    one. Serves one session, and latches."""

    __slots__ = ("_over", "expires", "session_id", "timeout")

    def __init__(self, session_id: int, timeout: float, sent_at: float) -> None:
        self.session_id = session_id
        self.timeout = timeout
        self.expires = sent_at + timeout
        self._over = False

    def answered(self, sent_at: float) -> None:
        """A request sent at `sent_at` was answered. Too late an answer revives nothing."""
        if self.alive() and sent_at + self.timeout > self.expires:
            self.expires = sent_at + self.timeout

    def alive(self) -> bool:
        """Whether the session counts as alive. Once false, always false."""
        if self._over:
            return False
        if now() >= self.expires:
            self._over = True
        return not self._over

    def end(self) -> None:
        """The server said that the session is over."""
        self._over = True


class Proof:
    """Knows until when one session is proved to live. Pure but for its lock: it is told all times.

    `holds` may be asked from any thread; everything else is told by one at a time.
    """

    def __init__(self, timeout: float, gap: float, *, sent_at: float, answered_at: float) -> None:
        """A new session: its connect was sent and answered then."""
        self.timeout = timeout
        self.gap = gap
        self._lock = threading.Lock()
        # One value, so that whoever reads it sees an era and its own deadline.
        self._state = (0, sent_at + timeout)
        self._heard: deque[tuple[float, float]] = deque()
        """Candidates for X: when each was sent and answered, the oldest first."""
        self._reached: deque[tuple[float, float]] = deque(maxlen=3)
        """When a Y was answered, and when its X was sent, the oldest first."""
        self.reconnected(sent_at, answered_at)

    @property
    def era(self) -> int:
        """The number of the era: how often a proof has lapsed."""
        return self._state[0]

    @property
    def deadline(self) -> float:
        """The moment until which the session is proved to live."""
        return self._state[1]

    def disconnected(self) -> None:
        """The connection broke. What was proved stays proved; what was begun is void."""
        self._heard.clear()
        self._reached.clear()

    def reconnected(self, sent_at: float, answered_at: float) -> None:
        """On a new connection: its connect, sent then, was answered."""
        self.disconnected()
        self._heard.append((sent_at, answered_at))
        self._reached.append((answered_at, sent_at))

    def synced(self, sent_at: float, answered_at: float) -> None:
        """A Sync, sent then, was answered."""
        heard = self._heard
        while len(heard) > 1 and heard[1][1] + self.gap <= sent_at:
            heard.popleft()  # a later one will do as X
        if heard and heard[0][1] + self.gap <= sent_at:
            self._reached.append((answered_at, heard[0][0]))
        heard.append((sent_at, answered_at))

    @property
    def promise(self) -> float:
        """The moment until which a write that is sent now would prove it."""
        return self._reached[-1][1] + self.timeout if self._reached else self.deadline

    def wrote(self, sent_at: float, at: float) -> None:
        """A write, sent then, has succeeded; `at` is now."""
        for answered_at, x in reversed(self._reached):
            if answered_at <= sent_at:
                self._extend(x + self.timeout, at)
                return

    def _extend(self, deadline: float, at: float) -> None:
        with self._lock:
            era, known = self._state
            if at >= known:
                era, known = era + 1, deadline
            self._state = (era, max(known, deadline))

    def holds(self, era: int, at: float) -> bool:
        """Whether what was proved in that era still is; once false, always false."""
        current, deadline = self._state
        if current == era and at < deadline:
            return True
        with self._lock:
            current, deadline = self._state
            if current != era:
                return False
            if at < deadline:
                return True  # it was extended just now
            self._state = (era + 1, deadline)
            return False
