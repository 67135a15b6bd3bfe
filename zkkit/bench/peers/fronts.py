"""Where a peer's sessions are used: each in a thread of its own, or all on one event loop."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from zkkit.bench.peers.rounds import Round, RoundsPlan, contend, contend_awaiting

T = TypeVar("T")

_TOGETHER = 8  # sessions opened or closed at the same time


class Used(NamedTuple):
    """What contenders did, and the CPU seconds of each kind of thread meanwhile."""

    rounds: list[list[Round]]
    thread_cpu: dict[str, float]


class OnThreads:
    """Sessions whose calls block: each is used in a thread of its own."""

    def for_each(self, call: Callable[[T], Any], of: Iterable[T]) -> list[Any]:
        """Make the call for each of them, for some at a time; gives what the calls gave."""
        with ThreadPoolExecutor(max_workers=_TOGETHER) as threads:
            return list(threads.map(call, of))

    def contend(self, things: Sequence[Any], plan: RoundsPlan) -> Used:
        """Let all of them contend at once."""
        before = thread_cpu()
        with ThreadPoolExecutor(max_workers=len(things)) as threads:
            rounds = list(
                threads.map(lambda thing: contend(thing.acquire, thing.release, plan), things)
            )
            return Used(rounds, _since(before))  # while the contenders' threads are there


class OnLoop:
    """Sessions whose calls are awaited, all on one loop in one thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="loop", daemon=True).start()

    def for_each(self, call: Callable[[T], Awaitable[Any]], of: Iterable[T]) -> list[Any]:
        """Make the call for each of them, for some at a time; gives what the calls gave."""
        places = asyncio.Semaphore(_TOGETHER)

        async def one(item: T) -> Any:
            async with places:
                return await call(item)

        return self._wait(_all(one(item) for item in of))

    def contend(self, things: Sequence[Any], plan: RoundsPlan) -> Used:
        """Let all of them contend at once."""
        before = thread_cpu()
        rounds = self._wait(
            _all(contend_awaiting(thing.acquire, thing.release, plan) for thing in things)
        )
        return Used(rounds, _since(before))

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


async def _all(work: Iterable[Awaitable[T]]) -> list[T]:
    return await asyncio.gather(*work)


# --- who uses the CPU -------------------------------------------------------------------

_KINDS = {
    "zk_loop": "connection",
    "zkkit-loop": "connection",
    "_thread_worker": "kazoo's callbacks",
    "ThreadPoolExecutor": "contenders",
    "loop": "event loop",
    "_serve": "the benchmark",
    "MainThread": "the benchmark",
}
"""What threads do, by the name of their function, or else by their own name."""


def thread_cpu() -> dict[str, float]:
    """CPU seconds that the threads of this process have used so far, by kind; empty where the
    system does not tell (it is Linux that does)."""
    used: dict[str, float] = {}
    for thread in threading.enumerate():
        try:
            text = Path(f"/proc/self/task/{thread.native_id}/schedstat").read_text()
        except OSError:
            continue  # it has just ended, or this is not Linux
        # "Thread-3 (zk_loop)" is named by its function, "ThreadPoolExecutor-0_1" by its pool.
        name = re.sub(r"^.*\((\w+)\)$|-[\d_]+$", r"\1", thread.name)
        kind = _KINDS.get(name, name)
        used[kind] = used.get(kind, 0.0) + int(text.split()[0]) / 1e9
    return used


def _since(before: dict[str, float]) -> dict[str, float]:
    return {kind: used - before.get(kind, 0.0) for kind, used in thread_cpu().items()}
