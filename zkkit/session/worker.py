"""Timers, and a thread (greenlet) of a session's own that calls functions.

zkkit-callbacks     calls the user's functions (blocking sessions only; asyncio uses its loop)
zkkit-scripts       on gevent: calls timers, and enters the runner for callers that an interrupt may
                    strike; with threads all sessions of a process share one for this (`loop.py`)
"""

from __future__ import annotations

import heapq
import itertools
import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from .clock import now
from .forks import tell_in_child
from .platforms import Platform

log = logging.getLogger("zkkit.session")

_STOP = object()


class Timer:
    """Something to be called later, unless cancelled."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[[], object]) -> None:
        self.function: Callable[[], object] | None = function

    def cancel(self) -> None:
        self.function = None


class Timers:
    """What is to be called later, the next one first. Safe from many threads."""

    def __init__(self, lock: AbstractContextManager[Any]) -> None:
        self._lock = lock
        self._heap: list[tuple[float, int, Timer]] = []
        self._crowded = 64
        self._numbers = itertools.count()

    def push(self, moment: float, timer: Timer) -> bool:
        """Whether it is the next one now."""
        with self._lock:
            if len(self._heap) > self._crowded:  # most of them may have been cancelled
                self._heap = [entry for entry in self._heap if entry[2].function is not None]
                heapq.heapify(self._heap)
                self._crowded = max(64, 2 * len(self._heap))
            heapq.heappush(self._heap, (moment, next(self._numbers), timer))
            return self._heap[0][2] is timer

    def wait(self) -> float | None:
        """Seconds until the next one is due; None if there is none."""
        with self._lock:
            return max(0.0, self._heap[0][0] - now()) if self._heap else None

    def due(self) -> Iterator[Callable[[], object]]:
        """Those whose time has come by now: one that is set anew at once waits for the next turn,
        so that others have theirs."""
        due: list[Timer] = []
        with self._lock:
            at = now()
            while self._heap and self._heap[0][0] <= at:
                due.append(heapq.heappop(self._heap)[2])
        for timer in due:
            if timer.function is not None:  # not cancelled by one before it
                yield timer.function


class Worker:
    """Calls functions in order, one at a time, on a thread (greenlet) of its own.

    Started with its first function; `at` calls later. Whatever a function raises is logged and
    ends that function only: others wait for their turn.
    """

    def __init__(self, platform: Platform, name: str) -> None:
        self._platform = platform
        self._name = name
        self._inbox = platform.inbox()
        self._timers = Timers(platform.monitor())
        self._running: Any = None
        self._starting = platform.monitor()
        self._stopped = False
        self._is_copy = False
        tell_in_child(self)

    def forked(self) -> None:
        self._is_copy = True  # of a greenlet: a thread is not there

    def soon(self, function: Callable[[], object]) -> None:
        """Call `function` as soon as possible. Safe to call where an interrupt may strike."""
        self._inbox.put(function)
        if self._running is None:
            self.start()
        if self._stopped:
            self._call_rest()

    def at(self, moment: float, function: Callable[[], object]) -> Timer:
        """Call `function` at `moment` on the session's clock."""
        timer = Timer(function)
        if self._timers.push(moment, timer):
            self.soon(_nothing)  # so that it waits no longer than until then
        return timer

    def start(self) -> None:
        with self._starting:
            if self._running is None and not self._stopped:
                self._running = self._platform.spawn(self._loop, self._name)

    def stop(self, timeout: float = 5.0) -> None:
        """End it after what is queued now; timers are dropped."""
        with self._starting:
            self._stopped = True
            running, self._running = self._running, None
        if running is None:
            return
        self._inbox.put(_STOP)
        if running is not self._platform.actor():
            running.join(timeout)

    def _loop(self) -> None:
        while True:
            try:
                item = self._inbox.get(True, self._timers.wait())
            except self._platform.empty:
                item = None
            if item is _STOP or self._is_copy:
                return
            if item is not None:
                self._call(item)
            del item  # do not keep a caller's frame alive while idle
            for function in self._timers.due():
                self._call(function)

    def _call_rest(self) -> None:
        """The worker has ended and reads nothing any more: the caller does what is left."""
        stop = False
        while True:
            try:
                item = self._inbox.get(False)
            except self._platform.empty:
                break
            if item is _STOP:
                stop = True  # meant for the worker, which has not come to it yet
            else:
                self._call(item)
        if stop:
            self._inbox.put(_STOP)

    def _call(self, function: Callable[[], object]) -> None:
        call_safely(function, self._name)


def call_safely(function: Callable[[], object], where: str) -> None:
    """Call it; whatever it raises is logged: others wait for their turn."""
    try:
        function()
    except BaseException:  # an asyncio.CancelledError, a gevent.Timeout, a test runner's own
        log.exception("an error in %s was ignored", where)


def _nothing() -> None:
    """There is nothing to do but to look."""
