"""zkkit's sessions on asyncio, to be measured: the same as in zkkit_client.py, awaited."""

from __future__ import annotations

from typing import Any

from zkkit.aio import AioSession
from zkkit.bench.connection.kazoo_operations import DATA
from zkkit.bench.connection.plan import AT_ONCE
from zkkit.bench.peers.aio_sessions import VERSION, close, connect
from zkkit.steps import Exists, Together

__all__ = ["RACES", "VERSION", "close", "connect"]


class AwaitedOperation:
    """One task that uses a session."""

    def __init__(self, session: AioSession, path: str) -> None:
        self._session, self._path = session, path

    async def release(self) -> None: ...


class AwaitedExists(AwaitedOperation):
    """It asks for one stat after the other."""

    async def acquire(self) -> None:
        if await self._session.exists(self._path) is None:
            raise LookupError(self._path)


class AwaitedSet(AwaitedOperation):
    """It sets the data again and again, one request at a time."""

    async def acquire(self) -> None:
        await self._session.set(self._path, DATA)


class AwaitedPipelined(AwaitedOperation):
    """It has many requests under way at once: a flight."""

    async def acquire(self) -> None:
        flight = Together(*(Exists(self._path) for _ in range(AT_ONCE)))
        if None in await self._session.run(flight):
            raise LookupError(self._path)


RACES: dict[str, Any] = {
    "exists": AwaitedExists,
    "set": AwaitedSet,
    "pipelined": AwaitedPipelined,
}
