"""What all locks owned by an actor share: reentry, ownership, `with`, beginning again.

Who holds what is kept in the session's table under (lock object, actor): as with
`threading.RLock`, two lock objects on one path are two contenders. A holding whose session is
over counts for nothing: the next acquire starts anew, a release finds nothing to do.

An attempt that ends because the session was lost, or because somebody removed our node, is begun
again in the new session, as the session's retry policy allows.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from typing import Any, ClassVar, Generic, NamedTuple

from ...errors import DeadlineExceeded, NoNode, NotOwner, SessionClosed, SessionLost
from ...scripting import Awaiting, Blocking, Recipe, S, actor_name, script, timed_script
from ...steps import Actor, Look, Mark, Node, Note, Now, Random, Script, SessionId
from ..shared import pause
from .hold import Hold


class Holding(NamedTuple):
    """What an actor has of a lock: the hold and how often it was acquired."""

    hold: Hold[Any]
    times: int


class OwnedLock(Recipe[S]):
    """Base of the locks that belong to the actor which acquired them."""

    reentrant: ClassVar[bool]
    """Whether the owner may acquire again."""
    unique_names: ClassVar[bool]
    """Whether no two grants ever share a node name: what guarding a transaction needs."""

    @abstractmethod
    def _contend(self, blocking: bool) -> Script[Node | None]:
        """Get the lock node to the front and give it; None if not blocking and not at once.
        Whatever else ends it leaves nothing behind."""

    @abstractmethod
    def _let_go(self, hold: Hold[Any]) -> Script[None]:
        """Remove our lock node, whatever happens."""

    @timed_script
    def acquire(
        self, blocking: bool = True, timeout: float | None = None
    ) -> Script[Hold[S] | None]:
        """Wait for the lock; None if not blocking and it is taken, or if `timeout` passes.

        `timeout` is a deadline for the whole call, kept even when the servers are frozen.
        """
        actor = yield from Actor()
        again = yield from self._again(actor)
        if again is not None:
            return again
        node = yield from self._persevere(blocking)
        if node is None:
            return None
        hold = Hold(self, node, actor)
        yield from Note((self, actor), Holding(hold, 1))
        yield from Mark("acquired", hold.path, hold.token)
        return hold

    def _again(self, actor: Hashable) -> Script[Hold[S] | None]:
        """The hold this actor already has, counted once more; None if it must contend."""
        holding = yield from self._current(actor)
        if holding is None or not self.reentrant:
            return None
        yield from Note((self, actor), Holding(holding.hold, holding.times + 1))
        yield from Mark("acquired", holding.hold.path, holding.hold.token, "reentrant")
        return holding.hold

    def _current(self, actor: Hashable) -> Script[Holding | None]:
        holding: Holding | None = yield from Look((self, actor))
        session = yield from SessionId()
        if holding is not None and holding.hold.session_id != session:
            return None
        return holding

    def _persevere(self, blocking: bool) -> Script[Node | None]:
        began = yield from Now()
        failures = 0
        while True:
            try:
                return (yield from self._contend(blocking))
            except SessionClosed:
                raise
            except (SessionLost, NoNode):
                failures += 1
                elapsed = (yield from Now()) - began
                delay = self.session.retry.delay(failures, elapsed, (yield from Random()))
                if delay is None:
                    raise
                yield from pause(delay)

    @script
    def release(self) -> Script[None]:
        """Give the lock up, once for each acquire; only the actor that acquired may."""
        actor = yield from Actor()
        if (yield from Look((self, actor))) is None:
            raise NotOwner(
                f"{actor_name(actor)} does not hold {self!r}",
                path=self.path,
                hint="release in the thread, greenlet or task that acquired",
            )
        yield from self.release_for(actor)

    def release_for(self, actor: Hashable) -> Script[None]:
        """Give up one acquire of `actor`, whoever runs this."""
        key = (self, actor)
        holding: Holding | None = yield from Look(key)
        if holding is None:
            return
        if holding.times > 1:
            # Counted down even when lost: each `with` block still has its own way out to come.
            yield from Note(key, Holding(holding.hold, holding.times - 1))
            return
        try:
            if (yield from self._current(actor)) is not None:
                yield from Mark("released", holding.hold.path, holding.hold.token)
                yield from self._let_go(holding.hold)
        finally:
            yield from Note(key, None)

    def held(self, *, timeout: float | None = None) -> HeldWithin[S]:
        """`with lock.held(timeout=2) as hold:` raises DeadlineExceeded instead of giving None."""
        return HeldWithin(self, timeout)

    def __enter__(self: OwnedLock[Blocking]) -> Hold[Blocking]:
        return self.held().__enter__()

    def __exit__(self: OwnedLock[Blocking], *exc: object) -> None:
        self.release()

    async def __aenter__(self: OwnedLock[Awaiting]) -> Hold[Awaiting]:
        return await self.held().__aenter__()

    async def __aexit__(self: OwnedLock[Awaiting], *exc: object) -> None:
        await self.release()


class HeldWithin(Generic[S]):
    """The lock for the length of a `with` block, or DeadlineExceeded."""

    def __init__(self, lock: OwnedLock[S], timeout: float | None) -> None:
        self._lock = lock
        self._timeout = timeout

    def _got(self, hold: Hold[Any] | None) -> Hold[Any]:
        if hold is None:
            raise DeadlineExceeded(
                f"{self._lock!r} was not acquired within {self._timeout:g} s",
                path=self._lock.path,
                hint="allow more time, or see who holds it",
            )
        return hold

    def __enter__(self: HeldWithin[Blocking]) -> Hold[Blocking]:
        return self._got(self._lock.acquire(timeout=self._timeout))

    def __exit__(self: HeldWithin[Blocking], *exc: object) -> None:
        self._lock.release()

    async def __aenter__(self: HeldWithin[Awaiting]) -> Hold[Awaiting]:
        return self._got(await self._lock.acquire(timeout=self._timeout))

    async def __aexit__(self: HeldWithin[Awaiting], *exc: object) -> None:
        await self._lock.release()
