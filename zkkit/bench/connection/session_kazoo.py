"""kazoo's client on zkkit's connection, to be measured: `session.kazoo`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from zkkit import Session
from zkkit.bench.connection import kazoo_operations
from zkkit.bench.connection.zkkit_client import VERSION, close, connect

__all__ = ["RACES", "VERSION", "close", "connect"]


def _on_client(make: Callable[[Any, str], Any], session: Session, path: str) -> Any:
    return make(session.kazoo, path)


RACES = {kind: partial(_on_client, make) for kind, make in kazoo_operations.RACES.items()}
