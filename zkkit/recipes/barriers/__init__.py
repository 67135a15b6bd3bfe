"""Barriers: a gate that one opens, and a meeting that all come to and leave together."""

from .barrier import Barrier
from .double import DoubleBarrier

__all__ = ["Barrier", "DoubleBarrier"]
