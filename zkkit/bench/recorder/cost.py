"""What recording costs: nanoseconds and bytes an event, all included.

All included means what a session pays once somebody records: reading the clock, building the
event, calling the hook, keeping the row, packing it.
"""

from __future__ import annotations

import gc
import statistics
import time
import tracemalloc
from dataclasses import dataclass

from zkkit.errors import ZkkitError
from zkkit.hooks import Hooks
from zkkit.record import Recorder

GOAL_NS = 2_000
GOAL_BYTES = 100

_ROUNDS = 20
_PATHS = tuple(f"/locks/a/lock-{i:010d}" for i in range(100))


@dataclass(frozen=True)
class RecorderCost:
    """The cost of one recorded event."""

    events: int
    ns_per_event: float
    bytes_per_event: float


def measure(events: int = 200_000) -> RecorderCost:
    """Record that many events twice: once against the clock, once counting memory.

    The time is the median over rounds, so that a neighbour on the same machine does not count.
    """
    per_round = max(1, events // _ROUNDS)
    hooks, recorder = Hooks(), Recorder()
    hooks.add(recorder)
    rounds = []
    for number in range(_ROUNDS):
        start = time.perf_counter_ns()
        _emit(hooks, number * per_round, per_round)
        rounds.append((time.perf_counter_ns() - start) / per_round)
    _check(recorder, per_round * _ROUNDS)
    return RecorderCost(events, statistics.median(rounds), _memory(events) / events)


def table(cost: RecorderCost) -> str:
    """The figures beside their goals, as text."""
    return "\n".join(
        (
            f"{'recording one event':<20} {'measured':>12} {'goal':>12}",
            f"{'time':<20} {cost.ns_per_event:>9,.0f} ns {GOAL_NS:>9,} ns",
            f"{'memory':<20} {cost.bytes_per_event:>6,.0f} bytes {GOAL_BYTES:>6,} bytes",
        )
    )


def _emit(hooks: Hooks, first: int, number: int) -> None:
    # As the runner does it: the check first, numbers that are new objects, paths that repeat.
    for i in range(first, first + number):
        if calls := hooks.step:
            hooks.tell(
                calls,
                time.monotonic_ns(),
                0x1000_0000_0000_0001,
                "worker-7",
                "ReentrantLock",
                _PATHS[i % len(_PATHS)],
                "Create",
                0x1_0000_0000 + i,
                "",
                9_000_000 + i,
            )


def _memory(events: int) -> int:
    """Bytes a recording of that many events keeps, by the interpreter's own count."""
    hooks, recorder = Hooks(), Recorder()
    hooks.add(recorder)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        _emit(hooks, 0, events)
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    _check(recorder, events)
    return after - before


def _check(recorder: Recorder, events: int) -> None:
    # A recorder that was switched off half-way costs next to nothing.
    if len(recorder) != events:
        raise ZkkitError(f"{events:,} events were emitted but {len(recorder):,} recorded")
