"""What recording costs an acquire: measured twice, by arithmetic and by comparing.

By arithmetic: the events of one uncontended acquire and release, times the cost of an event. By
comparing: blocks of acquires with and without a recorder, in ABBA order. The first is precise; the
second includes everything, and on a busy machine its interval is wider than the cost.
"""

from __future__ import annotations

import statistics
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import zkkit
from zkkit import ReentrantLock, Session
from zkkit.bench.figures import Spread
from zkkit.record import Recorder


@dataclass(frozen=True)
class RecorderShare:
    """One uncontended acquire and release of a ReentrantLock, with and without a recorder.

    The intervals are quartiles over blocks: the extremes tell of the neighbours only.
    """

    events: float
    off_us: Spread
    ratio: Spread
    """Time with a recorder over time without, by blocks next to each other."""

    def cost_us(self, ns_per_event: float) -> float:
        """What recording adds, by arithmetic."""
        return self.events * ns_per_event / 1e3

    def share(self, ns_per_event: float) -> float:
        """The same as a share of the acquire and release."""
        return self.cost_us(ns_per_event) / self.off_us.median


def measure(
    hosts: str,
    *,
    blocks: int = 20,
    per_block: int = 50,
    on_block: Callable[[int], object] = lambda block: None,
) -> RecorderShare:
    """Time `blocks` pairs of blocks, each of `per_block` acquires and releases."""
    if blocks < 2:
        raise ValueError(f"an interval needs at least 2 blocks, not {blocks}")
    path = f"/zkkit-bench-{uuid.uuid4().hex[:12]}"
    with zkkit.connect(hosts) as session:
        # Persistent: a container would be reaped between two acquires, now and then.
        session.create(path)
        try:
            return _compare(session, ReentrantLock(session, path), blocks, per_block, on_block)
        finally:
            session.delete(path)


def _compare(
    session: Session,
    lock: ReentrantLock[Session],
    blocks: int,
    per_block: int,
    on_block: Callable[[int], object],
) -> RecorderShare:
    recorder = Recorder()
    _block(session, lock, None, per_block)  # warms up
    off, ratios = [], []
    for block in range(blocks):
        turn = (None, recorder) if block % 2 == 0 else (recorder, None)
        took = {one is not None: _block(session, lock, one, per_block) for one in turn}
        off.append(took[False])
        ratios.append(took[True] / took[False])
        on_block(block)
    return RecorderShare(len(recorder) / (blocks * per_block), _quartiles(off), _quartiles(ratios))


def _quartiles(values: Sequence[float]) -> Spread:
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(median, low, high)


def _block(
    session: Session, lock: ReentrantLock[Session], recorder: Recorder | None, times: int
) -> float:
    """Microseconds for one acquire and release, on average."""
    if recorder is not None:
        session.hooks.add(recorder)
    try:
        began = time.perf_counter()
        for _ in range(times):
            lock.acquire()
            lock.release()
        return (time.perf_counter() - began) / times * 1e6
    finally:
        if recorder is not None:
            session.hooks.remove(recorder)
