"""Rules by which a client may say that its session still lives: the right one, and weaker ones.

A rule has no clock and sends nothing. It is told what was answered, and when that had been sent,
and says until when the session is proved to live. While it says so, no other client may hold what
this one holds: so it must have stopped when the ruling leader expires the session.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

from ...session.clock import Proof

Beats = tuple[tuple[str, ...], ...]


class ClockRule(Protocol):
    """What the model asks of a rule. Times are comparable, and a timeout can be added to them."""

    beats: ClassVar[Beats]
    """What the client may send: one of these, each a row of requests (ping, sync, write), of which
    one is sent after the answer to the other."""
    pause: ClassVar[int]
    """How long the client waits from the answer to a beat to the next; 0: as long as the gap."""

    def __init__(self, timeout: int, gap: int, connect_sent: int) -> None:
        """The session is new: the connect that was sent then has been answered."""

    def disconnected(self) -> None:
        """The connection is broken."""

    def reconnected(self, sent_at: int, now: int) -> None:
        """A connect that was sent then has been answered, on a new connection."""

    def answered(self, request: str, sent_at: int, now: int) -> None:
        """A request that was sent then has been answered with success."""

    def holds_at(self, now: int) -> bool:
        """Whether the session is proved to live."""


class RealRule(Proof):
    """The rule of real sessions: the class they use, told of a Sync and a write each gap."""

    beats: ClassVar[Beats] = (("sync", "write"),)
    pause: ClassVar[int] = 0

    def __init__(self, timeout: int, gap: int, connect_sent: int) -> None:
        super().__init__(timeout, gap, sent_at=connect_sent, answered_at=connect_sent)

    def answered(self, request: str, sent_at: int, now: int) -> None:
        tell = self.synced if request == "sync" else self.wrote
        tell(sent_at, now)
        while len(self._reached) > 1:
            self._reached.popleft()  # no write is under way that was sent before the last one

    def holds_at(self, now: int) -> bool:
        return self.holds(0, now)


class RealRuleAtAnyTime(RealRule):
    """The same, whatever is sent and whenever: also writes of scripts, and Syncs that are closer
    together than the gap. It says itself which of them count."""

    beats: ClassVar[Beats] = (("sync",), ("write",), ("sync", "write"))
    pause: ClassVar[int] = 1


class SyncThenWrite:
    """The real rule in short: a beat is a Sync and, when it is answered, a write. An answered write
    proves life until the write *before* it was sent, plus the timeout."""

    beats: ClassVar[Beats] = (("sync", "write"),)
    pause: ClassVar[int] = 0
    back: ClassVar[int] = 1
    """How many beats before the answered one the proved one lies."""

    def __init__(self, timeout: int, gap: int, connect_sent: int) -> None:
        self.timeout = timeout
        self.deadline = connect_sent + timeout
        self.connect: int | None = None
        self.proving: tuple[int, ...] = ()

    def disconnected(self) -> None:
        self.proving = ()
        self.connect = None

    def reconnected(self, sent_at: int, now: int) -> None:
        self.connect = sent_at

    def answered(self, request: str, sent_at: int, now: int) -> None:
        if request != self.beats[0][-1]:
            return
        proved, self.connect = self.connect, None
        self.proving = (*self.proving, sent_at)
        if len(self.proving) > self.back:
            proved, *rest = self.proving
            self.proving = tuple(rest)
        if proved is not None:
            self._proved(proved, now)

    def _proved(self, sent_at: int, now: int) -> None:
        """Too late an answer revives nothing: so a deadline that has passed is never moved."""
        if self.holds_at(now):
            self.deadline = max(self.deadline, sent_at + self.timeout)

    def holds_at(self, now: int) -> bool:
        return now < self.deadline


class Pings(SyncThenWrite):
    """Takes an answered ping for life. A follower answers pings by itself, also while it is cut off
    its leader."""

    beats: ClassVar[Beats] = (("ping",),)
    back: ClassVar[int] = 0


class OneSync(SyncThenWrite):
    """Takes an answered Sync for life. The follower has noted that the client was active, but has
    not told its leader yet."""

    beats: ClassVar[Beats] = (("sync",),)
    back: ClassVar[int] = 0


class TwoSyncs(SyncThenWrite):
    """Takes a Sync for proved when the next one is answered. The leader has pinged in between, but
    the answer to that ping may still be under way."""

    beats: ClassVar[Beats] = (("sync",),)


class ThreeSyncs(SyncThenWrite):
    """Takes a Sync for proved when the next but one is answered. That is right under one leader,
    but a deposed leader answers Syncs, too."""

    beats: ClassVar[Beats] = (("sync",),)
    back: ClassVar[int] = 2


class TwoWrites(SyncThenWrite):
    """Beats by writes without a Sync before each. The leader has pinged between two of them, but
    the answer to that ping may still be under way."""

    beats: ClassVar[Beats] = (("write",),)


class TrustsTheLastWrite(SyncThenWrite):
    """Counts from the write that was answered, not from the one before it. The follower has noted
    that the client was active, but has not told its leader yet."""

    back: ClassVar[int] = 0


class TrustsAReconnect(SyncThenWrite):
    """Counts from a new connection without waiting for a write to be answered on it. A deposed
    leader takes up sessions, too."""

    def reconnected(self, sent_at: int, now: int) -> None:
        self._proved(sent_at, now)


class ForgetsNothing(SyncThenWrite):
    """Keeps its beats when the connection breaks. That does no harm: the ruling leader has heard of
    the session when it took the new connection, and that was later."""

    def disconnected(self) -> None:
        self.connect = None


class NoLatch(SyncThenWrite):
    """Says that the session lives after it has said that it may be over: an answer that comes late
    revives what its holder has given up."""

    def _proved(self, sent_at: int, now: int) -> None:
        self.deadline = max(self.deadline, sent_at + self.timeout)
