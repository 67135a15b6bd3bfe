"""Where a process spends its CPU time, by layer of zkkit.

    recipe       the scripts of the recipes
    engine       what runs them: kernel, steps, runner, fronts, watches, clocks, hooks
    wire         requests as bytes, and back
    connection   what sends and receives them: sockets, kazoo
    waiting      going to sleep and waking up: threads, locks, queues, the event loop
    benchmark    the loop that acquires and releases

Every thread is followed from its first call on (`sys.setprofile`): its own CPU clock is read
whenever a call or a return crosses from one layer to another. Modules of no layer count for whoever
called them. Time in which a thread sleeps is no CPU time, so it is in no layer.

Following costs more than what is followed, and it costs the more the smaller the functions are. So
its cost is measured in the same process, for a call, for a call of a function in C and for a
crossing, and taken off. What is left are shares; for microseconds there are runs without it.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

LAYERS = ("recipe", "engine", "wire", "connection", "waiting", "benchmark")
_RECIPE, _ENGINE, _WIRE, _CONNECTION, _WAITING, _BENCHMARK = range(len(LAYERS))

SESSION_LAYERS = {
    _ENGINE: (
        "aio", "blocking", "board", "clock", "emit", "engine", "front", "holds", "operations",
        "options", "platforms", "pulse", "run", "runner", "watches", "worker",
    ),
    _WIRE: ("opcodes", "wire"),
    _CONNECTION: (
        "connecting", "event_loop", "forks", "kazoo_handler", "kazoo_private", "kazoo_transport",
        "limit", "link", "loop", "read_only", "standing", "transport",
    ),
}  # fmt: skip
"""The modules of zkkit.session, by layer: all of them, so that none is counted by accident."""

_MODULES = (
    ("zkkit.recipes", _RECIPE),
    ("zkkit.bench", _BENCHMARK),
    *(
        (f"zkkit.session.{module}", layer)
        for layer, modules in SESSION_LAYERS.items()
        for module in modules
    ),
    ("zkkit", _ENGINE),
    ("kazoo.protocol.serialization", _WIRE),
    ("kazoo", _CONNECTION),
    ("socket", _CONNECTION),
    ("ssl", _CONNECTION),
    ("threading", _WAITING),
    ("queue", _WAITING),
    ("selectors", _WAITING),
    ("asyncio", _WAITING),
    ("concurrent", _WAITING),
)
"""The layer of a module is that of the first line that its name begins with."""

_TRIES = 5
_CALLS = 5_000


def layer_of(module: str) -> int | None:
    """The number of its layer; None if it counts for whoever calls it."""
    for begins, layer in _MODULES:
        if module.startswith(begins):
            return layer
    return None


@dataclass
class _Followed:
    """What one thread did, by layer."""

    ns: list[int] = field(default_factory=lambda: [0] * len(LAYERS))
    calls: list[int] = field(default_factory=lambda: [0] * len(LAYERS))
    c_calls: list[int] = field(default_factory=lambda: [0] * len(LAYERS))
    crossings: list[int] = field(default_factory=lambda: [0] * len(LAYERS))


@dataclass(frozen=True)
class LayerCosts:
    """Nanoseconds that following costs: a call and its return, of Python and of C; a crossing."""

    call: float
    c_call: float
    crossing: float


class LayerProfile:
    """Follows all threads that are started after `begin`."""

    def __init__(self) -> None:
        self._followed: list[_Followed] = []
        self._layers: dict[CodeType, int | None] = {}
        self.costs = LayerCosts(0.0, 0.0, 0.0)

    def begin(self) -> None:
        """Measure what following costs, and begin to follow."""
        self.costs = self._measure()
        threading.setprofile(self._first)

    def end(self) -> None:
        """Threads that are followed stay so; new ones are not."""
        threading.setprofile(None)

    def used(self) -> dict[str, float]:
        """CPU seconds of all threads so far, by layer, without what following them costs."""
        return {name: self._used(layer) for layer, name in enumerate(LAYERS)}

    def _used(self, layer: int) -> float:
        costs = self.costs
        ns = sum(
            one.ns[layer]
            - one.calls[layer] * costs.call
            - one.c_calls[layer] * costs.c_call
            - one.crossings[layer] * costs.crossing
            for one in self._followed
        )
        return max(0.0, ns) / 1e9

    def _first(self, frame: FrameType, event: str, arg: Any) -> None:
        """The first event of a new thread."""
        followed = _Followed()
        self._followed.append(followed)
        hook = self._hook(followed)
        sys.setprofile(hook)
        hook(frame, event, arg)

    def _hook(self, followed: _Followed) -> Callable[[FrameType, str, Any], None]:
        """What is called at every event of a thread. All in one function and with few names: it is
        called more often than anything else."""
        ns, calls, c_calls, crossings = (
            followed.ns, followed.calls, followed.c_calls, followed.crossings
        )  # fmt: skip
        layers, clock = self._layers, time.thread_time_ns
        callers: list[int] = []
        now_in = _WAITING
        since = clock()

        def hook(frame: FrameType, event: str, arg: Any) -> None:
            nonlocal now_in, since
            if event == "call":
                code = frame.f_code
                if code not in layers:
                    layers[code] = layer_of(frame.f_globals.get("__name__", ""))
                calls[now_in] += 1
                callers.append(now_in)
                layer = layers[code]
            elif event == "return":
                layer = callers.pop() if callers else None
            else:
                c_calls[now_in] += event == "c_call"
                return
            if layer is None or layer == now_in:
                return
            now = clock()
            ns[now_in] += now - since
            since, now_in = now, layer
            crossings[layer] += 1

        return hook

    # --- what it costs ------------------------------------------------------------------

    def _measure(self) -> LayerCosts:
        """Time loops that do nothing, followed and not followed; the best of some tries counts."""
        plain_call, plain_c = _best(_calls), _best(_c_calls)
        followed_call = _best(_calls, self._hook(_Followed()))
        followed_c = _best(_c_calls, self._hook(_Followed()))
        call = max(0.0, followed_call - plain_call)
        # The same call, but of a function of another layer: it crosses twice.
        self._layers[_nothing.__code__] = _RECIPE
        crossed = _best(_calls, self._hook(_Followed()))
        del self._layers[_nothing.__code__]
        crossing = max(0.0, crossed - followed_call) / 2
        return LayerCosts(call, max(0.0, followed_c - plain_c), crossing)


def _nothing() -> None: ...


def _calls() -> None:
    for _ in range(_CALLS):
        _nothing()


def _c_calls() -> None:
    for _ in range(_CALLS):
        abs(1)


def _best(loop: Callable[[], None], hook: Any = None) -> float:
    """Nanoseconds for one turn of a loop."""
    took = []
    for _ in range(_TRIES):
        before = time.thread_time_ns()
        if hook is not None:
            sys.setprofile(hook)
        try:
            loop()
        finally:
            sys.setprofile(None)
        took.append((time.thread_time_ns() - before) / _CALLS)
    return min(took)
