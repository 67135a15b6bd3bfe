"""Leading as a function that runs: Curator's LeaderSelector, on the same nodes.

    <path>                                      a container: the server removes it when empty
      _c_<guid>-lock-0000000041                 ephemeral, sequential: first, so its function runs
      _c_<guid>-lock-0000000042                 watches 41; the data of each is its candidate's id

1. Create a protected ephemeral sequential node and list the children, in one flight; wait for the
   one just before ours to go, and list again unless that is known to have been the first. The nodes
   are those of a lock (InterProcessMutex): whoever holds it leads.
2. Ours is first: your function runs, as an actor of its own: in a thread or greenlet, or on asyncio
   as a task. It is given a leadership with an event `stop`. We lead until it returns.
3. `stop` is set (on asyncio the task is cancelled as well) the moment we may no longer lead: by the
   session's own clock, by a lost session, by somebody who removes our node; and by `interrupt` and
   `close`.
4. When the function has ended, not before, our node is deleted: the next one leads. Then we stand
   again if `auto_requeue` says so, or somebody has called `requeue`.

Guarantees: those of a fair lock; beside that the function never runs twice at once for one
selector, also not after a lost session: the old run must have ended before the next one begins.
Two functions of two candidates do not run together as long as those stop in time. Not guaranteed:
that a function which goes on after `stop`, or was paused for longer than its session timeout, has
ended when the next leader's begins. That is what `leadership.valid`, `.token` and `.transaction`
are for. Nor anything for a moment after somebody deletes the node of a candidate by hand that is
next in line, or leads: its function may run until the watch on its own node tells, a round trip
later, while the next one's begins.

Connection loss is outlived: a suspended connection alone stops nothing. Expiry while waiting: we
stand again. Expiry while leading: the function is stopped; `auto_requeue` decides what follows.
`close` waits until the function has returned, unless it is the function itself that closes.
What the function raises is logged, and ends its turn.

Cost: as a fair lock; leading costs one more flight, to watch our own node.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import SessionLost
from ...paths import join, protected
from ...scripting import Awaiting, S, closing_script, script
from ...steps import (
    Actor,
    Children,
    Dismiss,
    Employ,
    Guid,
    Node,
    Proved,
    Recall,
    Remember,
    Script,
    Spawn,
    Stop,
    Wait,
)
from ..arguments import check_callable, check_flag, is_awaited
from ..line import Line, first_in_line
from ..shared import create_protected, saw_it_go, surely, withdraw
from ..tenure import still_held
from .candidate import Candidate
from .leadership import Leadership, LeaderTerm, Participant, participants_in

KIND = "lock-"


class LeaderSelector(Candidate[S]):
    """Runs `function(leadership)` whenever this candidate leads (LeaderSelector). On asyncio it is
    a coroutine function. Raises ValueError if it is not what the session needs."""

    def __init__(
        self,
        session: S,
        path: str,
        function: Callable[[LeaderTerm[Any]], Any],
        *,
        id: str = "",
        auto_requeue: bool = False,
    ) -> None:
        super().__init__(session, path, id)
        _check_function(function, awaited=isinstance(session, Awaiting))
        check_flag("auto_requeue", auto_requeue)
        self._line = Line(self.path, (KIND,), append_only=True)
        self._function = function
        self._auto_requeue = auto_requeue
        self._queued = (self, "queued")
        self._job = (self, "job")

    @script
    def start(self) -> Script[None]:
        """Begin to stand for election. Raises AlreadyStarted if it was started before."""
        yield from super().start.of()
        yield from Remember(self._queued, True)

    @closing_script
    def close(self) -> Script[None]:
        """Stop the function if it runs, wait until it has returned, and leave. Closing twice is
        harmless. A function that closes its own selector does not wait for itself."""
        leave = super().close
        job = yield from Recall(self._job)
        if job is not None and job.actor == (yield from Actor()):
            yield from Spawn(leave.of(), f"closing {self!r}")
        else:
            yield from leave.of()

    def _stand(self) -> Script[None]:
        while not (yield from Recall(self._queued, watch=True)):
            yield from Wait()  # until somebody calls requeue
        name = protected((yield from Guid()), KIND)
        data = self.id.encode() or self.session.node_data
        node: Node | None = None
        try:
            # Create our node and list all of them: one flight.
            node, names = yield from create_protected(
                self.path, name, Children(self.path), data=data
            )
            while not (turn := first_in_line(self._line.ahead_of(node, names))).mine:
                # Nobody but the one just ahead: else a leader that goes would wake a herd.
                gone = yield from saw_it_go(join(self.path, turn.behind))
                names = yield from self._line.look_again(node, turn, gone)
            yield from self._line.announce(node)
            yield from Proved()  # what a server that lags shows us may be old
            yield from self._lead(node)
        except BaseException as ended:
            yield from withdraw(self.path, name, node, after=ended)
            raise
        yield from withdraw(self.path, name, node)

    def _lead(self, node: Node) -> Script[None]:
        """Let the function run, and see to it that it ends."""
        lead = Leadership(self, node)
        yield from Remember(self._queued, self._auto_requeue or None)
        sentry = yield from self._take_office(lead, when_suspended=True)
        yield from Employ(self._job, self._serve, node)
        try:
            while not (yield from Recall(self._job, watch=True)).ended:
                if not (yield from self._still_in_office(lead)):
                    yield from self._leave_office(lead, lost=True)
                    break
                yield from Wait()
        except SessionLost:
            yield from self._leave_office(lead, lost=True)
            raise
        finally:
            yield from Dismiss(self._job)
            try:
                yield from surely(self._until_it_ends, outlives_session=True)
            finally:
                yield from Remember(self._job, None)
                yield from self._leave_office(lead, lost=not (yield from still_held(lead)))
                yield from Stop(sentry)

    def _serve(self, stop: Any, node: Node) -> Any:
        """What runs as an actor of its own."""
        return self._function(LeaderTerm(self, node, stop))

    def _until_it_ends(self) -> Script[None]:
        while not (yield from Recall(self._job, watch=True)).ended:
            yield from Wait()

    @script
    def requeue(self) -> Script[bool]:
        """Stand for election again, when the function has ended if it runs now; False if we do so
        anyway. Raises NotStarted if it was not started, or is closed."""
        yield from self._check_running()
        if (yield from Recall(self._queued)):
            return False
        yield from Remember(self._queued, True)
        return True

    @script
    def interrupt(self) -> Script[None]:
        """Ask the function to stop, if it runs. Our node goes when it has ended. Raises
        SessionClosed if the session was closed."""
        yield from Dismiss(self._job)

    def _participants(self) -> Script[tuple[Participant, ...]]:
        return participants_in(self._line)


def _check_function(function: object, *, awaited: bool) -> None:
    check_callable("what a leader does", function)
    if is_awaited(function) != awaited:
        wants = "a coroutine function (async def)" if awaited else "a plain function (def)"
        raise ValueError(f"in this session a leader needs {wants}, not {function!r}")
