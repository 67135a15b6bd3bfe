"""Numbers and values that several processes share."""

from .atomic import AtomicResult, AtomicStatistics, PromotedToLock
from .atomic_number import AtomicFloat, AtomicInt, AtomicLong
from .atomic_value import AtomicValue
from .cached import CachedAtomicInt, CachedAtomicLong
from .shared_count import SharedCount
from .shared_value import SharedValue, Versioned

__all__ = [
    "AtomicFloat", "AtomicInt", "AtomicLong", "AtomicResult", "AtomicStatistics", "AtomicValue",
    "CachedAtomicInt", "CachedAtomicLong", "PromotedToLock", "SharedCount", "SharedValue",
    "Versioned",
]  # fmt: skip
