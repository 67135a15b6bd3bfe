"""Leases: so many may hold, and no more."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ...paths import join
from ...recipes.line import Place, first_n
from ...recipes.locks.hold import Hold
from ...recipes.locks.reentrant import ReentrantLock
from ...recipes.locks.semaphore import Semaphore
from ...recipes.shared import all_of, create_if_free, delete_ours, list_children, wait_for_change
from ...steps import Data, Guid, Node, Script, Wait
from ..faults import NO_FAULTS
from ..lives import contenders
from ..properties import of_leases
from .in_line import PATH, Holding, InLine, Names
from .locks import stand_in_line
from .twin import Right, Shelf, Twin, in_container, twin

LEASES = 2


class TwoLeases(Semaphore[Any]):
    """A semaphore of two."""

    def __init__(self, session: Any, path: str) -> None:
        super().__init__(session, path, 2)


class SleepsBesideAFreeLease(ReentrantLock[Any]):
    """Waits for the one whose place it would take, though any other's leaving would do (Curator's
    maxLeases)."""

    def __init__(self, session: Any, path: str) -> None:
        super().__init__(session, path, rule=first_n(2))


class CountsThenTakes(ReentrantLock[Any]):
    """Counts the leases taken before it takes one: others count at the same time."""

    def _contend(self, blocking: bool) -> Script[Hold[Any] | None]:
        while len((yield from list_children(self.path, watch=True))) >= 2:
            yield from Wait()
        node, _ = yield from stand_in_line(self.path, (yield from Guid()))
        return Hold(self, node)


class TakesALease(InLine):
    """Stands in line; the first two hold. Any holder's leaving will do, so it watches them all."""

    kind = "lease-"
    kinds = ("lease-",)

    def look(self) -> Script[Names]:
        return list_children(self.path, watch=True)

    def rule(self, ahead: Sequence[Place]) -> str | None:
        return ahead[-1].name if len(ahead) >= LEASES else None

    def outwait(self, path: str) -> Script[None]:
        yield from Wait()


class TakesASlot(Holding):
    """Two nodes with fixed names: whoever creates one of them holds; where both are taken it waits
    until something changes."""

    def life(self) -> Script[None]:
        """All of it, from coming to leaving."""
        mine = (yield from Guid()).encode()
        try:
            while (node := (yield from self.take(mine))) is None:
                yield from self.wait()
            yield from self.hold(node)
        except BaseException:
            yield from self.leave(mine)
            raise
        yield from self.leave(mine)

    def slots(self) -> tuple[str, ...]:
        """Their paths."""
        return tuple(join(self.path, f"slot-{number}") for number in range(LEASES))

    def take(self, mine: bytes) -> Script[Node | None]:
        """The first one that is free."""
        for slot in self.slots():
            node = yield from create_if_free(slot, mine)
            if node is not None:
                return node
        return None

    def wait(self) -> Script[None]:
        """Wait until one may be free."""
        if len((yield from list_children(self.path, watch=True))) >= LEASES:
            yield from Wait()

    def leave(self, mine: bytes) -> Script[None]:
        """Delete what is ours."""
        return all_of(partial(delete_ours, slot, partial(_is, mine)) for slot in self.slots())


def _is(mine: bytes, found: Data) -> bool:
    return found.data == mine


class WaitsForOneSlot(TakesASlot):
    """Waits for the first slot only: the other one may be free."""

    def wait(self) -> Script[None]:
        yield from wait_for_change(self.slots()[0])


class LetsOneMoreIn(TakesALease):
    """Counts itself out: one more than there are leases."""

    def rule(self, ahead: Sequence[Place]) -> str | None:
        return ahead[-1].name if len(ahead) > LEASES else None


# --- the table ------------------------------------------------------------------------------

FAMILY = "semaphore"


_asked = partial(of_leases, LEASES)


def _lock(broken: type[Any], breaks: str, teaches: str) -> Twin:
    right = partial(contenders, TwoLeases, 3, below=("locks", "leases"))
    worlds = partial(contenders, broken, 3), right
    return twin(broken, worlds, NO_FAULTS, breaks, _asked, FAMILY, teaches)


_IN_LINE = Shelf(FAMILY, _asked, partial(in_container, count=3), TakesALease(PATH))
_SLOTS = _IN_LINE.but(right=TakesASlot(PATH))

RIGHT = (
    Right(
        "Semaphore",
        FAMILY,
        "zkkit's own",
        partial(contenders, TwoLeases, below=("locks", "leases")),
        _asked,
    ),
    Right(
        "TakesALease",
        FAMILY,
        "stand in line, watch all",
        partial(in_container, TakesALease(PATH)),
        _asked,
    ),
    Right("TakesASlot", FAMILY, "two fixed names", partial(in_container, TakesASlot(PATH)), _asked),
)
TWINS = (
    _lock(
        SleepsBesideAFreeLease,
        "nobody sleeps beside a free lease",
        "Holders leave in any order: watch whatever can make room, not one of them.",
    ),
    _lock(
        CountsThenTakes,
        "at most 2",
        "Look after you have taken your place: between a look and a write others do the same.",
    ),
    _IN_LINE.wrong(
        LetsOneMoreIn, NO_FAULTS, "at most 2", "Count those ahead: the limit is reached before you."
    ),
    _SLOTS.wrong(
        WaitsForOneSlot,
        NO_FAULTS,
        "nobody sleeps beside a free lease",
        "Wait for all that would do, not for the first of them.",
    ),
)
