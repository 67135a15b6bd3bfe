"""Counters: Curator's DistributedAtomicLong and DistributedAtomicInteger, on the same nodes, and
kazoo's Counter.

    <path>                            persistent; the number:

    AtomicLong                        eight bytes, big-endian, signed
    AtomicLong(layout="kazoo")        decimal digits, as kazoo's Counter writes whole numbers
    AtomicInt                         four bytes: Curator's SharedCount may share them, and so may
                                      kazoo's Counter(support_curator=True)
    AtomicFloat                       digits, as kazoo's Counter(default=0.0) writes them

Steps, guarantees and costs are those of atomic.py: **each addition counts once**. A number that its
node cannot hold is refused (CounterUsedUp); Java's would go on at the other end. A node that holds
something else is reported by its path (CorruptData).
"""

from __future__ import annotations

from typing import TypeVar

from ...retry import RetryPolicy
from ...scripting import S, script
from ...steps import Script
from ..arguments import check_choice
from .atomic import PATIENT, Atomic, AtomicResult, PromotedToLock
from .forms import FLOAT, INT, NUMBERS

N = TypeVar("N", int, float)


class AtomicNumber(Atomic[S, N]):
    """Base of the counters (DistributedAtomicNumber). All changes raise as `compare_and_set`, and
    CounterUsedUp if the node cannot hold the result."""

    @script
    def add(self, amount: N) -> Script[AtomicResult[N]]:
        """Add so much, once. Raises as `compare_and_set`; CounterUsedUp if it does not fit."""
        self._form.check(amount)
        return self._change(lambda now: now + amount)

    @script
    def subtract(self, amount: N) -> Script[AtomicResult[N]]:
        """Subtract so much, once. Raises as `add`."""
        self._form.check(amount)
        return self._change(lambda now: now - amount)

    @script
    def increment(self) -> Script[AtomicResult[N]]:
        """Add one, once. Raises as `add`."""
        return self._change(lambda now: now + 1)

    @script
    def decrement(self) -> Script[AtomicResult[N]]:
        """Subtract one, once. Raises as `add`."""
        return self._change(lambda now: now - 1)


class AtomicLong(AtomicNumber[S, int]):
    """An integer of 64 bits, changed by one at a time (DistributedAtomicLong); with
    `layout="kazoo"` one of any size, beside kazoo's Counter. Raises ValueError if there is no such
    layout."""

    def __init__(
        self,
        session: S,
        path: str,
        *,
        retry: RetryPolicy = PATIENT,
        promoted_to: str | PromotedToLock | None = None,
        layout: str = "curator",
    ) -> None:
        super().__init__(session, path, retry=retry, promoted_to=promoted_to)
        check_choice("layout", layout, tuple(NUMBERS))
        self._form = NUMBERS[layout]


class AtomicInt(AtomicNumber[S, int]):
    """An integer of 32 bits, changed by one at a time (DistributedAtomicInteger)."""

    _form = INT


class AtomicFloat(AtomicNumber[S, float]):
    """A number that need not be whole, beside kazoo's Counter; Curator has none."""

    _form = FLOAT
