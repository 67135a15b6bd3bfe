"""The blocking front: `zkkit.connect`. Threads, or greenlets by `handler="gevent"`."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from ..retry import RetryPolicy
from ..scripting import RAISE, Blocking, InSession, checked_timeout, not_async_with
from ..steps import Acl, Script, Step
from .connecting import transport_for
from .front import Front, grace, take, take_late
from .options import CONNECT_TIMEOUT, SESSION_TIMEOUT, Options
from .platforms import Platform, platform_named
from .transport import Transport
from .worker import Worker

R = TypeVar("R")
_SOON = 0.05
"""Seconds by which a deadline may be missed."""


class Session(Front[Blocking], Blocking):
    """A ZooKeeper session that runs scripts and gives their results. Made by `zkkit.connect`.

    Threads (greenlets) may share it. What goes wrong is a `ZkkitError` with a hint of what to do.
    """

    def __init__(self, options: Options, platform: Platform, transport: Transport) -> None:
        self._callbacks = Worker(platform, "zkkit-callbacks")
        super().__init__(options, platform, transport, self._callbacks.soon, platform.employ)
        try:
            self._open()
        except BaseException:
            self.close()
            raise
        self._used = False  # by us

    def _open(self) -> None:
        up = self._platform.waiter()
        self._runner.on_up.append(up.set)
        self._runner.open()
        up.wait(self._options.connect_timeout)
        self._check_opened()
        if self._options.namespace_path:
            self.run(self._namespace_script(), timeout=self._options.connect_timeout)

    def run(self, script: Script[R] | Step[R], *, timeout: float | None = None) -> R:
        """Run a script (or take one step) and give its result.

        `timeout` is a deadline for the whole of it: then `DeadlineExceeded` is raised, and the
        script cleans up in the background. Any exception that strikes the waiting caller
        (KeyboardInterrupt, a killed greenlet, ...) has the same effect.

        Raises:
            DeadlineExceeded: it was not done in time.
            NotAStep: this is neither a script nor a step, or the script yielded something else.
            SessionClosed: the session is, or was meanwhile, closed.
            ForkedSession: it was opened in another process.
            ValueError: `timeout` is no number of seconds.
            Exception: whatever the script lets pass: ConnectionLost, SessionLost, NoNode, ...
        """
        deadline = checked_timeout(timeout)
        result: R = self.run_script(script, timeout=deadline, owner=self, otherwise=RAISE)
        return result

    def actor(self) -> Hashable:
        return self._platform.actor()

    def run_script(
        self, body: Any, *, timeout: float | None, owner: InSession[Any], otherwise: Any
    ) -> Any:
        run = self._new_run(body, owner)
        waiter = self._platform.waiter()
        run.on_done.append(waiter.set)
        try:
            self._tell(self._runner.start, run)
            if timeout is not None and timeout < _SOON:
                self._until_begun()
            if waiter.wait(timeout):
                return take(run)
        except BaseException:
            if run.unclaimed:
                try:
                    self._tell(self._runner.abandon, run)
                finally:
                    # A second interrupt may have struck before the first line was done. It ends
                    # only the waiting: the clean-up is the session's.
                    self._tell(self._runner.abandon, run)
                waiter.wait(grace(timeout))
            raise
        self._tell(self._runner.cancel, run)
        waiter.wait(grace(timeout))
        return take_late(run, timeout, otherwise)

    def _until_begun(self) -> None:
        """What can be told without asking a server is told whatever the deadline: so wait until the
        runner, which may be in another thread, has done what it was told."""
        begun = self._platform.waiter()
        self._tell(begun.set)
        begun.wait(_SOON)

    def close(self) -> None:
        """Close the session: every wait in it ends with SessionClosed, its ephemeral nodes are
        removed. A server that does not answer is waited for a few seconds; then the nodes go when
        the session expires.

        Raises:
            Nothing: closing twice is harmless, and so is closing a copy in a forked process.
        """
        self._close_runner()
        self._callbacks.stop()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    if not TYPE_CHECKING:  # type checkers are to refuse it, too

        async def __aenter__(self) -> NoReturn:
            if self._is_new:  # written beside `connect`, perhaps: then nobody else knows of it
                self.close()
            raise not_async_with(self)

        async def __aexit__(self, *exc: object) -> None:
            """Never called; Python wants both."""


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
    handler: str = "threading",
) -> Session:
    """Open a session with the ensemble at `hosts` ("host:port,host:port").

    `timeout` is the session timeout asked for, `connect_timeout` the time to get a session at all.
    `tick` is the servers' tickTime in seconds, if you know it: holds then stay valid over slower
    links (docs/locks.md).
    `namespace` is put before every path. `auth` is a list of (scheme, credential), `acl` the
    default for created nodes, `tls` a mapping with ca, certfile, keyfile, keyfile_password,
    verify_certs, check_hostname. `retry` says how often in a row recipes begin again after a lost
    session, and reads after a lost connection. `node_data` is what locks write into their nodes
    (default: this host's address). `handler` is "threading" or "gevent".

    Raises:
        ConnectFailed: no server gave us a session in time; it says what each of them did.
        AuthFailed: the servers do not accept the credentials.
        InvalidPath: the namespace, or the chroot in `hosts`, is no path.
        ZkkitError: `hosts` names no usable server, a file of `tls` is missing, or gevent is.
        ValueError: another argument makes no sense (TypeError: `node_data` is not bytes).
    """
    options = Options(
        hosts, timeout=timeout, connect_timeout=connect_timeout, tick=tick, namespace=namespace,
        auth=auth, acl=acl, tls=tls, retry=retry, node_data=node_data,
    )  # fmt: skip
    platform = platform_named(handler)
    return Session(options, platform, transport_for(options, platform))
