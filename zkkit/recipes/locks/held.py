"""Locks in `with` blocks, in both worlds."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from ...errors import DeadlineExceeded
from ...scripting import Awaiting, Blocking, Recipe, S

HB = TypeVar("HB", covariant=True)
"""What acquiring gives on a blocking session ..."""
HA = TypeVar("HA", covariant=True)
"""... and on asyncio, once awaited."""


class Acquirable(Recipe[S], Generic[S, HB, HA]):
    """Something to acquire and to release."""

    acquire: Any
    release: Any

    def held(self, *, timeout: float | None = None) -> HeldWithin[S, HB, HA]:
        """`with lock.held(timeout=2) as hold:` raises DeadlineExceeded instead of giving None."""
        return HeldWithin(self, timeout)

    def __enter__(self: Acquirable[Blocking, HB, Any]) -> HB:
        return self.held().__enter__()

    def __exit__(self: Acquirable[Blocking, Any, Any], *exc: object) -> None:
        self.release()

    async def __aenter__(self: Acquirable[Awaiting, Any, HA]) -> HA:
        return await self.held().__aenter__()

    async def __aexit__(self: Acquirable[Awaiting, Any, Any], *exc: object) -> None:
        await self.release()


class HeldWithin(Generic[S, HB, HA]):
    """The lock for the length of a `with` block, or DeadlineExceeded."""

    def __init__(self, lock: Acquirable[S, HB, HA], timeout: float | None) -> None:
        self._lock = lock
        self._timeout = timeout

    def _got(self, hold: Any) -> Any:
        if hold is None:
            raise DeadlineExceeded(
                f"{self._lock!r} was not acquired within {self._timeout:g} s",
                path=self._lock.path,
                hint="allow more time, or see who holds it",
            )
        return hold

    def __enter__(self: HeldWithin[Blocking, HB, Any]) -> HB:
        return self._got(self._lock.acquire(timeout=self._timeout))  # type: ignore[no-any-return]

    def __exit__(self: HeldWithin[Blocking, Any, Any], *exc: object) -> None:
        self._lock.release()

    async def __aenter__(self: HeldWithin[Awaiting, Any, HA]) -> HA:
        return self._got(await self._lock.acquire(timeout=self._timeout))  # type: ignore[no-any-return]

    async def __aexit__(self: HeldWithin[Awaiting, Any, Any], *exc: object) -> None:
        await self._lock.release()
