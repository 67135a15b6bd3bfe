"""A recipe that goes on in the background between `start` and `close`: a latch, a cache, a node
that is kept alive.

    class Clock(LongLived[S, int]):
        def _live(self) -> Script[None]:              # the background script
            while True:
                stat = yield from Exists(self.path, watch=True)
                yield from self._tell(0 if stat is None else stat.version)
                yield from Wait()

    with Clock(session, "/clock") as clock:           # on asyncio: `async with`
        clock.add_listener(print)

- It is started once. A second start, also after `close`, raises AlreadyStarted.
- The background script ends with the session. When a session is lost and another one follows, it is
  begun again from its start; when the session is closed, that is the end of it. What else it raises
  ends it as well, and is logged.
- `close` cancels it and waits until it has cleaned up (`try/finally` in `_live`). Closing again,
  also at the same time, waits for the same and does nothing more; where the session is closed
  there is nothing to do.
- Listeners are called one after the other where the session's callbacks run, never inside a script.
  One that raises is logged; the others are called all the same. A listener may close the recipe.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from ..errors import AlreadyStarted, Cancelled, NotStarted, SessionClosed, SessionLost
from ..hooks import guarded
from ..scripting import (
    Awaiting,
    Blocking,
    Recipe,
    S,
    closing_script,
    not_async_with,
    not_with,
    script,
)
from ..steps import Call, Recall, Remember, Script, Spawn, Spawned, Stop
from .arguments import check_callback
from .shared import surely

E = TypeVar("E")
B = TypeVar("B", bound="LongLived[Blocking, Any]")
A = TypeVar("A", bound="LongLived[Awaiting, Any]")

log = logging.getLogger("zkkit.recipes")


class Life(NamedTuple):
    """What the session's table has of a recipe that was started."""

    background: Spawned
    closing: bool = False


class LongLived(Recipe[S], Generic[S, E]):
    """Base of the recipes that go on in the background; `E` is what their listeners are told."""

    def __init__(self, session: S, path: str) -> None:
        super().__init__(session, path)
        self._listeners: list[Callable[[E], object]] = []

    @abstractmethod
    def _live(self) -> Script[None]:
        """The background script, from its start: once for each session."""

    @script
    def start(self) -> Script[None]:
        """Begin to live in the background. Raises AlreadyStarted if it was started before."""
        yield from self._check_latent()
        background = yield from Spawn(self._go_on(), repr(self))
        yield from Remember(self, Life(background))

    def _check_latent(self) -> Script[None]:
        life = yield from Recall(self)
        if life is not None:
            raise AlreadyStarted(
                f"{self!r} was {'closed' if life.closing else 'started'} already",
                path=self.path,
                hint="make a new one" if life.closing else "start it once",
            )

    def _check_started(self) -> Script[None]:
        life = yield from Recall(self)
        if life is None or life.closing:
            raise NotStarted(
                f"{self!r} is {'not started yet' if life is None else 'closed'}",
                path=self.path,
                hint="start it first" if life is None else "make a new one",
            )

    @closing_script
    def close(self) -> Script[None]:
        """Stop, and wait until everything is cleaned up. Closing twice is harmless, and so is
        closing it when its session is closed, or in a forked child."""
        life = yield from Recall(self)
        if life is not None:
            yield from Remember(self, life._replace(closing=True))
            yield from surely(lambda: iter(Stop(life.background)), outlives_session=True)

    def add_listener(self, listener: Callable[[E], object]) -> None:
        """Call `listener(event)` for every event from now on. Raises ValueError if it cannot be
        called, or would have to be awaited."""
        check_callback("a listener", listener)
        self._listeners.append(listener)

    def remove_listener(self, listener: Callable[[E], object]) -> None:
        """Do not call it any more; nothing happens if it was not there."""
        if listener in self._listeners:
            self._listeners.remove(listener)

    def _tell(self, event: E) -> Script[None]:
        """In a script: call all listeners, and wait until they have returned."""
        yield from Call(self._call_listeners, event)

    def _call_listeners(self, event: E) -> None:
        self._call_each(self._listeners, event)

    def _call_each(self, listeners: list[Callable[..., object]], *told: Any) -> None:
        for listener in tuple(listeners):
            with guarded(log, "a listener of %r failed", self):
                listener(*told)

    def _go_on(self) -> Script[None]:
        while True:
            try:
                yield from self._live()
                return
            except SessionClosed:
                raise
            except SessionLost:
                if (yield from Recall(self)).closing:
                    raise Cancelled from None  # it was lost while we cleaned up

    def __enter__(self: B) -> B:
        if isinstance(self.session, Awaiting):
            raise not_with(self)
        self.start()
        return self

    def __exit__(self: LongLived[Blocking, Any], *exc: object) -> None:
        self.close()

    async def __aenter__(self: A) -> A:
        if isinstance(self.session, Blocking):
            raise not_async_with(self)
        await self.start()
        return self

    async def __aexit__(self: LongLived[Awaiting, Any], *exc: object) -> None:
        await self.close()
