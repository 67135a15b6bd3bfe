"""zkkit: teach, measure and trust coordination on ZooKeeper.

    with zkkit.connect("host1:2181,host2:2181,host3:2181") as session:
        with zkkit.ReentrantLock(session, "/shop/stock") as hold:
            ...

The plan of the house, from the ground up; nothing imports upwards:

    steps, errors, paths, hosts,    the vocabulary: what scripts ask for, and what can go wrong
      retry, hooks, scripting
    recipes, recipe                 the recipes, each a script of steps; the names to write one with
    kernel                          the rules by which a script is run, wherever it runs
    session, aio                    runs scripts on a real ensemble: threads, gevent, asyncio
    sim                             runs the same scripts in a model, and explores what can happen
    record                          the recorder: events, counts, frames
    check                           verdicts over what was written down
    ensemble                        starts, stops and breaks real servers
    show                            pictures, tables, progress
    bench                           experiments, one package each
    notebook                        what the walkthroughs use
    testing                         for your own tests: fixtures, a proxy that loses replies, expiry
    chaos                           a storm of faults over every kind of recipe
    cli                             `zkkit ...`
"""

from . import aio
from .recipes.barriers import Barrier, DoubleBarrier
from .recipes.caches import (
    Cache,
    CachedNode,
    CacheEvent,
    CacheListener,
    ChildrenCache,
    NodeCache,
    TreeCache,
)
from .recipes.caches.children_watch import ChildrenWatch
from .recipes.caches.data_watch import DataWatch
from .recipes.caches.persistent_watcher import PersistentWatcher
from .recipes.counters import (
    AtomicFloat,
    AtomicInt,
    AtomicLong,
    AtomicResult,
    AtomicValue,
    CachedAtomicInt,
    CachedAtomicLong,
    PromotedToLock,
    SharedCount,
    SharedValue,
    Versioned,
)
from .recipes.elections import LeaderLatch, LeaderSelector, Leadership
from .recipes.herd import ChildrenWatchLock, HerdElection, HerdLock, HerdReadWriteLock
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
    # sessions
    "connect", "aio", "Session",
    # locks, and what acquiring gives
    "ReentrantLock", "Lock", "ReadWriteLock", "Semaphore", "MultiLock", "Hold", "Lease", "revoke",
    # elections, and what being elected gives
    "LeaderLatch", "LeaderSelector", "Leadership",
    # barriers
    "Barrier", "DoubleBarrier",
    # counters and values, and what changing and following them gives
    "AtomicLong", "AtomicInt", "AtomicFloat", "AtomicValue", "CachedAtomicLong", "CachedAtomicInt",
    "SharedCount", "SharedValue", "AtomicResult", "Versioned", "PromotedToLock",
    # watchers
    "PersistentWatcher", "DataWatch", "ChildrenWatch",
    # caches, and what they hold and tell
    "Cache", "NodeCache", "ChildrenCache", "TreeCache", "CachedNode", "CacheEvent", "CacheListener",
    # designs to compare with, not to use
    "HerdLock", "ChildrenWatchLock", "HerdReadWriteLock", "HerdElection",
]  # fmt: skip
__version__ = "0.1.0"
