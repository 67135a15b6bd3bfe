"""The asyncio front: `zkkit.aio.connect`. The same scripts, awaited.

The event loop the session was opened in reads its socket, so scripts advance there (`event_loop.py`
says what happens if it does not run), and so do user callbacks.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from ..errors import ZkkitError
from ..retry import RetryPolicy
from ..scripting import RAISE, Awaiting, InSession, check_session, checked_timeout, not_with
from ..steps import Acl, Script, Step
from .connecting import transport_for
from .event_loop import call_in, is_running_here
from .front import Front, grace, take, take_late
from .options import CONNECT_TIMEOUT, SESSION_TIMEOUT, Options
from .platforms import Platform, threads
from .transport import Transport

R = TypeVar("R")

log = logging.getLogger("zkkit.session")


class _NoWith:
    """Says that `async with` is wanted, to whoever writes `with`."""

    if not TYPE_CHECKING:  # type checkers are to refuse it, too

        def __enter__(self) -> NoReturn:
            raise not_with(self)

        def __exit__(self, *exc: object) -> None:
            """Never called; Python wants both."""


class AioSession(Front[Awaiting], Awaiting, _NoWith):
    """A ZooKeeper session whose calls are awaited. Made by `zkkit.aio.connect`.

    The tasks of one loop may share it. What goes wrong is a `ZkkitError` with a hint of what to do.
    """

    def __init__(self, options: Options, platform: Platform, transport: Transport) -> None:
        self._loop = asyncio.get_running_loop()
        super().__init__(options, platform, transport, self._deliver, self._employ)

    def _deliver(self, function: Callable[[], object]) -> None:
        if not call_in(self._loop, function):
            log.warning("a callback was dropped: the event loop of the session is closed")

    def _tell(self, function: Callable[..., None], *args: Any) -> None:
        """At once, as `run_script` does, and so in the order of the calls: Ctrl-C strikes no
        coroutine, but cancels the main task."""
        function(*args)

    def _employ(
        self,
        name: str,
        code: Callable[[Any], Any],
        begun: Callable[[Hashable], None],
        ended: Callable[[], None],
    ) -> Callable[[], object]:
        """Let a coroutine run as a task of its own: an `Employer` (zkkit.session.platforms)."""
        stop = asyncio.Event()
        tasks: list[asyncio.Task[Any]] = []

        async def work() -> None:
            try:
                await code(stop)
            except asyncio.CancelledError:
                if not stop.is_set():
                    raise  # somebody else's
            except Exception:
                log.exception("%s failed", name)

        def begin() -> None:
            task = self._loop.create_task(work(), name=name)
            tasks.append(task)
            begun(task)
            task.add_done_callback(lambda task: ended())

        def dismiss() -> None:
            stop.set()
            for task in tasks:
                task.cancel()

        self._deliver(begin)
        return lambda: self._deliver(dismiss)

    async def _open(self) -> None:
        up = _Signal()
        self._runner.on_up.append(up.set)
        self._runner.open()
        await up.wait(self._options.connect_timeout)
        self._check_opened()
        if self._options.namespace_path:
            await self.run(self._namespace_script(), timeout=self._options.connect_timeout)

    async def run(self, script: Script[R] | Step[R], *, timeout: float | None = None) -> R:
        """Run a script (or take one step) and give its result.

        `timeout` is a deadline for the whole of it: then `DeadlineExceeded` is raised, and the
        script cleans up in the background. A cancelled task has the same effect.

        Raises:
            DeadlineExceeded: it was not done in time.
            NotAStep: this is neither a script nor a step, or the script yielded something else.
            SessionClosed: the session is, or was meanwhile, closed.
            ForkedSession: it was opened in another process.
            ValueError: `timeout` is no number of seconds.
            Exception: whatever the script lets pass: ConnectionLost, SessionLost, NoNode, ...
        """
        deadline = checked_timeout(timeout)
        result: R = await self.run_script(script, timeout=deadline, owner=self, otherwise=RAISE)
        return result

    def actor(self) -> Hashable:
        task = asyncio.current_task()
        if task is None:
            raise ZkkitError(
                "an asyncio session is used outside of a task", hint="call it from a coroutine"
            )
        return task

    async def run_script(
        self, body: Any, *, timeout: float | None, owner: InSession[Any], otherwise: Any
    ) -> Any:
        run = self._new_run(body, owner)
        signal = _Signal()

        def tell() -> None:
            if not signal.set():
                self._runner.abandon(run)  # the loop was closed under us: nobody takes the result

        run.on_done.append(tell)
        try:
            self._runner.start(run)
            if await signal.wait(timeout):
                return take(run)
        except asyncio.CancelledError:
            self._runner.abandon(run)
            # A second cancel ends only the waiting.
            await signal.wait(grace(timeout))
            raise
        except BaseException:
            # The loop is going down around us (GeneratorExit): nothing can be awaited any more.
            if run.unclaimed:
                self._runner.abandon(run)
            raise
        self._runner.cancel(run)
        try:
            await signal.wait(grace(timeout))
        except BaseException:
            self._runner.abandon(run)
            raise
        return take_late(run, timeout, otherwise)

    async def close(self) -> None:
        """Close the session, as `zkkit.Session.close` does, without blocking the loop.

        Raises:
            Nothing: closing twice is harmless. A cancel ends only the waiting for it.
        """
        # Waiting for the server's goodbye blocks. The loop must not, and a cancel must not stop it
        # half way. Not in the loop's default executor: that may be full of the user's own work.
        closed = _Signal()

        def close() -> None:
            try:
                self._close_runner()
            finally:
                closed.set()

        # No daemon: a program that ends meanwhile lets the server know.
        threading.Thread(target=close, name="zkkit-closing").start()
        await closed.wait(None)

    async def __aenter__(self) -> AioSession:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()


class _Signal:
    """An event that any thread may set and a task of one loop awaits."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._came = False
        self._waiting: asyncio.Future[None] | None = None

    def set(self) -> bool:
        """False if the loop is closed: then nobody can be waiting any more."""
        if is_running_here(self._loop):
            self._come()
            return True
        return call_in(self._loop, self._come)

    def _come(self) -> None:
        self._came = True
        self._go_on()

    def _go_on(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def wait(self, timeout: float | None) -> bool:
        """Whether it came in time. A cancel is raised, also where it comes together with the
        event: asyncio.wait_for would swallow it there (Python 3.11)."""
        if not self._came:
            # A new one each time: a cancel ends it.
            self._waiting = self._loop.create_future()
            alarm = None if timeout is None else self._loop.call_later(timeout, self._go_on)
            try:
                await self._waiting
            finally:
                if alarm is not None:
                    alarm.cancel()
        return self._came


class _Connecting(_NoWith):
    """`await connect(...)` gives the session, `async with connect(...)` closes it as well."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._session: AioSession | None = None

    async def _open(self) -> AioSession:
        platform = threads()._replace(event_loop=asyncio.get_running_loop())
        session = AioSession(self._options, platform, transport_for(self._options, platform))
        try:
            await session._open()
        except BaseException:
            await session.close()
            raise
        self._session = session
        return session

    def __await__(self) -> Generator[Any, None, AioSession]:
        return self._open().__await__()

    async def __aenter__(self) -> AioSession:
        return await self._open()

    async def __aexit__(self, *exc: object) -> None:
        if self._session is not None:
            await self._session.close()

    def __repr__(self) -> str:
        return f"<a session with {self._options.hosts} that was not opened yet>"

    def __getattr__(self, name: str) -> Any:
        """Somebody takes this for the session itself."""
        if not name.startswith("_") and (hasattr(AioSession, name) or name in _declared()):
            check_session(self)
        raise AttributeError(f"{self!r} has no attribute {name!r}")


def _declared() -> set[str]:
    """What each session has of its own, and its class has not."""
    return {name for kind in AioSession.__mro__ for name in inspect.get_annotations(kind)}


def connect(
    hosts: str,
    *,
    timeout: float = SESSION_TIMEOUT,
    connect_timeout: float = CONNECT_TIMEOUT,
    tick: float | None = None,
    namespace: str | None = None,
    auth: Sequence[tuple[str, str]] | None = None,
    acl: Sequence[Acl] | None = None,
    tls: Mapping[str, Any] | None = None,
    retry: RetryPolicy | None = None,
    node_data: bytes | None = None,
) -> _Connecting:
    """As `zkkit.connect`, awaited: `async with zkkit.aio.connect(hosts) as session:`.

    Raises:
        ZkkitError: `hosts` or `tls` is not usable; as ValueError and TypeError, at once.
        ConnectFailed: no server gave us a session in time; this and AuthFailed when awaited.
    """
    options = Options(
        hosts, timeout=timeout, connect_timeout=connect_timeout, tick=tick, namespace=namespace,
        auth=auth, acl=acl, tls=tls, retry=retry, node_data=node_data,
    )  # fmt: skip
    return _Connecting(options)
