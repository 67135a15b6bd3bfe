"""What both fronts share: the plain operations, the options, and everything that does not wait.

The operations are scripts like any recipe's, so there is one of each for both worlds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from ..errors import (
    AuthFailed,
    Cancelled,
    ConnectFailed,
    DeadlineExceeded,
    ForkedSession,
    SessionClosed,
    ZkkitError,
)
from ..hooks import Hooks
from ..recipes.shared import create_with_parents
from ..retry import RetryPolicy
from ..scripting import Recipe, S, as_script, script
from ..steps import (
    Acl,
    Children,
    Create,
    Data,
    Delete,
    Exists,
    Get,
    Mode,
    Multi,
    MultiOp,
    Node,
    Script,
    Set,
    Spawned,
    Stat,
    Step,
)
from .kazoo_transport import KazooTransport
from .operations import Outcome, in_background, make_namespace, read
from .options import Options
from .platforms import Platform
from .run import Run
from .runner import Runner
from .wire import Wire

CLOSING_PATIENCE = 2.0
"""Seconds to wait for a server's goodbye."""


def grace(timeout: float | None) -> float:
    """How long a leaving caller waits for the clean-up."""
    return 0.05 if timeout is None else min(0.05, 0.05 * timeout)


def take(run: Run) -> Any:
    """The outcome of a run that has ended; from here on it is the caller's."""
    error, result = run.error, run.result
    run.claim()
    if error is not None:
        raise error
    return result


def take_late(run: Run, timeout: float | None, give_up: bool) -> Any:
    """The deadline has passed and the run was cancelled: take what it gave all the same, if it
    has ended by now; else leave it to the session."""
    run.left = True  # before looking: whoever is later, the runner or we, sees both
    if run.done and not isinstance(run.error, Cancelled) and run.claim():
        return take(run)
    if give_up:
        return None
    raise DeadlineExceeded(
        f"not done within {timeout:g} s", hint="allow more time; what was begun is being undone"
    )


class Front(Recipe[S]):
    """A session as its user sees it, except for the waiting."""

    def __init__(
        self,
        options: Options,
        platform: Platform,
        deliver: Callable[[Callable[[], object]], None],
    ) -> None:
        self.session = self  # type: ignore[assignment]  # a recipe of itself: the operations
        self.path = "/"
        self.hooks = Hooks()
        """Where instruments are added."""
        self._options = options
        self._platform = platform
        self._pid = os.getpid()
        self._transport = KazooTransport(
            options.hosts,
            platform=platform,
            timeout=options.timeout,
            auth=options.auth,
            tls=options.tls,
        )
        self._runner = Runner(
            self._transport,
            platform=platform,
            wire=Wire(self._transport.chroot, options.acl),
            timeout=options.timeout,
            tick=options.tick,
            hooks=self.hooks,
            deliver=deliver,
        )

    # --- plain operations -------------------------------------------------------------------

    @script
    def create(
        self,
        path: str,
        data: bytes = b"",
        *,
        mode: Mode = Mode.PERSISTENT,
        acl: Sequence[Acl] | None = None,
        ttl_ms: int | None = None,
        make_parents: bool = False,
    ) -> Script[Node]:
        """Create a node; with `make_parents` its missing parents become containers."""
        step = Create(path, data, mode, None if acl is None else tuple(acl), ttl_ms)
        if not make_parents:
            return (yield from step)
        (made,) = yield from create_with_parents(step)
        if isinstance(made, ZkkitError):
            raise made
        return Node(*made)

    @script
    def get(self, path: str) -> Script[Data]:
        """A node's data and stat."""
        return (yield from read(Get(path), self.retry))

    @script
    def set(self, path: str, data: bytes, *, version: int = -1) -> Script[Stat]:
        """Write a node's data, if its version fits."""
        return (yield from Set(path, data, version))

    @script
    def exists(self, path: str) -> Script[Stat | None]:
        """A node's stat, or None."""
        return (yield from read(Exists(path), self.retry))

    @script
    def children(self, path: str) -> Script[tuple[str, ...]]:
        """The names of a node's children."""
        return (yield from read(Children(path), self.retry))

    @script
    def delete(self, path: str, *, version: int = -1) -> Script[None]:
        """Delete a node, if its version fits."""
        yield from Delete(path, version)

    @script
    def multi(self, *ops: MultiOp) -> Script[tuple[str | Stat | None, ...]]:
        """Apply all operations or none."""
        return (yield from Multi(ops))

    # --- scripts that nobody waits for --------------------------------------------------------

    def spawn(self, script: Script[Any], *, name: str = "background") -> Spawned:
        """Run a script in the background until it or the session ends.

        End it with `session.run(Stop(spawned))`. What it raises is logged.
        """
        self._check_usable()
        run = self._runner.background_run(as_script(script), name)
        self._tell(self._runner.start, run)
        return Spawned(run.number)

    def background(self, step: Step[Any], callback: Callable[[Outcome], object]) -> None:
        """Take a step without waiting; `callback(Outcome(step, result, error))` is called where
        the session's user callbacks run."""
        self.spawn(in_background(step, callback))

    # --- the session itself -----------------------------------------------------------------

    @property
    def state(self) -> str:
        """connecting, connected, suspended, lost or closed."""
        return self._runner.state

    @property
    def session_id(self) -> int:
        """ZooKeeper's id of this session; 0 while there is none that surely lives."""
        return 0 if self._forked else self._runner.session_id

    @property
    def timeout(self) -> float:
        """The session timeout in seconds, as negotiated with the server."""
        return self._runner.timeout

    @property
    def kazoo(self) -> Any:
        """The kazoo client below."""
        return self._transport.client

    @property
    def retry(self) -> RetryPolicy:
        """How often recipes begin again."""
        return self._options.retry

    @property
    def node_data(self) -> bytes:
        """What recipes write into their nodes."""
        return self._options.node_data

    def noted(self, key: Hashable) -> Any:
        return self._runner.noted(key)

    def is_held(self, session_id: int, path: str, zxid: int) -> bool:
        return not self._forked and self._runner.is_held(path, zxid)

    def when_lost(
        self, session_id: int, path: str, zxid: int, callback: Callable[[], object]
    ) -> None:
        self._check_not_forked()
        self._runner.when_lost(session_id, path, zxid, callback)

    def __repr__(self) -> str:
        kind = type(self).__name__
        return f"<{kind} {self.session_id:#x} {self.state} {self._options.hosts}>"

    # --- for the fronts ---------------------------------------------------------------------

    def _check_opened(self) -> None:
        """The time to connect is over, one way or the other: raise unless we are connected."""
        if self.state == "connected":
            return
        hosts = self._options.hosts
        if self._transport.denied:
            raise AuthFailed(message=f"{hosts} does not accept our credentials", hint="check auth=")
        refusals = "; ".join(f"{server}: {why}" for server, why in self._transport.refusals.items())
        why = f" ({refusals})" if refusals else ""
        if self.state == "closed":
            raise ConnectFailed(
                f"connecting to {hosts} was given up{why}",
                hint="see zkkit's log for what went wrong there",
            )
        raise ConnectFailed(
            f"no server of {hosts} gave us a session within "
            f"connect_timeout={self._options.connect_timeout:g} s{why}",
            hint="see that the ensemble is up and has a leader, or allow more time "
            "(the session timeout plays no part in this)",
        )

    def _namespace_script(self) -> Script[None]:
        """Make the namespace, then live in it."""
        namespace = self._options.namespace_path
        yield from make_namespace(namespace)
        self._runner.use_root(Wire(self._transport.chroot + namespace, self._options.acl))

    @property
    def _forked(self) -> bool:
        """Whether we are in a child process, where neither the connection nor a thread of the
        session is."""
        return os.getpid() != self._pid

    def _check_not_forked(self) -> None:
        if self._forked:
            raise ForkedSession(
                f"this session was opened in process {self._pid} and does not survive the fork "
                f"into {os.getpid()}",
                hint="open a new session in the child process",
            )

    def _check_usable(self) -> None:
        self._check_not_forked()
        if self.state == "closed":
            raise SessionClosed("the session is closed", hint="open a new one with zkkit.connect")

    def _new_run(self, body: Any, actor: Any, recipe: Recipe[Any] | None) -> Run:
        self._check_usable()
        name = "" if recipe is None or recipe is self else recipe.recorded_as
        return Run(as_script(body), actor, name)

    def _close_runner(self) -> None:
        """May take CLOSING_PATIENCE with a frozen server. In a forked child: nothing."""
        if self._forked:
            return
        ended = self._platform.waiter()

        def end_all() -> None:
            self._runner.end_all()
            ended.set()

        self._tell(end_all)
        ended.wait(CLOSING_PATIENCE)
        self._runner.free(CLOSING_PATIENCE)

    def _tell(self, function: Callable[..., None], *args: Any) -> None:
        """Tell the runner, in such a way that an interrupt can do no harm inside it."""
        if self._platform.may_be_interrupted():
            self._runner.hand_over(function, *args)
        else:
            function(*args)
