"""A gallery of broken twins: one mistake each, and the faults that bring it to light.

Every mistake has been made, here or by others. A twin is explored together with the right way to do
it: the same world, the same faults, the same properties. If a twin passes, the explorer is worth
nothing; if the right one is caught, it lies.

    for twin in ALL:
        print(twin.name, explore(twin.broken(), twin.properties(), faults=twin.faults))

There is one module for each family: its right answers (RIGHT), in at least two styles, each held
by what is asked of the family under every fault; and its mistakes (TWINS), each made in one of
them. BY_FAMILY has the twins by family, in the order in which they are best read.
"""

from __future__ import annotations

from . import (
    barriers,
    caches,
    counters,
    double_barriers,
    elections,
    groups,
    leases,
    locks,
    queues,
    readers,
    stores,
)
from .twin import Right, Twin

__all__ = ["ALL", "BY_FAMILY", "OTHERS", "RIGHT", "TWINS", "Right", "Twin"]

_MODULES = (
    locks, readers, leases, elections, stores, counters, barriers, double_barriers, queues, caches,
    groups,
)  # fmt: skip

BY_FAMILY: dict[str, tuple[Twin, ...]] = {module.FAMILY: module.TWINS for module in _MODULES}
"""The twins of each family."""
RIGHT: tuple[Right, ...] = tuple(each for module in _MODULES for each in module.RIGHT)
"""The right answers of all families."""
TWINS: tuple[Twin, ...] = locks.TWINS
"""Locks."""
OTHERS: tuple[Twin, ...] = tuple(
    twin for module in _MODULES if module is not locks for twin in module.TWINS
)
"""All other families."""
ALL = (*TWINS, *OTHERS)
