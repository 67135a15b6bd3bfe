"""What recording costs an acquire: measured twice, by arithmetic and by comparing.

By arithmetic: the events of one uncontended acquire and release, times the cost of an event. By
comparing: blocks of acquires with and without a recorder, in ABBA order. Both are told beside the
CPU time that this process takes for an acquire and release: most of the time it waits for servers,
and beside that any cost would look small. The first is precise; the second includes everything, and
on a busy machine its interval is wider than the cost.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from zkkit import ReentrantLock, Session
from zkkit.bench.kit.pool import SessionPool, recording
from zkkit.bench.kit.statistics import Spread, quartiles
from zkkit.record import Recorder

GOAL_SHARE = 0.03


@dataclass(frozen=True)
class RecorderShare:
    """One uncontended acquire and release of a ReentrantLock, with and without a recorder.

    The intervals are quartiles over blocks: the extremes tell of the neighbours only.
    """

    events: float
    off_us: Spread
    ratio: Spread
    """CPU time with a recorder over that without, by blocks next to each other."""

    def cost_us(self, ns_per_event: float) -> float:
        """What recording adds, by arithmetic."""
        return self.events * ns_per_event / 1e3

    def share(self, ns_per_event: float) -> float:
        """What recording adds, as a share of the CPU time of acquire and release."""
        return self.cost_us(ns_per_event) / self.off_us.median


def measure(
    hosts: str,
    *,
    blocks: int = 20,
    per_block: int = 50,
    on_block: Callable[[int], object] = lambda block: None,
) -> RecorderShare:
    """Measure `blocks` pairs of blocks, each of `per_block` acquires and releases.

    Raises ValueError for fewer than two blocks, ConnectFailed if the servers give no session.
    """
    if blocks < 2:
        raise ValueError(f"an interval needs at least 2 blocks, not {blocks}")
    recorder = Recorder()
    off, ratios = [], []
    with SessionPool(hosts, 0) as pool, pool.directory("lock") as path:
        lock = ReentrantLock(pool.gate, path)
        _block(lock, per_block)  # warms up
        for block in range(blocks):
            took = {}
            for recorded in (False, True) if block % 2 == 0 else (True, False):
                with recording(recorder, [pool.gate] if recorded else []):
                    took[recorded] = _block(lock, per_block)
            off.append(took[False])
            ratios.append(took[True] / took[False])
            on_block(block)
    return RecorderShare(len(recorder) / (blocks * per_block), quartiles(off), quartiles(ratios))


def table(share: RecorderShare, ns_per_event: float) -> str:
    """The figures as text."""
    off, ratio = share.off_us, share.ratio
    added, part = share.cost_us(ns_per_event), share.share(ns_per_event)
    return f"""
an uncontended acquire and release of a ReentrantLock
  CPU time, unrecorded      {off.median:,.0f} us (quartiles {off.low:,.0f}..{off.high:,.0f})
  gives                     {share.events:.1f} events
  recording, by arithmetic  {added:.1f} us, {part:.2%} of it (goal: at most {GOAL_SHARE:.0%})
  recorder on : off         {ratio.median:.3f} (quartiles {ratio.low:.3f}..{ratio.high:.3f})"""


def _block(lock: ReentrantLock[Session], times: int) -> float:
    """Microseconds of CPU time for one acquire and release, on average."""
    began = time.process_time()
    for _ in range(times):
        lock.acquire()
        lock.release()
    return (time.process_time() - began) / times * 1e6
