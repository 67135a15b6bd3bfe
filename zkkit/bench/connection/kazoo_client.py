"""kazoo's client on kazoo's connection, to be measured."""

from __future__ import annotations

from zkkit.bench.connection.kazoo_operations import RACES
from zkkit.bench.peers.kazoo_sessions import VERSION, close, connect

__all__ = ["RACES", "VERSION", "close", "connect"]
