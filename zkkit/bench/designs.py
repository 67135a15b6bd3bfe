"""The designs to compare, each with the law that says what it costs.

One holder at the gate, N contenders queued behind it, each acquiring once:

    sequential   each release fires the one watch of the contender next in line: N fires, N creates
    herd         each release fires the watch of everybody still waiting: N + (N-1) + ... + 1 at
                 most, and each of them sends one more create

"At most", because a contender that is slow to look again may miss a whole hold, and then has no
watch that could fire at its end. The laws are arithmetic: they hold on any machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from zkkit import HerdLock, ReentrantLock, Session
from zkkit.errors import ZkkitError
from zkkit.recipes.locks.owned import OwnedLock
from zkkit.scripting import Blocking

MakeLock = Callable[[Session, str], OwnedLock[Blocking]]


class UnknownDesign(ZkkitError, ValueError):
    """There is no design of that name."""


@dataclass(frozen=True)
class Term:
    """One count that a law predicts for N contenders, and how people write it."""

    formula: str
    of: Callable[[int], int]


@dataclass(frozen=True)
class Law:
    """What a design costs: fires and creates, exactly or at most."""

    fires: Term
    creates: Term
    exact: bool

    @property
    def relation(self) -> str:
        """How a measured count must stand to the predicted one."""
        return "exactly" if self.exact else "at most"

    def allows(self, measured: int, predicted: int) -> bool:
        """Whether a measured count obeys the law."""
        return measured == predicted if self.exact else measured <= predicted


@dataclass(frozen=True)
class Design:
    """One way to build a lock."""

    name: str
    lock: MakeLock
    law: Law
    does: str
    """What happens at a release, in a few words."""


_N = Term("N", lambda n: n)

SEQUENTIAL = Design(
    "sequential",
    lambda session, path: ReentrantLock(session, path),
    Law(fires=_N, creates=_N, exact=True),
    "each contender watches the one before it: a release wakes one",
)
HERD = Design(
    "herd",
    lambda session, path: HerdLock(session, path),
    Law(
        fires=Term("N(N+1)/2", lambda n: n * (n + 1) // 2),
        creates=Term("N(N+3)/2", lambda n: n * (n + 3) // 2),
        exact=False,
    ),
    "all contenders watch one node: a release wakes them all",
)

DESIGNS = {design.name: design for design in (HERD, SEQUENTIAL)}


def named(name: str) -> Design:
    """The design of that name, or UnknownDesign with the names there are."""
    try:
        return DESIGNS[name]
    except KeyError:
        raise UnknownDesign(
            f"there is no design {name!r}", hint=f"the designs are {', '.join(DESIGNS)}"
        ) from None
