"""What differs between threads and greenlets: how to wait, to spawn, and who the actor is."""

from __future__ import annotations

import _thread
import queue
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from ..errors import ZkkitError


class Waiter(Protocol):
    """A one-time event."""

    def set(self) -> None: ...
    def wait(self, timeout: float | None = None) -> bool: ...


class Inbox(Protocol):
    """A queue whose `put` is atomic even for an interrupted thread."""

    def put(self, item: Any) -> None: ...
    def get(self, block: bool = True, timeout: float | None = None) -> Any: ...


class Platform(ABC):
    """Threads or greenlets."""

    empty: type[Exception]
    """What `Inbox.get` raises when its time is up."""

    @abstractmethod
    def kazoo_handler(self) -> Any:
        """A fresh handler for kazoo's client."""

    @abstractmethod
    def monitor(self) -> AbstractContextManager[Any]:
        """A reentrant lock."""

    @abstractmethod
    def waiter(self) -> Waiter: ...

    @abstractmethod
    def inbox(self) -> Inbox: ...

    @abstractmethod
    def spawn(self, function: Callable[[], None], name: str) -> Any:
        """Run `function` beside us; what it gives has `join(timeout)`."""

    @abstractmethod
    def actor(self) -> Hashable:
        """The object that stands for whoever is calling."""

    @abstractmethod
    def may_be_interrupted(self) -> bool:
        """Whether an exception can hit the caller between any two bytecodes."""


class _ThreadWaiter:
    """A bare lock used once: a third of the cost of threading.Event."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = _thread.allocate_lock()
        self._lock.acquire()

    def set(self) -> None:
        self._lock.release()

    def wait(self, timeout: float | None = None) -> bool:
        longest = threading.TIMEOUT_MAX
        return self._lock.acquire(True, -1 if timeout is None else min(timeout, longest))


class Threads(Platform):
    """Plain threads."""

    empty = queue.Empty

    def kazoo_handler(self) -> Any:
        from kazoo.handlers.threading import SequentialThreadingHandler

        return SequentialThreadingHandler()

    def monitor(self) -> AbstractContextManager[Any]:
        return threading.RLock()

    def waiter(self) -> Waiter:
        return _ThreadWaiter()

    def inbox(self) -> Inbox:
        return queue.SimpleQueue()

    def spawn(self, function: Callable[[], None], name: str) -> threading.Thread:
        thread = threading.Thread(target=function, name=name, daemon=True)
        thread.start()
        return thread

    def actor(self) -> Hashable:
        return threading.current_thread()

    def may_be_interrupted(self) -> bool:
        # KeyboardInterrupt and signal handlers strike in the main thread only.
        return threading.current_thread() is threading.main_thread()


class Greenlets(Platform):
    """gevent. Its exceptions strike only where a greenlet waits."""

    def __init__(self) -> None:
        try:
            import gevent
            import gevent.queue
        except ImportError as missing:
            raise ZkkitError(
                'handler="gevent" needs the package gevent',
                hint="pip install 'zkkit[load]'",
            ) from missing
        self._gevent = gevent
        self._queue = gevent.queue
        self._handler = self.kazoo_handler()
        self.empty = gevent.queue.Empty

    def kazoo_handler(self) -> Any:
        from kazoo.handlers.gevent import SequentialGeventHandler

        return SequentialGeventHandler()

    def monitor(self) -> AbstractContextManager[Any]:
        lock: AbstractContextManager[Any] = self._handler.rlock_object()
        return lock

    def waiter(self) -> Waiter:
        waiter: Waiter = self._handler.event_object()
        return waiter

    def inbox(self) -> Inbox:
        inbox: Inbox = self._queue.Queue()
        return inbox

    def spawn(self, function: Callable[[], None], name: str) -> Any:
        greenlet = self._gevent.spawn(function)
        greenlet.name = name
        return greenlet

    def actor(self) -> Hashable:
        actor: Hashable = self._gevent.getcurrent()
        return actor

    def may_be_interrupted(self) -> bool:
        return False


def platform(handler: str) -> Platform:
    """The platform by its name in `zkkit.connect(handler=...)`."""
    if handler == "threading":
        return Threads()
    if handler == "gevent":
        return Greenlets()
    raise ValueError(f'handler must be "threading" or "gevent", not {handler!r}')
