"""zkkit's recipes with the face that Java's have in `zkkit.bench.peers.java_things`, so that one
test serves both directions."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from zkkit import LeaderLatch, LeaderSelector
from zkkit.bench.peers.events import ToldEvent, ToldLog
from zkkit.bench.peers.rounds import Round, RoundsPlan, contend

NODES = ("created", "changed", "deleted")


class PythonCandidate:
    """What a latch and a selector have in common. It tells "leader" and "not leader"."""

    recipe: Any

    def __init__(self) -> None:
        self.heard = ToldLog()

    def start(self) -> None:
        self.recipe.start()

    def stop(self) -> None:
        self.recipe.close()

    def is_leader(self) -> bool:
        return bool(self.recipe.is_leader)

    def leader(self) -> str:
        found = self.recipe.leader()
        return found.id if found else ""

    def participants(self) -> tuple[str, ...]:
        return tuple(each.id for each in self.recipe.participants())

    def tell(self, leads: bool) -> None:
        self.heard.add(ToldEvent("leader" if leads else "not leader", time.monotonic_ns()))


class PythonLatch(PythonCandidate):
    """A LeaderLatch."""

    def __init__(self, session: Any, path: str, id: str) -> None:
        super().__init__()
        self.recipe = LeaderLatch(session, path, id=id)
        self.recipe.add_listener(lambda event: self.tell(event.is_leader))

    def wait(self, timeout: float = 60.0) -> bool:
        return self.recipe.wait(timeout) is not None


class PythonSelector(PythonCandidate):
    """A LeaderSelector that leads until it is told to give up."""

    def __init__(self, session: Any, path: str, id: str, *, auto_requeue: bool) -> None:
        super().__init__()
        self._enough = threading.Semaphore(0)
        self.recipe = LeaderSelector(session, path, self._lead, id=id, auto_requeue=auto_requeue)

    def give_up(self) -> None:
        self._enough.release()

    def requeue(self) -> bool:
        return bool(self.recipe.requeue())

    def interrupt(self) -> None:
        self.recipe.interrupt()

    def _lead(self, leadership: Any) -> None:
        self.tell(True)
        try:
            while not leadership.stop.is_set() and not self._enough.acquire(timeout=0.01):
                pass
        finally:
            self.tell(False)


class PythonBarrier:
    """A Barrier."""

    def __init__(self, thread: ThreadPoolExecutor, barrier: Any) -> None:
        self._thread, self._barrier = thread, barrier

    def set(self) -> None:
        self._barrier.set()

    def remove(self) -> None:
        self._barrier.remove()

    def begin_wait(self, timeout: float = 60.0) -> Future[bool]:
        return self._thread.submit(self._barrier.wait, timeout)


class PythonDoubleBarrier:
    """A DoubleBarrier in Curator's layout."""

    def __init__(self, thread: ThreadPoolExecutor, barrier: Any) -> None:
        self._thread, self._barrier = thread, barrier

    def begin_enter(self, timeout: float = 60.0) -> Future[bool]:
        return self._thread.submit(self._barrier.enter, timeout)

    def begin_leave(self, timeout: float = 60.0) -> Future[bool]:
        return self._thread.submit(self._barrier.leave, timeout)


class PythonShared:
    """A SharedCount or a SharedValue, started."""

    def __init__(self, recipe: Any) -> None:
        self.recipe = recipe
        self._told: list[Any] = []
        recipe.add_listener(lambda versioned: self._told.append(versioned.value))
        recipe.start()

    def value(self) -> Any:
        return self.recipe.value

    def set(self, value: Any) -> None:
        self.recipe.set(value)

    def try_set(self, value: Any) -> bool:
        return bool(self.recipe.try_set(self.recipe.versioned, value))

    def told(self) -> list[Any]:
        return list(self._told)


class PythonAtomic:
    """An AtomicLong or AtomicInt; to contend for it is to increment it."""

    def __init__(self, thread: ThreadPoolExecutor, recipe: Any) -> None:
        self._thread, self.recipe = thread, recipe

    def __getattr__(self, name: str) -> Any:
        return getattr(self.recipe, name)  # add, subtract, initialize, ...

    def get(self) -> Any:
        """What Java calls the value before and after."""
        return self.recipe.add(0)

    def begin_contend(self, plan: RoundsPlan) -> Callable[[], list[Round]]:
        return self._thread.submit(contend, self._increment, lambda: None, plan).result

    def _increment(self) -> None:
        while not self.recipe.increment().succeeded:
            pass


class PythonCache:
    """A Cache or a ChildrenCache."""

    def __init__(self, recipe: Any) -> None:
        self.recipe = recipe
        self.heard = ToldLog()
        recipe.add_listener(self._hear)

    def start(self) -> None:
        self.recipe.start()

    def content(self) -> dict[str, bytes]:
        return {node.path: node.data for node in self.recipe}

    def told(self) -> list[tuple[str, str, bytes]]:
        return [(told.event, *told.value) for told in self.heard.all(*NODES)]

    def _hear(self, event: Any) -> None:
        value = (event.path, event.node.data) if event.node else None
        self.heard.add(ToldEvent(str(event.kind), time.monotonic_ns(), value))
