"""Wrong answers beyond the gallery's: one mistake each, and the property that must catch it for its
own reason. One module for each family. The right answer of each is the one it derives from."""

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
    vacuous,
)

_MODULES = (
    locks, readers, leases, elections, counters, barriers, double_barriers, queues, caches, groups,
)  # fmt: skip
ANSWERS = tuple(answer for module in _MODULES for answer in module.ANSWERS)
VACUOUS = vacuous.ANSWERS
