"""What both fronts share: everything about a session that does not wait for a script's end."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from typing import Any

from ..errors import (
    AuthFailed,
    Cancelled,
    ConnectFailed,
    DeadlineExceeded,
    ForkedSession,
    SessionClosed,
)
from ..hooks import HOOK_NAMES, Hooks
from ..recipes.arguments import check_callback
from ..scripting import RAISE, AnySession, InSession, S, as_script
from ..steps import Script, Spawned, Step
from .operations import Operations, StepOutcome, in_background, make_namespace
from .options import Options
from .platforms import Employer, Platform
from .run import Run
from .runner import Runner
from .transport import Transport

CLOSING_PATIENCE = 2.0
"""Seconds to wait for a server's goodbye."""

_AMPLE = 1.0  # seconds: who wants a session, and is up, answers within that


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


def take_late(run: Run, timeout: float | None, otherwise: Any) -> Any:
    """The deadline has passed and the run was cancelled: take what it gave all the same, if it
    has ended by now; else leave it to the session."""
    # Before looking: if the run ends just now, either the runner sees this or we see its end.
    run.abandoned = True
    if run.done and not isinstance(run.error, Cancelled) and run.claim():
        return take(run)
    if otherwise is not RAISE:
        return otherwise
    raise DeadlineExceeded(
        f"not done within {timeout:g} s", hint="allow more time; what was begun is being undone"
    )


class Front(Operations[S], AnySession):
    """A session as its user sees it, except for the waiting."""

    hooks: Hooks
    """Where instruments are added."""

    def __init__(
        self,
        options: Options,
        platform: Platform,
        transport: Transport,
        deliver: Callable[[Callable[[], object]], None],
        employ: Employer,
    ) -> None:
        self.session = self  # type: ignore[assignment]  # it lives in itself: the operations
        self.hooks = Hooks()
        self.retry = options.retry
        self.node_data = options.node_data
        self._options = options
        self._platform = platform
        self._pid = os.getpid()
        self._transport = transport
        self._runner = Runner(transport, options, platform, self.hooks, deliver, employ)
        self._used = False

    # --- scripts that nobody waits for --------------------------------------------------------

    def spawn(self, script: Script[Any], *, name: str = "background") -> Spawned:
        """Run a script in the background until it or the session ends.

        End it with `session.run(Stop(spawned))`. What the script raises is logged.

        Raises:
            NotAStep: this is neither a script nor a step.
            SessionClosed: the session is closed.
            ForkedSession: it was opened in another process.
        """
        self._check_usable()
        self._used = True
        run = self._runner.background_run(as_script(script), name)
        self._tell(self._runner.start, run)
        return Spawned(run.number)

    def begin_script(self, body: Script[Any], *, owner: InSession[Any]) -> None:
        """Run a recipe's script in the background. Raises SessionClosed and ForkedSession as
        `spawn`."""
        self._check_usable()
        self._used = True
        run = self._runner.background_run(as_script(body), repr(owner), owner.recorded_as)
        self._tell(self._runner.start, run)

    def background(self, step: Step[Any], callback: Callable[[StepOutcome], object]) -> None:
        """Take a step without waiting; `callback(StepOutcome(step, result, error))` is called where
        the session's user callbacks run.

        Raises:
            SessionClosed: the session is closed.
            ForkedSession: it was opened in another process.
            ValueError: `callback` cannot be called, or would have to be awaited.
        """
        check_callback("a callback", callback)
        self.spawn(in_background(step, callback))

    # --- the session itself -----------------------------------------------------------------

    @property
    def kazoo(self) -> Any:
        """The kazoo client below."""
        self._used = True  # for all that we can know
        return self._transport.client

    @property
    def state(self) -> str:
        """connecting, connected, suspended, lost or closed (in a forked child: closed)."""
        return "closed" if self._forked else self._runner.state

    @property
    def session_id(self) -> int:
        """ZooKeeper's id of this session; 0 while there is none that surely lives."""
        return 0 if self._forked else self._runner.session_id

    @property
    def timeout(self) -> float:
        """The session timeout in seconds, as negotiated with the server."""
        return self._runner.timeout

    def standing(self) -> list[str]:
        """For each script that runs in the session, where it stands and what it waits for: for
        people who look for one that hangs."""
        return [] if self._forked else self._runner.standing()

    def noted(self, key: Hashable) -> Any:
        return self._runner.noted(key)

    def is_held(self, session_id: int, path: str, zxid: int) -> bool:
        return not self._forked and self._runner.is_held(session_id, path, zxid)

    def when_lost(
        self, session_id: int, path: str, zxid: int, callback: Callable[[], object]
    ) -> None:
        """Call back when that hold is lost. Raises ForkedSession if the session was opened in
        another process."""
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
        timeout = self._options.timeout
        raise ConnectFailed(
            f"no server of {hosts} gave us a session within "
            f"connect_timeout={self._options.connect_timeout:g} s{why}",
            hint="see that the ensemble is up and has a leader, or allow more time "
            + (
                "(the session timeout plays no part in this)"
                if timeout >= _AMPLE
                else f"(of one server an answer is awaited for timeout={timeout:g} s at most)"
            ),
        )

    @property
    def _is_new(self) -> bool:
        """Whether nobody has done anything with it since it was opened."""
        return not (self._used or any(getattr(self.hooks, name) for name in HOOK_NAMES))

    def _namespace_script(self) -> Script[None]:
        """Make the namespace, then live in it."""
        namespace = self._options.namespace_path
        yield from make_namespace(namespace)
        self._runner.live_below(namespace)

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
        if self._runner.state == "closed":
            raise SessionClosed("the session is closed", hint="open a new one with zkkit.connect")

    def _new_run(self, body: Any, owner: InSession[Any]) -> Run:
        self._check_usable()
        self._used = True
        return Run(as_script(body), self.actor(), owner.recorded_as)

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
        """Tell the runner, in such a way that an interrupt can do no harm inside it.

        Ctrl-C strikes the main thread between any two bytecodes: in the middle of the runner it
        would leave a run half begun, for ever. So the main thread does not go in there. It hands
        the call over to the thread that reads its connection, where no interrupt can strike, by a
        queue that it cannot leave half changed. All other callers go in themselves: the hop
        costs a switch of threads. But they do not overtake the main thread: while something that it
        handed over is still to be done, what they tell goes into the same queue.
        """
        if self._platform.may_be_interrupted() or self._runner.has_handed_over():
            self._runner.hand_over(function, *args)
        else:
            function(*args)
