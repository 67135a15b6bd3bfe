"""Locks in `with` blocks, in both worlds."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Generic, TypeVar

from ...errors import DeadlineExceeded, NotOwner
from ...scripting import (
    Awaiting,
    Blocking,
    Recipe,
    S,
    actor_name,
    checked_timeout,
    not_async_with,
    not_with,
)

HB = TypeVar("HB", covariant=True)
"""What acquiring gives on a blocking session ..."""
HA = TypeVar("HA", covariant=True)
"""... and on asyncio, once awaited."""


class HeldWithin(Generic[S, HB, HA]):
    """The lock for the length of a `with` block, or DeadlineExceeded.

    Whatever else is acquired or released in it, a block gives back the hold that it was given. It
    may be entered again, and by several actors: each leaves the block that it entered last.

    Raises ValueError if `timeout` is no number of seconds.
    """

    def __init__(self, lock: Acquirable[S, HB, HA], timeout: float | None) -> None:
        self._lock = lock
        self._timeout = checked_timeout(timeout)
        self._open: dict[Hashable, list[Any]] = {}
        """The holds of the blocks that each actor is in; nobody touches another actor's."""

    def _entered(self, hold: Any) -> Any:
        if hold is None:
            raise DeadlineExceeded(
                f"{self._lock!r} was not acquired within {self._timeout:g} s",
                path=self._lock.path,
                hint="allow more time, or see who holds it",
            )
        self._open.setdefault(self._lock.session.actor(), []).append(hold)
        return hold

    def _left(self) -> Any:
        """The hold of the block that this actor leaves."""
        actor = self._lock.session.actor()
        holds = self._open.get(actor)
        if not holds:
            raise NotOwner(
                f"{actor_name(actor)} is in no block of {self._lock!r}",
                path=self._lock.path,
                hint="leave a block in the thread, greenlet or task that entered it",
            )
        hold = holds.pop()
        if not holds:
            del self._open[actor]
        return hold

    def __enter__(self: HeldWithin[Blocking, HB, Any]) -> HB:
        if isinstance(self._lock.session, Awaiting):
            raise not_with(self._lock)
        return self._entered(self._lock.acquire(timeout=self._timeout))  # type: ignore[no-any-return]

    def __exit__(self: HeldWithin[Blocking, Any, Any], *exc: object) -> None:
        self._left().release()

    async def __aenter__(self: HeldWithin[Awaiting, Any, HA]) -> HA:
        if isinstance(self._lock.session, Blocking):
            raise not_async_with(self._lock)
        return self._entered(await self._lock.acquire(timeout=self._timeout))  # type: ignore[no-any-return]

    async def __aexit__(self: HeldWithin[Awaiting, Any, Any], *exc: object) -> None:
        await self._left().release()


class Acquirable(Recipe[S], HeldWithin[S, HB, HA]):
    """Something to acquire and to release; by itself it is a block without a deadline."""

    acquire: Any
    release: Any

    def __init__(self, session: S, path: str) -> None:
        Recipe.__init__(self, session, path)
        HeldWithin.__init__(self, self, None)

    def held(self, *, timeout: float | None = None) -> HeldWithin[S, HB, HA]:
        """`with lock.held(timeout=2) as hold:` raises DeadlineExceeded instead of giving None."""
        return HeldWithin(self, timeout)
