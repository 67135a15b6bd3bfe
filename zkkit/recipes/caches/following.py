"""What DataWatch and ChildrenWatch share: a function that is called whenever something has changed,
and a loop over the changes.

1. Read, with a watch. If it is not what was told last, tell it.
2. Wait until the watch fires, and begin again. A reconnect and a new session wake as well.

What is read is what is there now, so several changes in quick succession may be told as one; it is
compared with what was told last, so nothing is told twice, also after a new session. The first look
of a run syncs: a new session may have come to a server that lags, and what it shows be older than
what was told.
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Generic, TypeVar

from ...errors import AlreadyStarted, SessionLost, WrongWith
from ...hooks import guarded
from ...scripting import Awaiting, Blocking, S, closing_script, script
from ...steps import Call, Fire, Recall, Remember, Script, Sync, Wait
from ..arguments import check_callback
from ..long_lived import LongLived, log
from ..shared import begin_again

V = TypeVar("V")
F = TypeVar("F", bound="Following[Any, Any]")


class Following(LongLived[S, V], Generic[S, V]):
    """Base of the two; `V` is what is read and told."""

    def __init__(self, session: S, path: str) -> None:
        super().__init__(session, path)
        self._function: Callable[..., object] | None = None
        self._wants_event = False

    @abstractmethod
    def _look(self, *first: Sync) -> Script[V]:
        """What is there now, with a watch on it; let the server catch up first, or not."""

    @abstractmethod
    def _differ(self, told: V, found: V) -> bool:
        """Whether what was found is news to whoever was told that."""

    @abstractmethod
    def _arguments(self, found: V) -> tuple[Any, ...]:
        """What the function is called with, before the event."""

    def __call__(self: F, function: Callable[..., object]) -> F:
        """As a decorator: call this function from now on, until it gives False.

        Raises ValueError if it cannot be called in this way, AlreadyStarted if the watch has a
        function already, SessionClosed if the session is closed.
        """
        check_callback("a watch's function", function)
        if self._function is not None:
            raise AlreadyStarted(
                f"{self!r} has a function already", path=self.path, hint="make another watch"
            )
        self._function = function
        self._wants_event = _takes(function, len(self._arguments(self._nothing)) + 1)
        self.session.begin_script(self.start.of(), owner=self)
        return self

    @property
    @abstractmethod
    def _nothing(self) -> V:
        """What is read where there is no node."""

    @closing_script
    def stop(self) -> Script[None]:
        """Stop watching, from outside, and leave no watch on the server. (The function itself stops
        it by giving False.)"""
        return self.close.of()

    def _live(self) -> Script[None]:
        fire: Fire | None = None
        found = yield from self._look(Sync(self.path))
        while True:
            told = yield from Recall((self, "told"))
            if told is None or self._differ(told[0], found):
                yield from Remember((self, "told"), (found,))
                if (yield from self._news(found, fire)) is False:
                    return
            fire = yield from Wait()
            found = yield from self._look()

    def _news(self, found: V, fire: Fire | None) -> Script[object]:
        return (yield from Call(self._show, found, fire))

    def _show(self, found: V, fire: Fire | None) -> object:
        """Call the function and the listeners: False if it was the last time. Nobody, if it was
        stopped while this waited for its turn."""
        self._call_open(self._listeners, found)
        if self._function is None or self._is_closed:
            return None
        event = (fire,) if self._wants_event else ()
        with guarded(log, "the function of %r failed", self):
            return self._function(*self._arguments(found), *event)
        return None

    @script
    def _next(self, told: tuple[V] | None) -> Script[V]:
        """What is there, as soon as it is news."""

        def attempt() -> Script[V]:
            found = yield from self._look(Sync(self.path))
            while told is not None and not self._differ(told[0], found):
                yield from Wait()
                found = yield from self._look()
            return found

        return begin_again(attempt, self.session.retry, SessionLost)

    def __iter__(self: Following[Blocking, V]) -> Iterator[V]:
        """What is there, and then every change. Raises WrongWith on asyncio."""
        if isinstance(self.session, Awaiting):
            raise WrongWith(f"{self!r} is of asyncio", hint="write `async for`")
        return self._all()

    def _all(self: Following[Blocking, V]) -> Iterator[V]:
        told: tuple[V] | None = None
        while True:
            told = (self._next(told),)
            yield told[0]

    def __aiter__(self: Following[Awaiting, V]) -> AsyncIterator[V]:
        """The same on asyncio. Raises WrongWith elsewhere."""
        if isinstance(self.session, Blocking):
            raise WrongWith(f"{self!r} is not of asyncio", hint="write `for`")
        return self._all_awaited()

    async def _all_awaited(self: Following[Awaiting, V]) -> AsyncIterator[V]:
        told: tuple[V] | None = None
        while True:
            told = (await self._next(told),)
            yield told[0]


def _takes(function: Callable[..., object], count: int) -> bool:
    """Whether it takes so many positional arguments; ValueError if it does not take one less
    either. It is asked, not tried: a TypeError in the function's own body would look the same."""
    try:
        signature = inspect.signature(function)
    except ValueError:  # some of those written in C say nothing
        return False
    for given, takes in ((count, True), (count - 1, False)):
        try:
            signature.bind(*[None] * given)
        except TypeError:
            continue
        return takes
    raise ValueError(f"{function!r} must take {count - 1} arguments, or {count} with the event")
