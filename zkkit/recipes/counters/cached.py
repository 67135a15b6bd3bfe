"""Numbers from a counter, a block at a time: Curator's CachedAtomicLong and CachedAtomicInteger.

    <path>                            the counter's node: the number that the next block begins at

1. There are numbers left of the blocks that were reserved here: give the next one, without asking.
2. Else add the size of a block to the counter: the numbers in between are ours. Go to 1.

What is left of the blocks is in the session's table, so any number of threads, greenlets and tasks
may share one of these (Curator's may not). Guarantee: no number is given twice, by whomever.
Several who find nothing left reserve a block each. Not guaranteed: that every number is given. What
is left when the session is closed is lost, and so is a block whose reply was lost with its session
(OutcomeUnknown): gaps, never doubles. Nor do numbers come in order among several processes.

Cost: 2 flights for a block.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ...scripting import Recipe, S, script
from ...steps import Recall, Remember, Script
from ..arguments import check_count
from .atomic import AtomicResult, AtomicStatistics
from .atomic_number import AtomicInt, AtomicLong, AtomicNumber


class CachedNumber(Recipe[S]):
    """Base of the two: numbers of a counter, `block` of them reserved at a time. Raises ValueError
    for a counter of another kind."""

    _kind: ClassVar[type[AtomicNumber[Any, int]]]

    def __init__(self, counter: AtomicNumber[S, int], block: int) -> None:
        if not isinstance(counter, self._kind):
            raise ValueError(
                f"a {type(self).__name__} takes its numbers from an {self._kind.__name__}, not "
                f"from {counter!r}"
            )
        super().__init__(counter.session, counter.path)
        check_count("block", block)
        self._counter = counter
        self._block = block

    @script
    def next(self) -> Script[AtomicResult[int]]:
        """The next number: `before`, and `after` it comes the one after. It has not `succeeded` if
        others were quicker at the counter again and again. Raises as `AtomicLong.add`."""
        spent = AtomicStatistics()
        if not (yield from Recall(self)):
            reserved = yield from self._counter.add.of(self._block)
            if not reserved.succeeded:
                return reserved
            spent = reserved.statistics
            blocks = (yield from Recall(self)) or ()  # others may have reserved meanwhile
            yield from Remember(self, (*blocks, range(reserved.before, reserved.after)))
        (first, *others) = yield from Recall(self)
        left = (first[1:], *others) if first[1:] else tuple(others)
        yield from Remember(self, left or None)
        return AtomicResult(True, first[0], first[0] + 1, spent)


class CachedAtomicLong(CachedNumber[S]):
    """Numbers from an AtomicLong (CachedAtomicLong)."""

    _kind = AtomicLong

    def __init__(self, counter: AtomicLong[S], block: int) -> None:
        super().__init__(counter, block)


class CachedAtomicInt(CachedNumber[S]):
    """Numbers from an AtomicInt (CachedAtomicInteger)."""

    _kind = AtomicInt

    def __init__(self, counter: AtomicInt[S], block: int) -> None:
        super().__init__(counter, block)
