"""What differs between threads and greenlets: how to wait, to spawn, and who the actor is."""

from __future__ import annotations

import _thread
import logging
import queue
import threading
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from ..errors import ZkkitError

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

log = logging.getLogger("zkkit.session")


class Waiter(Protocol):
    """A one-time event."""

    def set(self) -> None: ...
    def wait(self, timeout: float | None = None) -> bool: ...


class Inbox(Protocol):
    """A queue whose `put` is atomic even for an interrupted thread."""

    def put(self, item: Any) -> None: ...
    def get(self, block: bool = True, timeout: float | None = None) -> Any: ...


class StopEvent(Protocol):
    """What tells user code to stop."""

    def is_set(self) -> bool: ...
    def set(self) -> None: ...
    def wait(self, timeout: float | None = None) -> Any: ...


Employer: TypeAlias = Callable[
    [str, Callable[[Any], Any], Callable[[Hashable], None], Callable[[], None]],
    Callable[[], object],
]
"""Lets user code run as an actor of its own: given its name, the code (which is given an event that
tells it to stop), whom to tell that it has begun, by which actor, and whom to tell that it has
ended. Gives what asks it to stop, which is called at most once: code that has not begun by then is
not called. Neither waits for anything."""


class Platform(NamedTuple):
    """Threads or greenlets."""

    name: str
    """What `zkkit.connect(handler=...)` calls it."""
    monitor: Callable[[], AbstractContextManager[Any]]
    """A new reentrant lock."""
    waiter: Callable[[], Waiter]
    event: Callable[[], StopEvent]
    inbox: Callable[[], Inbox]
    empty: type[Exception]
    """What `Inbox.get` raises when its time is up."""
    spawn: Callable[[Callable[[], None], str], Any]
    """Run a function beside us, under this name; what it gives has `join(timeout)`."""
    actor: Callable[[], Hashable]
    """The object that stands for whoever is calling."""
    may_be_interrupted: Callable[[], bool]
    """Whether an exception can hit the caller between any two bytecodes."""
    wait_readable: Callable[[int], object] | None
    """Waits until a descriptor can be read; None where one thread waits for all."""
    event_loop: AbstractEventLoop | None = None
    """asyncio's, where it reads the session's socket."""

    def employ(
        self,
        name: str,
        code: Callable[[Any], Any],
        begun: Callable[[Hashable], None],
        ended: Callable[[], None],
    ) -> Callable[[], object]:
        """Let user code run in a thread or greenlet of its own: an `Employer`."""
        stop = self.event()

        def work() -> None:
            begun(self.actor())
            try:
                if not stop.is_set():  # it may have been told to stop before it ran at all
                    code(stop)
            except BaseException:  # whatever it is: it ends this code, and nothing else
                log.exception("%s failed", name)
            finally:
                ended()

        self.spawn(work, name)
        return stop.set


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


def threads() -> Platform:
    """Plain threads."""

    def spawn(function: Callable[[], None], name: str) -> threading.Thread:
        thread = threading.Thread(target=function, name=name, daemon=True)
        thread.start()
        return thread

    def may_be_interrupted() -> bool:
        # KeyboardInterrupt and signal handlers strike in the main thread only.
        return threading.current_thread() is threading.main_thread()

    return Platform(
        "threading",
        monitor=threading.RLock,
        waiter=_ThreadWaiter,
        event=threading.Event,
        inbox=queue.SimpleQueue,
        empty=queue.Empty,
        spawn=spawn,
        actor=threading.current_thread,
        may_be_interrupted=may_be_interrupted,
        wait_readable=None,
    )


def greenlets() -> Platform:
    """gevent. Its exceptions strike only where a greenlet waits."""
    try:
        import gevent
        import gevent.event
        import gevent.lock
        import gevent.queue
        import gevent.socket
    except ImportError as missing:
        raise ZkkitError(
            'handler="gevent" needs the package gevent',
            hint="pip install 'zkkit[load]'",
        ) from missing

    def spawn(function: Callable[[], None], name: str) -> Any:
        greenlet = gevent.spawn(function)
        greenlet.name = name
        return greenlet

    return Platform(
        "gevent",
        monitor=gevent.lock.RLock,
        waiter=gevent.event.Event,
        event=gevent.event.Event,
        inbox=gevent.queue.Queue,
        empty=gevent.queue.Empty,
        spawn=spawn,
        actor=gevent.getcurrent,
        may_be_interrupted=lambda: False,
        wait_readable=gevent.socket.wait_read,
    )


def platform_named(handler: str) -> Platform:
    """The platform by its name in `zkkit.connect(handler=...)`."""
    if handler == "threading":
        return threads()
    if handler == "gevent":
        return greenlets()
    raise ValueError(f'handler must be "threading" or "gevent", not {handler!r}')
