"""kazoo's own locks on kazoo's own client, as its documentation uses them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import kazoo
from kazoo.client import KazooClient

from zkkit.bench.locks_rows import LEASES

VERSION: str = kazoo.__version__


class KazooSession:
    """One client."""

    def __init__(self, hosts: str, timeout: float) -> None:
        self._client = KazooClient(hosts, timeout=timeout)
        self._client.start(timeout)

    def lock(self, kind: str, path: str) -> tuple[Callable[[], object], Callable[[], object]]:
        """How to acquire and how to release a lock of this kind."""
        made = self._make(kind, path)
        return made.acquire, made.release

    def _make(self, kind: str, path: str) -> Any:
        client = self._client
        if kind == "semaphore":
            return client.Semaphore(path, max_leases=LEASES)
        makers = {
            "mutex": client.Lock,
            "lock": client.Lock,
            "read": client.ReadLock,
            "write": client.WriteLock,
        }
        return makers[kind](path)

    def close(self) -> None:
        """End the session."""
        self._client.stop()
        self._client.close()
