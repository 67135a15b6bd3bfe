"""Locks that wake one waiter at a time."""

from .hold import Hold
from .reentrant import ReentrantLock

__all__ = ["Hold", "ReentrantLock"]
