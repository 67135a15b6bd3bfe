"""The designs to avoid, built with care so that they can be measured."""

from .children_watch import ChildrenWatchLock
from .election import HerdElection
from .lock import HerdLock
from .read_write import HerdReadWriteLock

__all__ = ["ChildrenWatchLock", "HerdElection", "HerdLock", "HerdReadWriteLock"]
