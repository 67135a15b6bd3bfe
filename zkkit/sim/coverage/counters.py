"""Counters and shared values: two or three actors that each change a value once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

from ...errors import BadVersion, ConnectionLost, OutcomeUnknown, TimedOut
from ...recipes.counters import AtomicLong, CachedAtomicLong, SharedCount
from ...recipes.counters.forms import INT, LONG, Form
from ...recipes.long_lived import Life
from ...recipes.shared import until_answered
from ...retry import NEVER, NTimes
from ...steps import Data, Get, Recall, Remember, Script, Set, Spawned, Within
from ..properties import (
    DoubtsWithReason,
    EndsWell,
    History,
    NoLostWakeup,
    SomebodySays,
    of_a_cache,
    of_a_counter,
)
from ..properties.base import View
from ..state import Fact
from ..steps import Say
from ..tree import StartNode
from ..world import SimSession
from .cast import LOST, Begin, Cast
from .cast import Life as Lives

PATH = "/c"
RECEIPTS = f"{PATH}-receipts"
TRIES = NTimes(9)
"""More than two or three of them ever need: whoever fails lost to another one's change."""


def _value(form: Form[int], data: bytes) -> int:
    """The number in a node's data."""
    return form.decode(data) if data else 0


def timed(deadline: float | None, body: Script[Any]) -> Script[Any]:
    """The result; None if the time is up."""
    if deadline is None:
        return (yield from body)
    try:
        return (yield from Within(deadline, body))
    except TimedOut:
        return None


# --- lives ----------------------------------------------------------------------------------


def adding(make: Callable[[SimSession], AtomicLong[SimSession]], amount: int = 1) -> Lives:
    """Adds so much, and says what came of it."""

    def live(session: SimSession) -> Begin:
        counter = make(session)

        def begin(deadline: float | None) -> Script[None]:
            yield from Say("adds", amount)
            result = yield from timed(deadline, counter.add.of(amount))
            if result is None:
                return
            if result.succeeded:
                assert result.after == result.before + amount
                yield from Say("added", amount)
            else:
                yield from Say("adds", -amount)  # nothing was changed, it says

        return begin

    return live


def adding_as_others_do(session: SimSession) -> Begin:
    """Reads, and writes one more by the version, without a receipt: as Java does. What it cannot
    know it lets be."""

    def begin(deadline: float | None) -> Script[None]:
        yield from Say("adds", 1)
        while True:
            found = yield from until_answered(Get(PATH))
            try:
                more = LONG.encode(LONG.read(PATH, found) + 1)
                done = yield from timed(deadline, iter(Set(PATH, more, found.stat.version)))
                if done is not None:
                    yield from Say("added", 1)
                return
            except BadVersion:
                continue
            except ConnectionLost:
                return

    return begin


def swapping(session: SimSession) -> Begin:
    """Replaces nothing by one, if nothing is there: of several one does."""
    value = AtomicLong(session, PATH, retry=TRIES)

    def begin(deadline: float | None) -> Script[None]:
        yield from Say("adds", 1)
        result = yield from timed(deadline, value.compare_and_set.of(0, 1))
        if result is not None:
            yield from (Say("added", 1) if result.succeeded else Say("adds", -1))

    return begin


def initializing(session: SimSession) -> Begin:
    """Creates the node with a one in it, if there is none: of several one does."""
    value = AtomicLong(session, PATH)

    def begin(deadline: float | None) -> Script[None]:
        yield from Say("adds", 1)
        made = yield from timed(deadline, value.initialize.of(1))
        if made is not None:
            yield from (Say("added", 1) if made else Say("adds", -1))

    return begin


def setting_by_version(session: SimSession) -> Begin:
    """Sets the count to one more, if nobody has set it since it was read."""
    count = SharedCount(session, PATH)

    def begin(deadline: float | None) -> Script[None]:
        done: bool | None = False
        while done is False:
            read = yield from count.get_versioned.of()
            yield from Say("adds", 1)
            done = yield from timed(deadline, count.try_set.of(read, read.value + 1))
            if done is not None:
                yield from (Say("added", 1) if done else Say("adds", -1))

    return begin


@lru_cache(maxsize=1)
def _numbers(session: SimSession) -> CachedAtomicLong[SimSession]:
    """What all actors of a session share."""
    return CachedAtomicLong(AtomicLong(session, PATH, retry=TRIES), 2)


def taking_numbers(session: SimSession) -> Begin:
    """Takes two numbers, of which two are reserved at a time."""
    numbers = _numbers(session)

    def begin(deadline: float | None) -> Script[None]:
        for _ in range(2):
            taken = yield from timed(deadline, numbers.next.of())
            if taken is not None and taken.succeeded:
                yield from Say("takes", taken.before)

    return begin


def _twice(facts: Sequence[Fact], view: View) -> str | None:
    taken = [fact.outcome for fact in facts if fact.what == "takes"]
    return None if len(taken) == len(set(taken)) else f"a number was given twice: {taken}"


class Shown(SharedCount[SimSession]):
    """A count that says what it shows, and what it tells."""

    def _follow(self, found: Data) -> Script[None]:
        yield from super()._follow(found)
        yield from Say("sees", self.read((yield from Recall((self, "seen")))))

    def _tell_of(self, found: Data) -> Script[None]:
        yield from Say("event", self.read(found))
        yield from super()._tell_of(found)


def following(session: SimSession) -> Begin:
    """Follows the count for ever."""
    count = Shown(session, PATH)

    def begin(deadline: float | None) -> Script[None]:
        # not by `start`: whoever shows it is to be who follows it
        yield from Remember(count, Life(Spawned(0)))
        yield from count._go_on()

    return begin


def setting(*values: int) -> Lives:
    """Sets the count to these, one after the other."""

    def live(session: SimSession) -> Begin:
        count = SharedCount(session, PATH)

        def begin(deadline: float | None) -> Script[None]:
            for value in values:
                yield from timed(deadline, count.set.of(value))

        return begin

    return live


# --- the casts --------------------------------------------------------------------------------

_UNKNOWN = (*LOST, OutcomeUnknown)
_COUNTS = (*of_a_counter(PATH, partial(_value, LONG), fails=_UNKNOWN), DoubtsWithReason())
_FOLLOWS = of_a_cache(PATH, partial(_value, INT), fails=LOST)
_SETS = (*of_a_counter(PATH, partial(_value, INT), fails=_UNKNOWN), DoubtsWithReason())
_ONCE = (
    History("no number is given twice", _twice, "said"),
    NoLostWakeup(),
    EndsWell(*_UNKNOWN),
    SomebodySays("takes"),
)
_THERE = (StartNode(PATH, LONG.encode(0)), RECEIPTS)
_COUNT = (StartNode(PATH, INT.encode(0)), RECEIPTS)
_ADD = adding(lambda s: AtomicLong(s, PATH, retry=TRIES))
_PROMOTED = adding(lambda s: AtomicLong(s, PATH, retry=NEVER, promoted_to="/lock"))

FAMILIES: dict[str, tuple[Cast, ...]] = {
    "counter": (
        *[
            Cast("AtomicLong", (_ADD,) * count, _COUNTS, _THERE, shared=shared)
            for count in (2, 3)
            for shared in (False, True)
        ],
        Cast("AtomicLong, no node yet", (_ADD,) * 2, _COUNTS, ()),
        Cast("AtomicLong, beside Java's", (_ADD, _ADD, adding_as_others_do), _COUNTS, _THERE),
        Cast("AtomicLong, promoted to a lock", (_PROMOTED,) * 2, _COUNTS, (*_THERE, "/lock")),
        Cast("AtomicLong, compare and set", (swapping,) * 2, _COUNTS, _THERE),
        Cast("AtomicLong, initialize", (initializing,) * 2, _COUNTS, (RECEIPTS,)),
        Cast("CachedAtomicLong", (taking_numbers,) * 2, _ONCE, _THERE),
        Cast("CachedAtomicLong", (taking_numbers,) * 2, _ONCE, _THERE, shared=True),
    ),
    "shared value": (
        Cast("SharedCount, by version", (setting_by_version,) * 2, _SETS, _COUNT),
        Cast("SharedCount, by version", (setting_by_version,) * 2, _SETS, _COUNT, shared=True),
        Cast("SharedCount, set and followed", (setting(1, 2), following), _FOLLOWS, _COUNT),
        Cast(
            "SharedCount, followed by two", (setting(1, 2), following, following), _FOLLOWS, _COUNT
        ),
    ),
}
