"""kazoo's own locks on kazoo's own client, as its documentation uses them."""

from __future__ import annotations

from functools import partial

from kazoo.recipe.lock import Lock, ReadLock, Semaphore, WriteLock

from zkkit.bench.locks.plan import LEASES
from zkkit.bench.peers.kazoo_sessions import VERSION, close, connect

__all__ = ["RACES", "VERSION", "close", "connect"]

RACES = {
    "mutex": Lock,
    "lock": Lock,
    "semaphore": partial(Semaphore, max_leases=LEASES),
    "read": ReadLock,
    "write": WriteLock,
}
