"""The casts of the barriers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import NotInside
from ...recipes.barriers import Barrier, DoubleBarrier
from ...steps import Script
from ..properties import (
    NobodyIsLeftOutside,
    NobodyLeavesEarly,
    NothingLeft,
    Property,
    of_a_barrier,
    of_a_double_barrier,
)
from ..steps import Say, Work
from ..world import SimSession
from .cast import LOST, Begin, Cast, Life

PATH = "/l"


def opening(session: SimSession) -> Begin:
    """Opens the barrier, in its own time."""
    gate = Barrier(session, PATH)

    def begin(deadline: float | None) -> Script[None]:
        yield from Work()
        yield from Say("arrives")
        yield from gate.remove.of()

    return begin


def waiting(session: SimSession) -> Begin:
    """Waits until the barrier is open."""
    gate = Barrier(session, PATH)

    def begin(deadline: float | None) -> Script[None]:
        if (yield from gate.wait.of(timeout=deadline)):
            yield from Say("passes")

    return begin


def meeting(
    members: int,
    *,
    make: Callable[[SimSession, str, int], Any] = DoubleBarrier,
    rounds: int = 1,
    works: bool = True,
) -> Life:
    """Goes in, works (or not), and comes out; so many times, each in words of its own. Whoever does
    not get in or out in time gives up."""

    def live(session: SimSession) -> Begin:
        barrier = make(session, PATH, members)

        def begin(deadline: float | None) -> Script[None]:
            for which in ("", " again")[:rounds]:
                yield from Work()
                yield from Say("arrives" + which)
                if not (yield from barrier.enter.of(timeout=deadline)):
                    return
                yield from Say("passes" + which)
                try:
                    if works:
                        yield from Work()
                finally:
                    yield from Say("leaves" + which)
                    out = yield from barrier.leave.of(timeout=deadline)
                if not out:
                    return
                yield from Say("left" + which)

        return begin

    return live


def of_members(count: int, rounds: int = 1) -> tuple[Property, ...]:
    """What is asked of a double barrier, of each round."""
    fails = (*LOST, NotInside)  # whose session was lost inside
    again = of_a_double_barrier(count, which=" again", fails=fails) if rounds > 1 else ()
    return (*of_a_double_barrier(count, fails=fails), *again, NothingLeft(while_holding=False))


def of_more(count: int) -> tuple[Property, ...]:
    """The same where more come than are counted: who comes when all have gone waits, rightly."""
    otherwise = (NobodyIsLeftOutside, NobodyLeavesEarly)
    asked = [each for each in of_members(count) if not isinstance(each, otherwise)]
    return (NobodyLeavesEarly(count, more=True), *asked)


_GATE = of_a_barrier(path=PATH, fails=LOST)
_OF_TWO = meeting(2)
_TWICE = meeting(2, rounds=2)
_OF_THREE = meeting(3, works=False)
_ONE_MORE = meeting(2, works=False)

FAMILIES: dict[str, tuple[Cast, ...]] = {
    "barrier": (
        Cast("Barrier, one opens it", (opening, waiting), _GATE),
        Cast("Barrier, one opens it", (opening, waiting), _GATE, shared=True),
        Cast("Barrier, one opens it", (opening, waiting, waiting), _GATE),
        Cast("Barrier, two open it", (opening, opening, waiting), _GATE),
    ),
    "double barrier": (
        Cast("DoubleBarrier of two", (_OF_TWO,) * 2, of_members(2)),
        Cast("DoubleBarrier of two", (_OF_TWO,) * 2, of_members(2), shared=True),
        Cast("DoubleBarrier of two, two rounds", (_TWICE,) * 2, of_members(2, 2), preemptions=2),
        Cast("DoubleBarrier of three", (_OF_THREE,) * 3, of_members(3), preemptions=1),
        Cast("DoubleBarrier of two, three come", (_ONE_MORE,) * 3, of_more(2), preemptions=1),
    ),
}
