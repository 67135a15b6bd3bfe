"""The session's own clock.

The server counts a session's timeout from the last thing it heard of us. We cannot know when that
was, but it was not before we sent the last request that got an answer. So the session surely lives
until *that send time* plus the negotiated timeout, and after it nobody can say: it counts as lost.
Lost is final. A clock serves one session and latches.
"""

from __future__ import annotations

import time

# A laptop that slept has lost its session: prefer a clock that goes on while the machine sleeps.
# (On macOS CLOCK_MONOTONIC is such a clock, on Linux CLOCK_BOOTTIME is.)
_CLOCK = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))


def now() -> float:
    """Seconds on the clock that sessions live by."""
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)


class SessionClock:
    """Until when one session surely lives. Session id 0: not yet born, the time to get one."""

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
        """Whether the session surely lives. Once false, always false."""
        if self._over:
            return False
        if now() >= self.expires:
            self._over = True
        return not self._over

    def end(self) -> None:
        """The server said so: over."""
        self._over = True
