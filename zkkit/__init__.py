"""zkkit: teach, measure and trust coordination on ZooKeeper."""

from . import aio
from .recipes.herd import HerdLock
from .recipes.locks import Hold, ReentrantLock
from .session.blocking import Session, connect

__all__ = ["HerdLock", "Hold", "ReentrantLock", "Session", "aio", "connect"]
__version__ = "0.1.0"
