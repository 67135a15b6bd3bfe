"""zkkit's mutex on asyncio, to be measured: the same names as in zkkit_locks.py."""

from __future__ import annotations

import zkkit
from zkkit.bench.peers.aio_sessions import VERSION, close, connect

__all__ = ["RACES", "VERSION", "close", "connect"]

RACES = {"mutex": zkkit.ReentrantLock}
