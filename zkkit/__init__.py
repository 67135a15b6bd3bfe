"""zkkit: teach, measure and trust coordination on ZooKeeper."""

from . import aio
from .recipes.counters import SharedCount
from .recipes.herd import ChildrenWatchLock, HerdLock, HerdReadWriteLock
from .recipes.locks import (
    Hold,
    Lease,
    Lock,
    MultiLock,
    ReadWriteLock,
    ReentrantLock,
    Semaphore,
    revoke,
)
from .session.blocking import Session, connect

__all__ = [
    "ChildrenWatchLock", "HerdLock", "HerdReadWriteLock", "Hold", "Lease", "Lock", "MultiLock",
    "ReadWriteLock", "ReentrantLock", "Semaphore", "Session", "SharedCount", "aio", "connect",
    "revoke",
]  # fmt: skip
__version__ = "0.1.0"
