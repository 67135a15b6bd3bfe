"""One thread for all sessions of the process: it reads their sockets and calls their timers.

It begins with the first session and ends with the last. A session has a `Seat` there, which it
gives up when it is closed. What is called here must not wait: everybody else would wait with it.

    Standing connections     are told when their socket can be read, or written after it was full
    Timers                   are called when they are due
    `soon`                   calls a function for a caller that an interrupt may strike elsewhere

A process that forks has no such thread in the child, and the child's own sessions begin another.
"""

from __future__ import annotations

import os
import selectors
import socket
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from .clock import now
from .platforms import Platform
from .worker import Timer, Timers, Worker, call_safely

NAME = "zkkit-loop"
_LONG = 0.05  # seconds that a timer may take without another look at the sockets
_WEARY = 0.25  # seconds after which somebody else's turn has come
_POLL = 0.01  # seconds between two looks whether a socket can be written again


class Readable(Protocol):
    """What sits on a socket: told on this thread that the socket can be read or written."""

    @property
    def is_over(self) -> bool: ...
    @property
    def longest_rest(self) -> float:
        """Seconds that it can go without being told, if it has taken long before."""

    def fileno(self) -> int: ...
    def can_read(self) -> object: ...
    def can_write(self) -> object: ...


class Loop:
    """The thread, its selector and its timers."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._asleep = False
        self._resting: dict[Readable, int] = {}  # those who took long: what they want to be told of
        self._inbox: deque[Callable[[], object]] = deque()
        self.timers = Timers(threading.Lock())
        self._read_end, self._write_end = socket.socketpair()
        for end in (self._read_end, self._write_end):
            end.setblocking(False)
        self._selector.register(self._read_end, selectors.EVENT_READ, None)
        self.ended = False
        self._thread = threading.Thread(target=self._run, name=NAME, daemon=True)

    def start(self) -> None:
        try:
            self._thread.start()
        except BaseException:
            self._close()
            raise

    @property
    def is_here(self) -> bool:
        """Whether we are called on this very thread."""
        return threading.current_thread() is self._thread

    def soon(self, function: Callable[[], object]) -> None:
        """Call it on this thread. An append to a deque is atomic: an interrupt cannot leave it
        half done."""
        self._inbox.append(function)
        if self._asleep:
            self._wake()
        if self.ended:
            self._call_rest()  # nobody else will

    def at(self, moment: float, timer: Timer) -> None:
        if self.timers.push(moment, timer) and self._asleep:
            self._wake()

    def stop(self) -> None:
        """End the thread after what was asked for until now."""
        self.soon(self._end)
        if not self.is_here:
            self._thread.join(5.0)

    def _end(self) -> None:
        self.ended = True

    def _wake(self) -> None:
        with suppress(BlockingIOError):  # it is full of wake-ups already
            self._write_end.send(b"\0")

    # --- the sockets, on this thread --------------------------------------------------------------

    def add(self, readable: Readable) -> None:
        if not readable.is_over:
            self._selector.register(readable.fileno(), selectors.EVENT_READ, readable)

    def await_writing(self, readable: Readable, wanted: bool) -> None:
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if wanted else 0)
        if readable in self._resting:
            self._resting[readable] = events
            return
        with suppress(KeyError, ValueError):  # it was removed meanwhile
            self._selector.modify(readable.fileno(), events, readable)

    def _rest(self, readable: Readable, seconds: float) -> None:
        """It took so long, since a hook did, or somebody else has its monitor: for as long others
        are served, and it is not."""
        if readable.is_over or readable in self._resting:
            return
        if len(self._selector.get_map()) + len(self._resting) <= 2:
            return  # it is alone here, but for what wakes us
        with suppress(KeyError, ValueError):
            self._resting[readable] = self._selector.unregister(readable.fileno()).events
            awake = Timer(lambda: self._serve_again(readable))
            self.timers.push(now() + min(seconds, readable.longest_rest), awake)

    def _serve_again(self, readable: Readable) -> None:
        events = self._resting.pop(readable, None)
        if events is not None and not readable.is_over:
            self._selector.register(readable.fileno(), events, readable)

    def remove(self, readable: Readable) -> None:
        self._resting.pop(readable, None)
        with suppress(KeyError, ValueError):
            self._selector.unregister(readable.fileno())

    # --- the thread -------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not self.ended:
                self._turn()
        finally:
            self.ended = True
            self._call_rest()
            self._close()

    def _close(self) -> None:
        self._selector.close()
        self._read_end.close()
        self._write_end.close()

    def _turn(self) -> None:
        # First asleep, then a last look: whoever comes after the look wakes us.
        self._asleep = True
        timeout = 0 if self._inbox else self.timers.wait()
        ready = self._selector.select(timeout)
        self._asleep = False
        self._serve(ready)
        took_time = bool(ready)
        for function in self.timers.due():
            if took_time:  # before a timer finds that nothing was heard: hear what came meanwhile
                self._serve(self._selector.select(0))
            begun = now()
            call_safely(function, NAME)
            took_time = now() - begun > _LONG
        self._call_rest()

    def _serve(self, ready: list[tuple[selectors.SelectorKey, int]]) -> None:
        for key, events in ready:
            readable: Readable | None = key.data
            if readable is None:
                with suppress(BlockingIOError):
                    self._read_end.recv(4096)
                continue
            begun = now()
            if events & selectors.EVENT_READ:
                call_safely(readable.can_read, NAME)
            if events & selectors.EVENT_WRITE:
                call_safely(readable.can_write, NAME)
            took = now() - begun
            if took > _WEARY:
                self._rest(readable, took)

    def _call_rest(self) -> None:
        while True:
            try:
                function = self._inbox.popleft()
            except IndexError:
                return
            call_safely(function, NAME)


class Seat:
    """A session's place in the loop. Takes it when it is first needed."""

    def __init__(self) -> None:
        self._loop: Loop | None = None
        self._left = False
        self._taking = threading.Lock()

    def _take(self) -> Loop | None:
        """The loop; None if the seat was given up."""
        loop = self._loop
        if loop is None and not self._left:
            with self._taking:
                if self._loop is None and not self._left:
                    self._loop = _shared.take()
                loop = self._loop
        return None if self._left else loop

    def soon(self, function: Callable[[], object]) -> None:
        """Call `function` as soon as possible. Safe to call where an interrupt may strike."""
        loop = self._loop if self._loop is not None else self._take()
        if loop is None or self._left:
            call_safely(function, NAME)  # the session is closed: the caller does it
        else:
            loop.soon(function)

    def at(self, moment: float, function: Callable[[], object]) -> Timer:
        """Call `function` at `moment` on the session's clock."""
        timer = Timer(function)
        loop = self._take()
        if loop is not None:
            loop.at(moment, timer)
        return timer

    def stop(self) -> None:
        """Give the seat up. Timers that are not due yet are dropped by whoever set them."""
        with self._taking:
            left, self._left = self._left, True
            loop = self._loop
        if loop is not None and not left:
            _shared.leave(loop)

    # --- sockets ----------------------------------------------------------------------------------

    def expect(self) -> None:
        """Somebody waits for an answer, perhaps in a way that holds up whoever would read it."""

    def attach(self, readable: Readable) -> None:
        """Tell it from now on when its socket can be read."""
        self.soon(lambda: self._with_loop(lambda loop: loop.add(readable)))

    def await_writing(self, readable: Readable, wanted: bool) -> None:
        """Tell it when its socket can be written again."""
        self.soon(lambda: self._with_loop(lambda loop: loop.await_writing(readable, wanted)))

    def detach(self, readable: Readable, close: Callable[[], object]) -> None:
        """Tell it no more, and then close its socket; called by itself, on the loop's thread."""
        self._with_loop(lambda loop: loop.remove(readable))
        close()

    def _with_loop(self, do: Callable[[Loop], object]) -> None:
        if self._loop is not None:
            do(self._loop)


class _Shared:
    """The loop of this process, and how many sit in it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: Loop | None = None
        self._seats = 0

    def take(self) -> Loop:
        with self._lock:
            if self._loop is None:
                loop = Loop()
                loop.start()
                self._loop = loop
            self._seats += 1
            return self._loop

    def leave(self, loop: Loop) -> None:
        with self._lock:
            if loop is not self._loop:
                return  # of the process we were forked from
            self._seats -= 1
            if self._seats:
                return
            self._loop = None
        loop.stop()


_shared = _Shared()


def _after_fork() -> None:
    """In the child: its thread is not here, and its selector is still the parent's."""
    global _shared
    _shared = _Shared()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class GreenletSeat(Worker):
    """The same on gevent, where waiting costs no thread: a greenlet for the timers of a session,
    and one that reads its socket. `wait_readable` waits for a descriptor."""

    def __init__(self, platform: Platform, wait_readable: Callable[[int], object]) -> None:
        super().__init__(platform, "zkkit-scripts")
        self._platform = platform
        self._wait_readable = wait_readable

    def expect(self) -> None:
        """Others read while one waits."""

    def attach(self, readable: Readable) -> None:
        def read() -> None:
            while not readable.is_over:
                self._wait_readable(readable.fileno())
                call_safely(readable.can_read, NAME)

        self._platform.spawn(read, "zkkit-reader")

    def await_writing(self, readable: Readable, wanted: bool) -> None:
        if wanted:  # seldom: a server that does not read
            self.at(now() + _POLL, readable.can_write)

    def detach(self, readable: Readable, close: Callable[[], object]) -> None:
        """Its reader ends by itself."""
        close()


AnySeat = Seat | GreenletSeat


def seat_for(platform: Platform) -> AnySeat:
    """Where a new session sits."""
    if platform.event_loop is not None:
        from .event_loop import EventLoopSeat  # which builds on this module

        return EventLoopSeat(platform.event_loop)
    if platform.wait_readable is None:
        return Seat()
    return GreenletSeat(platform, platform.wait_readable)
