"""The sides that share a path: zkkit and kazoo, driven like the peer in the JVM.

Every actor is a session and a thread of its own. A lock of any side can be asked the same things
as `zkkit.bench.peers.java_things.JavaLock`, so one test serves both directions.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout

import zkkit
from tests.interop.python_things import (
    PythonAtomic,
    PythonBarrier,
    PythonCache,
    PythonDoubleBarrier,
    PythonLatch,
    PythonSelector,
    PythonShared,
)
from zkkit import (
    AtomicInt,
    AtomicLong,
    Cache,
    ChildrenCache,
    Lock,
    MultiLock,
    ReadWriteLock,
    ReentrantLock,
    Semaphore,
    SharedCount,
    SharedValue,
)
from zkkit.bench.peers.curator import PeerFailed
from zkkit.bench.peers.rounds import Round, RoundsPlan, contend, contend_all
from zkkit.check.overlap import HoldInterval
from zkkit.errors import NoNode
from zkkit.steps import Children, Sync, Together

PATIENCE = 20.0


class ThreadedLock:
    """A lock that an actor acquires and releases in its own thread."""

    def __init__(self, thread: ThreadPoolExecutor, lock: Any) -> None:
        self.lock = lock
        self._thread = thread

    def begin_acquire(self, timeout: float | None = None) -> Future[bool]:
        return self._thread.submit(self._acquire, timeout)

    def acquire(self, timeout: float | None = None) -> bool:
        return self.begin_acquire(timeout).result(PATIENCE)

    def release(self) -> None:
        self._thread.submit(self.lock.release).result(PATIENCE)

    def begin_contend(self, plan: RoundsPlan) -> Callable[[], list[Round]]:
        return self._thread.submit(contend, self.lock.acquire, self.lock.release, plan).result

    def _acquire(self, timeout: float | None) -> bool:
        return bool(self.lock.acquire(timeout=timeout))


class PythonLock(ThreadedLock):
    """A zkkit lock."""

    def participants(self) -> tuple[str, ...]:
        return tuple(self.lock.participants())

    def make_revocable(self) -> threading.Event:
        asked = threading.Event()
        self._thread.submit(self.lock.on_revoke, asked.set).result(PATIENCE)
        return asked


class Threaded:
    """An actor with a thread."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)


class PythonActor(Threaded):
    """zkkit: mirrors `JavaActor`. The data of its nodes is its name."""

    def __init__(self, hosts: str, name: str) -> None:
        super().__init__(name)
        self.session = zkkit.connect(hosts, node_data=name.encode())

    @property
    def session_id(self) -> int:
        return self.session.session_id

    def password(self) -> bytes:
        return bytes(self.session.kazoo.client_id[1])

    def of(self, lock: Any) -> PythonLock:
        return PythonLock(self.thread, lock)

    def mutex(self, path: str) -> PythonLock:
        return self.of(ReentrantLock(self.session, path))

    def read_write(self, path: str, **options: str) -> tuple[PythonLock, PythonLock]:
        both = ReadWriteLock(self.session, path, **options)
        return self.of(both.read), self.of(both.write)

    def semaphore(self, path: str, limit: int | str) -> PythonLock:
        followed = limit if isinstance(limit, int) else SharedCount(self.session, limit)
        return self.of(Semaphore(self.session, path, followed))

    def semaphore_mutex(self, path: str, **options: str) -> PythonLock:
        return self.of(Lock(self.session, path, **options))

    def multi(self, *paths: str) -> PythonLock:
        return self.of(MultiLock(self.session, paths))

    def revoke(self, path: str) -> None:
        zkkit.revoke(self.session, path)

    def count(self, path: str) -> int:
        return SharedCount(self.session, path).get()

    def set_count(self, path: str, value: int) -> None:
        SharedCount(self.session, path).set(value)

    def latch(self, path: str) -> PythonLatch:
        return PythonLatch(self.session, path, self.name)

    def selector(self, path: str, *, auto_requeue: bool = False) -> PythonSelector:
        return PythonSelector(self.session, path, self.name, auto_requeue=auto_requeue)

    def barrier(self, path: str) -> PythonBarrier:
        return PythonBarrier(self.thread, zkkit.Barrier(self.session, path))

    def double_barrier(
        self, path: str, members: int, layout: str = "curator"
    ) -> PythonDoubleBarrier:
        barrier = zkkit.DoubleBarrier(self.session, path, members, layout=layout)
        return PythonDoubleBarrier(self.thread, barrier)

    def shared_count(self, path: str, seed: int = 0) -> PythonShared:
        return PythonShared(SharedCount(self.session, path, seed=seed))

    def shared_value(self, path: str, seed: bytes = b"") -> PythonShared:
        return PythonShared(SharedValue(self.session, path, seed=seed))

    def atomic_long(self, path: str) -> PythonAtomic:
        return PythonAtomic(self.thread, AtomicLong(self.session, path))

    def atomic_int(self, path: str) -> PythonAtomic:
        return PythonAtomic(self.thread, AtomicInt(self.session, path))

    def cache(self, path: str) -> PythonCache:
        return PythonCache(Cache(self.session, path))

    def children_cache(self, path: str) -> PythonCache:
        return PythonCache(ChildrenCache(self.session, path, start_mode="post_initialized"))

    def create(self, path: str, data: bytes = b"") -> None:
        self.session.create(path, data, make_parents=True)

    def set(self, path: str, data: bytes) -> None:
        self.session.set(path, data)

    def delete(self, path: str) -> None:
        self.session.delete(path)

    def names(self, path: str) -> tuple[str, ...]:
        """The children as the leader has them; none where there is no node (a container is reaped
        when it is empty)."""
        try:
            return self.session.run(iter(Together(Sync(path), Children(path))))[1]
        except NoNode:
            return ()

    def data(self, path: str) -> str:
        return self.session.get(path).data.decode()

    def close(self) -> None:
        self.session.close()
        self.thread.shutdown()


class KazooLock(ThreadedLock):
    """One of kazoo's locks."""

    def participants(self) -> list[str]:
        """kazoo gives what the nodes hold, not their names."""
        return self.lock.contenders()

    def _acquire(self, timeout: float | None) -> bool:
        try:
            return super()._acquire(timeout)
        except LockTimeout:
            return False


class KazooActor(Threaded):
    """kazoo: its nodes hold its name."""

    def __init__(self, hosts: str, name: str) -> None:
        super().__init__(name)
        self.client = KazooClient(hosts)
        self.client.start()

    def lock(self, path: str) -> KazooLock:
        return KazooLock(self.thread, self.client.Lock(path, self.name))

    def read_write(self, path: str) -> tuple[KazooLock, KazooLock]:
        return (
            KazooLock(self.thread, self.client.ReadLock(path, self.name)),
            KazooLock(self.thread, self.client.WriteLock(path, self.name)),
        )

    def close(self) -> None:
        self.client.stop()
        self.client.close()
        self.thread.shutdown()


def line_of(lock: Any) -> tuple[str, ...]:
    """The participants; none where there is no node, of which Curator complains."""
    try:
        return lock.participants()
    except PeerFailed as error:
        if "NoNode" in str(error):
            return ()
        raise


# --- contention, and what must never show in it -------------------------------------------


def holds_of(
    locks: Sequence[Any], *, rounds: int, hold_ms: float = 1.0
) -> list[list[HoldInterval]]:
    """Let all locks contend at once; the holds of each, as if all were of one lock."""
    start = time.monotonic_ns() + 20_000_000
    plan = RoundsPlan(start, rounds=rounds, hold_ns=int(hold_ms * 1e6))
    found = contend_all(locks, plan)
    assert [len(each) for each in found] == [rounds] * len(locks)
    return [
        [HoldInterval(f"contender {number}", "", r.acquired_ns, r.released_ns) for r in each]
        for number, each in enumerate(found)
    ]


def holds_inside(holders: Sequence[Any], other: Any) -> list[HoldInterval]:
    """Let the holders hold, and another one come and go meanwhile. Only a broken lock lets it."""
    for holder in holders:
        assert holder.acquire(timeout=PATIENCE)
    began = time.monotonic_ns()
    (within,) = holds_of([other], rounds=1)
    ended = time.monotonic_ns()
    for holder in holders:
        holder.release()
    return [*within, *(HoldInterval(f"holder {n}", "", began, ended) for n in range(len(holders)))]


def together(*holds: Iterable[HoldInterval]) -> list[HoldInterval]:
    return [held for each in holds for held in each]


def most_at_once(holds: Iterable[HoldInterval]) -> int:
    """How many held at the same time, at most."""
    changes = [(held.acquired_ns, 1) for held in holds] + [(h.released_ns, -1) for h in holds]
    inside = most = 0
    for _, change in sorted(changes):  # at the same instant the one who leaves comes first
        inside += change
        most = max(most, inside)
    return most
