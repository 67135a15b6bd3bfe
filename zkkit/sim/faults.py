"""What can go wrong, and how often.

    cancel          the actor is cancelled where it stands; its requests under way still arrive
    crash           the process is gone; its session stays until the server expires it, later
    expire          the server ends the session; the client learns of it later, and may do things
                    before it does
    give up         the client's own clock ends the session; the server expires it later
    request lost    the connection breaks before the next request arrives
    reply lost      the connection breaks after it was applied
    lag             the session's follower falls behind; it catches up one change at a time
    deadline        a `Within` runs out
    reap            the server removes an emptied container
    pause           the process of a holder stands still for longer than its session: the server
                    ends it, others go on, and then the holder does too, as though it still held
    lapse           the client's own clock ends what a session holds, but not the session: nothing
                    proved in time that the servers still keep it, and they do
    failover        only in a replicated store: a replica takes the primary's place (that a leader
                    of ZooKeeper fails loses nothing that was acknowledged: nobody sees it)

Losing the connection wakes everybody who waits for a watch, as the session does. What follows from
a fault is no further fault: that a crashed session expires, that a client learns what happened,
that a follower catches up, and that a pause ends.

`pause` comes to nothing that `expire` could not come to as well: it is the same without anything
that the client might do meanwhile. It is there to be asked for and told by its own name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

KINDS = (
    "cancel", "crash", "expire", "give up", "request lost", "reply lost", "lag", "deadline", "reap",
    "pause", "failover", "lapse",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Faults:
    """Which faults, and how many of them together. `each` limits a kind further."""

    at_most: int
    kinds: tuple[str, ...] = KINDS
    each: Mapping[str, int] | None = None

    def __post_init__(self) -> None:
        unknown = {*self.kinds, *(self.each or ())} - set(KINDS)
        if unknown:
            raise ValueError(f"no such fault: {', '.join(sorted(unknown))}")

    def budget(self) -> tuple[int, ...]:
        """How many are left in all, then of each kind, in the order of KINDS."""
        limits = self.each or {}
        kinds = (
            min(self.at_most, limits.get(kind, self.at_most)) if kind in self.kinds else 0
            for kind in KINDS
        )
        return (self.at_most, *kinds)

    def __str__(self) -> str:
        if not self.at_most:
            return "no faults"
        kinds = "any kind" if self.kinds == KINDS else ", ".join(self.kinds)
        limits = "".join(f", {kind} at most {n}" for kind, n in (self.each or {}).items())
        return f"at most {self.at_most} fault{'s' * (self.at_most > 1)} of {kinds}{limits}"


NO_FAULTS = Faults(0)
CANCEL = Faults(1, ("cancel",))


def one(*kinds: str) -> Faults:
    """At most one fault of these kinds (of any kind, if none is named)."""
    return Faults(1, kinds or KINDS)


def every(**limits: int) -> Faults:
    """So many of each kind: `every(lag=1, reply_lost=1)`."""
    each = {kind.replace("_", " "): count for kind, count in limits.items()}
    return Faults(sum(each.values()), tuple(each), each)
