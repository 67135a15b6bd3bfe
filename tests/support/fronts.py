"""One way to drive a session on threads, on gevent and on asyncio, so that one suite serves all.

A test says what an actor does by a function of no arguments, `lambda: lock.acquire()`. On asyncio
it gives a coroutine, which the actor awaits; otherwise the result itself.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import queue
import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from kazoo.client import KazooClient

import zkkit
from zkkit.record import tap

Job = Callable[[], Any]
PATIENCE = 30.0


class ActorUnderTest(ABC):
    """Somebody who does one job after the other."""

    @abstractmethod
    def begin(self, job: Job) -> Future[Any]:
        """Start a job; its outcome comes as a future."""

    def call(self, job: Job) -> Any:
        """Do a job and give its result."""
        return self.begin(job).result(PATIENCE)

    @abstractmethod
    def end(self) -> None: ...


class FrontUnderTest(ABC):
    """A kind of session and its kind of actors."""

    name: str

    def __init__(self) -> None:
        self._actors: list[ActorUnderTest] = []

    @abstractmethod
    def connect(self, hosts: str, **options: Any) -> Any:
        """A session that is open."""

    @abstractmethod
    def close(self, session: Any) -> None: ...

    @abstractmethod
    def _new_actor(self) -> ActorUnderTest: ...

    def within(self, manager: Any, inside: Callable[[Any], Any]) -> Any:
        """What an actor does to be in a `with` block; `inside` is given what the block is given."""
        with manager as given:
            return inside(given)

    @abstractmethod
    def interrupted(self, job: Job, *moments: Job) -> BaseException | None:
        """Do `job` and interrupt it as often as there are moments, each time when the moment
        has come (it returns). Gives what the job raised."""

    @contextmanager
    def session(self, hosts: str, **options: Any) -> Iterator[Any]:
        options.setdefault("timeout", 6.0)
        session = self.connect(hosts, **options)
        try:
            yield session
        finally:
            self.close(session)

    def actor(self) -> ActorUnderTest:
        actor = self._new_actor()
        self._actors.append(actor)
        return actor

    def actors(self, count: int) -> list[ActorUnderTest]:
        return [self.actor() for _ in range(count)]

    def call(self, job: Job) -> Any:
        """Do a job in an actor of its own."""
        return self.actor().call(job)

    def end(self) -> None:
        for actor in self._actors:
            actor.end()


def played(front: FrontUnderTest, body: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Let an actor do what is written as a coroutine; where nothing is awaited it never stops."""
    return front.call(body if front.name == "asyncio" else lambda: _without_a_loop(body()))


def _without_a_loop(coroutine: Any) -> Any:
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("something was awaited")


def _settle(future: Future[Any], job: Job) -> None:
    try:
        future.set_result(job())
    except BaseException as error:
        future.set_exception(error)


# --- threads ------------------------------------------------------------------------------


class QueueActor(ActorUnderTest):
    """Does the jobs of a queue in a `_work` that somebody runs."""

    def __init__(self) -> None:
        self._jobs: queue.Queue[Any] = queue.Queue()

    def _work(self) -> None:
        while (item := self._jobs.get()) is not None:
            _settle(*item)
            del item

    def begin(self, job: Job) -> Future[Any]:
        future: Future[Any] = Future()
        self._jobs.put((future, job))
        return future

    def end(self) -> None:
        self._jobs.put(None)


class ThreadActor(QueueActor):
    def __init__(self) -> None:
        super().__init__()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def end(self) -> None:
        super().end()
        self._thread.join(PATIENCE)


class Threads(FrontUnderTest):
    name = "threads"

    def connect(self, hosts: str, **options: Any) -> Any:
        return zkkit.connect(hosts, **options)

    def close(self, session: Any) -> None:
        session.close()

    def _new_actor(self) -> ActorUnderTest:
        return ThreadActor()

    def interrupted(self, job: Job, *moments: Job) -> BaseException | None:
        """A signal handler that raises in the main thread, as Ctrl-C does."""

        def raise_interrupt(number: int, frame: Any) -> None:
            raise KeyboardInterrupt

        def strike() -> None:
            for moment in moments:
                moment()
                os.kill(os.getpid(), signal.SIGUSR1)

        before = signal.signal(signal.SIGUSR1, raise_interrupt)
        striker = threading.Thread(target=strike, daemon=True)
        caught: BaseException | None = None
        try:
            try:
                striker.start()
                job()
            except BaseException as error:
                caught = error
            striker.join(PATIENCE)
        except KeyboardInterrupt:
            striker.join(PATIENCE)  # a late one
        finally:
            signal.signal(signal.SIGUSR1, before)
        return caught


# --- asyncio ------------------------------------------------------------------------------


class TaskActor(ActorUnderTest):
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._jobs: asyncio.Queue[Any] = asyncio.Queue()
        self.task: asyncio.Task[None] = asyncio.run_coroutine_threadsafe(
            self._spawn(), loop
        ).result(PATIENCE)

    async def _spawn(self) -> asyncio.Task[None]:
        return asyncio.create_task(self._work())

    async def _work(self) -> None:
        while (item := await self._jobs.get()) is not None:
            future, job = item
            try:
                outcome = job()
                future.set_result(await outcome if inspect.isawaitable(outcome) else outcome)
            except BaseException as error:
                future.set_exception(error)
            del item, future, job

    def begin(self, job: Job) -> Future[Any]:
        future: Future[Any] = Future()
        self._loop.call_soon_threadsafe(self._jobs.put_nowait, (future, job))
        return future

    def interrupt(self) -> None:
        self._loop.call_soon_threadsafe(self.task.cancel)

    def end(self) -> None:
        self._loop.call_soon_threadsafe(self._jobs.put_nowait, None)


class Asyncio(FrontUnderTest):
    name = "asyncio"

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def connect(self, hosts: str, **options: Any) -> Any:
        async def opened() -> Any:
            return await zkkit.aio.connect(hosts, **options)

        return asyncio.run_coroutine_threadsafe(opened(), self.loop).result(PATIENCE)

    def close(self, session: Any) -> None:
        asyncio.run_coroutine_threadsafe(session.close(), self.loop).result(PATIENCE)

    def _new_actor(self) -> TaskActor:
        return TaskActor(self.loop)

    async def within(self, manager: Any, inside: Callable[[Any], Any]) -> Any:
        async with manager as given:
            return inside(given)

    def interrupted(self, job: Job, *moments: Job) -> BaseException | None:
        return _interrupted(self._new_actor(), job, moments)

    def end(self) -> None:
        super().end()
        asyncio.run_coroutine_threadsafe(self.loop.shutdown_default_executor(), self.loop).result(
            PATIENCE
        )
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(PATIENCE)
        self.loop.close()


# --- gevent: only in a process that was patched from the start -------------------------------


class GreenletActor(QueueActor):
    def __init__(self) -> None:
        import gevent

        super().__init__()
        self.greenlet = gevent.spawn(self._work)

    def interrupt(self) -> None:
        self.greenlet.kill(block=False)


class Gevent(FrontUnderTest):
    name = "gevent"

    def connect(self, hosts: str, **options: Any) -> Any:
        return zkkit.connect(hosts, handler="gevent", **options)

    def close(self, session: Any) -> None:
        session.close()

    def _new_actor(self) -> GreenletActor:
        return GreenletActor()

    def interrupted(self, job: Job, *moments: Job) -> BaseException | None:
        return _interrupted(self._new_actor(), job, moments)


def _interrupted(actor: Any, job: Job, moments: tuple[Job, ...]) -> BaseException | None:
    future = actor.begin(job)
    for moment in moments:
        moment()
        actor.interrupt()
    caught: BaseException | None = future.exception(PATIENCE)
    actor.end()
    return caught


# --- kazoo's own client, for its own recipes ----------------------------------------------------


class Kazoo(Threads):
    name = "kazoo"

    def connect(self, hosts: str, **options: Any) -> Any:
        client = KazooClient(hosts, **options)
        client.hooks = tap(client)
        client.kazoo = client
        client.start()
        return client

    def close(self, session: Any) -> None:
        session.stop()
        session.close()


FRONTS: dict[str, type[FrontUnderTest]] = {
    each.name: each for each in (Threads, Asyncio, Gevent, Kazoo)
}
