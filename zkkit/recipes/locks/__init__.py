"""Locks that wake one waiter at a time."""

from ..line import Place, Turn, first_n
from .hold import Hold
from .lock import Lock
from .multi import MultiHold, MultiLock
from .readwrite import ReadWriteLock
from .reentrant import ReentrantLock
from .revoking import revoke
from .semaphore import Lease, Leases, Semaphore
from .statistics import Statistics

__all__ = [
    "Hold", "Lease", "Leases", "Lock", "MultiHold", "MultiLock", "Place", "ReadWriteLock",
    "ReentrantLock", "Semaphore", "Statistics", "Turn", "first_n", "revoke",
]  # fmt: skip
