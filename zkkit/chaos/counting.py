"""Actors that count: each adds one to a counter, again and again, and writes down what it is told
of each addition. One of the counters is a shared count, set where nobody has set it meanwhile; of
another one numbers are given out, a block at a time. What the counters hold in the end is read when
all processes have ended.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from zkkit import AtomicLong, CachedAtomicLong, Session, SharedCount
from zkkit.chaos.actors import CLOSE, PROMISED, ActorInStorm
from zkkit.chaos.ground import settled
from zkkit.chaos.scene import COUNTER, NUMBERS, ROOT, SHARED_COUNT
from zkkit.errors import OutcomeUnknown
from zkkit.steps import Sync

_BLOCK = 5  # numbers: small, so that many blocks are reserved


class AddOne(NamedTuple):
    """One is added to this counter by calling this."""

    counter: str
    call: Callable[[], Any]


class _Result(NamedTuple):
    """What came of setting a shared count."""

    succeeded: bool
    before: int
    after: int


def ways_to_add(session: Any) -> dict[str, AddOne]:
    """How each of the actors that count adds one, by actor. Two share the blocks they reserve."""
    shared = SharedCount(session, SHARED_COUNT)
    numbers = CachedAtomicLong(AtomicLong(session, NUMBERS), _BLOCK)
    return {
        "counter": AddOne(COUNTER, AtomicLong(session, COUNTER).increment),
        "shared-count": AddOne(SHARED_COUNT, partial(_set_one_higher, shared)),
        "number-1": AddOne(NUMBERS, numbers.next),
        "number-2": AddOne(NUMBERS, numbers.next),
    }


async def _set_one_higher(shared: SharedCount[Any]) -> _Result:
    found = await settled(shared.get_versioned())
    after = found.value + 1
    return _Result(await settled(shared.try_set(found, after)), found.value, after)


class CountingActor(ActorInStorm):
    """Adds one at a time, in the storm, and once more in the calm."""

    async def live(self, one: AddOne) -> None:
        """Count until the storm is over and one more addition has succeeded."""
        while self._storms():
            await self._surely(self._add(one))
            await self._sleep(0.05, 0.3)
        while self.phase.read() != CLOSE and not await self._surely(self._add(one)):
            await self._sleep(0.02, 0.1)

    async def _add(self, one: AddOne) -> bool:
        self.attempts += 1
        attempt = self.attempts
        self._note(attempt, "add", counter=one.counter)
        try:
            result = await settled(one.call())
        except (OutcomeUnknown, *PROMISED) as error:
            self._note(attempt, "unknown", why=type(error).__name__)
            return False
        if not result.succeeded:  # others were quicker, too often
            self._note(attempt, "unadded")
            return False
        self._note(attempt, "added", before=result.before, after=result.after)
        return True


def count(session: Session) -> dict[str, int]:
    """What each counter holds. The server we ask has seen all that was written before."""
    session.run(Sync(ROOT))
    return {
        COUNTER: AtomicLong(session, COUNTER).get(),
        SHARED_COUNT: SharedCount(session, SHARED_COUNT).get(),
        NUMBERS: AtomicLong(session, NUMBERS).get(),
    }
