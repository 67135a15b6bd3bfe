"""Which worlds of the recipes are explored, by family of recipes: `zkkit sim coverage`.

Every recipe, two or three actors, and at most one fault of each kind: all interleavings, or where
that is too much, those with few preemptions. A new family is a module here that has FAMILIES, its
casts by name.
"""

from __future__ import annotations

import itertools

from . import barriers, caches, counters, elections, locks, watchers
from .cast import FAULTS, Cast, widened

__all__ = ["CASTS", "COVERED", "FAULTS", "Cast", "widened"]

COVERED: dict[str, tuple[Cast, ...]] = {
    **locks.FAMILIES,
    **elections.FAMILIES,
    **barriers.FAMILIES,
    **counters.FAMILIES,
    **watchers.FAMILIES,
    **caches.FAMILIES,
}
"""The casts of each family of recipes."""

CASTS = tuple(itertools.chain(*COVERED.values()))
