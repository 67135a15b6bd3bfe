"""zkkit's locks, to be measured: the same names as in kazoo_locks.py."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import zkkit
from zkkit.bench.locks.plan import LEASES
from zkkit.session.options import BUSY_TIMEOUT

VERSION = zkkit.__version__
RACES: dict[str, Callable[[Any, str], Any]] = {
    "mutex": zkkit.ReentrantLock,
    "lock": zkkit.Lock,
    "semaphore": partial(zkkit.Semaphore, limit=LEASES),
    "read": lambda session, path: zkkit.ReadWriteLock(session, path).read,
    "write": lambda session, path: zkkit.ReadWriteLock(session, path).write,
}
"""What makes something to acquire and release, of a session and a path; by kind."""

connect = partial(zkkit.connect, timeout=BUSY_TIMEOUT)
close = zkkit.Session.close
