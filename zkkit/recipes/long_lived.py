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

- It is started once. A second start, also after `close`, raises AlreadyStarted. What must be there
  when `start` returns is read by `_prepare`; if that fails `start` raises it, and nothing was
  started. A caller that leaves meanwhile, or just as it has started, leaves nothing running.
- The background script ends with the session. When a session is lost and another one follows, it is
  begun again from its start; when the session is closed, that is the end of it. What else it raises
  ends it as well, and is logged: it has failed.
- `close` cancels it and waits until it has cleaned up (`try/finally` in `_live`), also while it is
  starting: then `start` raises NotStarted. Closing again, also at the same time, waits for the same
  and does nothing more; where the session is closed there is nothing to do.
- Listeners are called one after the other where the session's callbacks run, never inside a script,
  and no script waits for them: one that takes long holds up the other listeners of the session, and
  nothing else. One that raises is logged; the others are called all the same. A listener may call
  any method of the recipe, also `close`. When `close` has returned none is called any more; one
  that is being called at that moment goes on, and is not waited for.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from typing import Any, Generic, NamedTuple, TypeVar

from ..errors import (
    AlreadyStarted,
    Cancelled,
    NotStarted,
    SessionClosed,
    SessionLost,
    ZkkitError,
)
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
from ..steps import IfUntaken, Notify, Recall, Remember, Script, Spawn, Spawned, Stop, Wait
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
    starting: bool = False
    failed: Exception | None = None
    """What has ended it."""


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
        prepare = self._prepare()
        live = self._go_on() if prepare is None else self._prepared(prepare)
        background = yield from Spawn(live, repr(self))
        yield from Remember(self, Life(background, starting=prepare is not None))
        if prepare is not None:
            try:
                yield from self._until_prepared()
            except BaseException:
                yield from self.close.of()
                raise
        # If our caller has left just now nobody knows that it is to be closed.
        yield from IfUntaken(self._undo_start)

    def _undo_start(self) -> Script[None]:
        return self.close.of()

    def _prepare(self) -> Script[None] | None:
        """What is done before `start` returns, in the background; what it raises is raised there.
        None: there is nothing to do."""
        return None

    def _prepared(self, prepare: Script[None]) -> Script[None]:
        try:
            yield from prepare
        except Exception as failed:
            yield from self._note(failed=failed)  # and who has started it raises it
            return
        yield from self._note(starting=False)
        yield from self._go_on()

    def _until_prepared(self) -> Script[None]:
        while (life := (yield from Recall(self, watch=True))).starting and not life.closing:
            if life.failed is not None:
                yield from Remember(self, None)  # it may be started again
                raise copy(life.failed)
            try:
                yield from Wait()
            except SessionClosed:
                raise
            except SessionLost:
                continue  # it goes on in the next session, or fails
        yield from self._check_started()

    def _note(self, **changes: Any) -> Script[None]:
        """Change what the session's table has of our life."""
        life = yield from Recall(self)
        if life is not None:
            yield from Remember(self, life._replace(**changes))

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
            yield from self._note(closing=True)
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
        """In a script: have all listeners called, in order, unless we are closed by then."""
        yield from Notify(self._call_open, self._listeners, event)

    def _call_listeners(self, event: E) -> None:
        self._call_each(self._listeners, event)

    def _call_each(self, listeners: list[Callable[..., object]], *told: Any) -> None:
        for listener in tuple(listeners):
            with guarded(log, "a listener of %r failed", self):
                listener(*told)

    def _call_open(self, listeners: list[Callable[..., object]], *told: Any) -> None:
        """Where callbacks run: call these, as long as nobody has closed us. What a script has asked
        for waits in a queue, and may be called long after that."""
        for listener in tuple(listeners):
            if not self._is_closed:
                self._call_each([listener], *told)

    @property
    def _is_closed(self) -> bool:
        life = self.session.noted(self)
        return life is not None and life.closing

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
            except Exception as failed:
                yield from self._note(failed=failed)
                raise

    def __enter__(self: B) -> B:
        if isinstance(self.session, Awaiting):
            raise not_with(self)
        try:
            self.start()
        except ZkkitError:
            raise
        except BaseException:  # an interrupt: perhaps it was just started, and nobody closes it
            with suppress(ZkkitError):
                self.session.begin_script(self.close.of(), owner=self)
            raise
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
