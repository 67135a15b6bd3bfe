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
    reap            the server removes an emptied container, or a TTL node whose time is over
    pause           the process of a holder stands still for longer than its session: the server
                    ends it, others go on, and then the holder does too, as though it still held
    lapse           the client's own clock ends what a session holds, but not the session: nothing
                    proved in time that the servers still keep it, and they do

Losing the connection wakes everybody who waits for a watch, as the session does. What follows from
a fault is no further fault: that a crashed session expires, that a client learns what happened,
that a follower catches up, and that a pause ends.

Whatever can go wrong by `pause` can go wrong by `expire` too: a pause is an expiry during which the
client does nothing. It is there to be asked for and told by its own name. (That a leader of
ZooKeeper fails is no fault here: nothing that was acknowledged is lost by it, so nobody sees it.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

KINDS = (
    "cancel", "crash", "expire", "give up", "request lost", "reply lost", "lag", "deadline", "reap",
    "pause", "lapse",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Faults:
    """Which faults, and how many of them together. `each` limits a kind further. `whom`: the names
    of the actors that they strike, and with them the sessions these live in; all, if none is
    named. What befalls the servers only (reap) is not limited by it."""

    at_most: int
    kinds: tuple[str, ...] = KINDS
    each: Mapping[str, int] | None = None
    whom: tuple[str, ...] = ()

    def budget(self, known: Sequence[str] = KINDS) -> tuple[int, ...]:
        """How many are left in all, then of each kind, in the order of those `known` to a world.
        ValueError if it knows nothing of a kind."""
        limits = self.each or {}
        unknown = {*self.kinds, *limits} - {*known}
        if unknown:
            raise ValueError(
                f"no such fault in this world: {', '.join(sorted(unknown))}; there are "
                f"{', '.join(known)}"
            )
        kinds = (
            min(self.at_most, limits.get(kind, self.at_most)) if kind in self.kinds else 0
            for kind in known
        )
        return (self.at_most, *kinds)

    def __str__(self) -> str:
        if not self.at_most:
            return "no faults"
        kinds = "any kind" if self.kinds == KINDS else ", ".join(self.kinds)
        each = {kind: n for kind, n in (self.each or {}).items() if n < self.at_most}
        limits = "".join(f", {kind} at most {n}" for kind, n in each.items())
        if each and set(each) == set(self.kinds) and len({*each.values()}) == 1:
            limits = f", each at most {next(iter(each.values()))}"
        strike = "strikes" if self.at_most == 1 else "strike"
        whom = f", which {strike} {' and '.join(self.whom)} only" if self.whom else ""
        return f"at most {self.at_most} fault{'s' * (self.at_most > 1)} of {kinds}{limits}{whom}"


NO_FAULTS = Faults(0)
CANCEL = Faults(1, ("cancel",))


def one(*kinds: str, whom: Sequence[str] = ()) -> Faults:
    """Lets happen at most one fault of these kinds (of any kind, if none is named)."""
    return Faults(1, kinds or KINDS, whom=_names(whom))


def every(*, whom: Sequence[str] = (), **limits: int) -> Faults:
    """So many of each kind: `every(lag=1, reply_lost=1)`."""
    each = {kind.replace("_", " "): count for kind, count in limits.items()}
    return Faults(sum(each.values()), tuple(each), each, _names(whom))


def _names(whom: Sequence[str]) -> tuple[str, ...]:
    return (whom,) if isinstance(whom, str) else tuple(whom)
