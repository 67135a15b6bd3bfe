"""A session's helpers: one actor for timers and hand-overs, one for user callbacks."""

from __future__ import annotations

import heapq
import itertools
import logging
from collections.abc import Callable
from typing import Any

from .clock import now
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


class Worker:
    """Calls functions in order, one at a time, on a thread (greenlet) of its own.

    Started with its first function; `at` calls later. Whatever a function raises is logged and
    ends that function only: others wait for their turn.
    """

    def __init__(self, platform: Platform, name: str) -> None:
        self._platform = platform
        self._name = name
        self._inbox = platform.inbox()
        self._timers: list[tuple[float, int, Timer]] = []
        self._crowded = 64
        self._numbers = itertools.count()
        self._running: Any = None
        self._starting = platform.monitor()
        self._stopped = False

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
        self.soon(lambda: self._push(moment, timer))
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
                item = self._inbox.get(True, self._until_next())
            except self._platform.empty:
                item = None
            if item is _STOP:
                return
            if item is not None:
                self._call(item)
            del item  # do not keep a caller's frame alive while idle
            self._call_due()

    def _call_rest(self) -> None:
        """Nobody reads the inbox any more: whoever still puts something there does it himself."""
        stop = False
        while True:
            try:
                item = self._inbox.get(False)
            except self._platform.empty:
                break
            if item is _STOP:
                stop = True  # not ours: the worker has not come to it yet
            else:
                self._call(item)
        if stop:
            self._inbox.put(_STOP)

    def _push(self, moment: float, timer: Timer) -> None:
        if len(self._timers) > self._crowded:  # most of them may have been cancelled
            self._timers = [entry for entry in self._timers if entry[2].function is not None]
            heapq.heapify(self._timers)
            self._crowded = max(64, 2 * len(self._timers))
        heapq.heappush(self._timers, (moment, next(self._numbers), timer))

    def _until_next(self) -> float | None:
        return max(0.0, self._timers[0][0] - now()) if self._timers else None

    def _call_due(self) -> None:
        while self._timers and self._timers[0][0] <= now():
            _, _, timer = heapq.heappop(self._timers)
            if timer.function is not None:
                self._call(timer.function)

    def _call(self, function: Callable[[], object]) -> None:
        try:
            function()
        except BaseException:  # an asyncio.CancelledError, a gevent.Timeout, a test runner's own
            log.exception("an error in %s was ignored", self._name)
