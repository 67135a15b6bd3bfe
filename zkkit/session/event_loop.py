"""An asyncio session's place: the event loop of its user reads the socket.

Scripts then move on the very thread that awaits them, and no other thread has to be woken for a
reply. Timers stay with the thread that all sessions share (`loop.py`). It also stands in for the
event loop: before it calls a timer of the session it reads what is there, and if the loop does not
answer a call soon after, it goes on reading until the loop does. So a loop that somebody holds up,
or that does not run for a while, makes no session look dead: pings and beats go on, and their
answers count.

A loop that is closed reads no more, and tells nobody. But it drops its timers, and with them the
one that was kept there for this: then the shared thread reads, and whatever scripts have to clean
up goes on. Where an event loop cannot tell of sockets (Windows' default one) the shared thread
reads from the beginning.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from weakref import ref

from .clock import now
from .loop import NAME, Readable, Seat
from .worker import Timer, call_safely

_FAR_OFF = 1e9  # seconds
_SOON = 0.05  # seconds: an event loop that takes longer to answer is held up


def is_running_here(events: asyncio.AbstractEventLoop) -> bool:
    """Whether we are called by this event loop."""
    return asyncio._get_running_loop() is events


def call_in(events: asyncio.AbstractEventLoop, function: Callable[..., object], *args: Any) -> bool:
    """Let this event loop call a function soon. False: it is closed."""
    try:
        if is_running_here(events):
            events.call_soon(function, *args)  # it is awake, and need not be woken
        else:
            events.call_soon_threadsafe(function, *args)
    except RuntimeError:
        return False
    return True


class EventLoopSeat(Seat):
    """Timers in the shared loop, the socket in an event loop of asyncio."""

    def __init__(self, events: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._events = events
        self._readable: Readable | None = None
        self._is_shared = False
        self._asked = False  # whether the event loop has yet to answer
        self._keeping = ref(events.call_later(_FAR_OFF, _Token(self._read_elsewhere).is_kept))

    def at(self, moment: float, function: Callable[[], object]) -> Timer:
        def call() -> None:
            self._catch_up()
            function()
            self._ask()

        return super().at(moment, call)

    def expect(self) -> None:
        self._ask()  # a coroutine may wait for it as a thread would, by a method of kazoo's client

    def _ask(self) -> None:
        """See whether the event loop runs, and stand in for it if not."""
        if not self._asked and not self._is_shared:
            self._asked = True
            call_in(self._events, self._answer)
            super().at(now() + _SOON, self._stand_in)

    def _answer(self) -> None:
        self._asked = False

    def _stand_in(self) -> None:
        if self._asked and not self._is_shared:
            self._catch_up()
            super().at(now() + _SOON, self._stand_in)

    def _catch_up(self) -> None:
        readable = self._readable
        if readable is not None:
            call_safely(readable.can_read, NAME)
            call_safely(readable.can_write, NAME)

    def attach(self, readable: Readable) -> None:
        self._readable = readable
        if self._is_shared or not call_in(self._events, self._listen, readable):
            super().attach(readable)

    def _listen(self, readable: Readable) -> None:
        if readable.is_over or self._is_shared:
            return
        try:
            self._events.add_reader(readable.fileno(), readable.can_read)
        except NotImplementedError:
            self._read_elsewhere()

    def _read_elsewhere(self) -> None:
        """The event loop does not read: the shared thread does from now on."""
        if self._is_shared:
            return  # it never did, and is closed now
        self._is_shared = True
        readable = self._readable
        if readable is not None and not readable.is_over:
            super().attach(readable)

    def await_writing(self, readable: Readable, wanted: bool) -> None:
        if self._is_shared or not call_in(self._events, self._await_writing, readable, wanted):
            super().await_writing(readable, wanted)

    def _await_writing(self, readable: Readable, wanted: bool) -> None:
        if wanted and not readable.is_over:
            self._events.add_writer(readable.fileno(), readable.can_write)
        elif not wanted:
            self._events.remove_writer(readable.fileno())

    def detach(self, readable: Readable, close: Callable[[], object]) -> None:
        descriptor = readable.fileno()
        self._readable = None

        def forget() -> None:
            self._events.remove_reader(descriptor)
            self._events.remove_writer(descriptor)
            close()

        if self._is_shared:
            super().detach(readable, close)
        elif is_running_here(self._events):
            forget()
        elif not call_in(self._events, forget):
            close()

    def stop(self) -> None:
        self._readable = None
        keeping = self._keeping()
        if keeping is not None:
            call_in(self._events, keeping.cancel)
        super().stop()


class _Token:
    """Something that an event loop keeps; when it is dropped, somebody is told."""

    def __init__(self, dropped: Callable[[], object]) -> None:
        self._dropped = dropped

    def is_kept(self) -> None:
        """What keeps it: never called."""

    def __del__(self) -> None:
        with suppress(RuntimeError):  # the interpreter is going down: no thread can be begun
            self._dropped()
