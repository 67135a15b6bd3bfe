"""Leader election: Curator's LeaderLatch, on the same nodes.

    <path>                                      a container: the server removes it when empty
      _c_<guid>-latch-0000000041                ephemeral, sequential: first, so it leads
      _c_<guid>-latch-0000000042                watches 41; the data of each is its candidate's id
      _c_<guid>-latch-0000000043                watches 42

1. Create a protected ephemeral sequential node and list the children, in one flight.
2. Ours is first: we lead. Watch our own node: it tells when somebody removes it, or when the
   connection breaks. Otherwise watch the node just before ours. (Get, not exists: a node that
   vanished meanwhile leaves no watch behind.)
3. Woken because the node before ours has gone, and it was the first: we lead. Numbers only grow,
   so nobody can have come in between. It was the first if no other was ahead of ours when we
   listed, or if it has said so to all in this process (see ../line.py). Woken
   for any other reason: list again and go to 2. Our node is not there: begin again at 1.
4. `close` deletes the node, which wakes the one candidate behind it.

Guarantees: at every zxid at most one session has been told that it leads and still has its node;
candidates lead in the order in which they came; at most one is woken when a leader goes; a
candidate has one node and never two, and that of the session it lives in; a lost reply, a close, a
crash leaves no orphan. Not guaranteed: that a leader paused for longer than its session timeout
notices before it acts. That is what `leadership.valid`, `.token` and `.transaction` are for. If
somebody deletes the node of a candidate by hand that is next in line, it hears of that at once: by
its next look, or if it is woken to lead first, by the watch on its own node, and until that answers
it believes that it leads.

Connection loss: with `error_policy="suspended"` we do not lead from the moment the connection
breaks until we have looked again on a new one; the node is kept, so if all is well we lead again,
by a new leadership with the same token. With "lost" we lead on while it is proved that the servers
keep our session. In both cases leadership ends with that proof, before another can be elected.
Expiry: we stand again in the next session, behind all others. A deadline: `wait` gives None, and we
stay a candidate.

`close_mode="silent"` tells listeners nothing when we close while leading, "notify" does. Listeners
run where the session's callbacks do, in order, and hold up nothing but each other.

Cost: 1 flight to stand (2 where the parents are missing), and 1 for the watch; a leader that goes
wakes 1 candidate by 1 fire, which leads at once, or after 1 flight if others were ahead of both
when it came and that leader is of another process, and watches its node by one more. (One that
closes hears of its own node's going as well.) `participants` and `leader` take 2 flights.
"""

from __future__ import annotations

from ...errors import Cancelled, SessionClosed, SessionLost
from ...paths import join, protected
from ...scripting import S, timed_script
from ...steps import Children, Guid, Node, Proved, Recall, Script, Stop, Wait
from ..arguments import check_choice
from ..line import Line, first_in_line
from ..shared import create_protected, list_children, saw_it_go, withdraw
from ..tenure import still_held
from .candidate import Candidate
from .leadership import Leadership, Participant, participants_in

KIND = "latch-"
ERROR_POLICIES = ("suspended", "lost")
CLOSE_MODES = ("silent", "notify")


class LeaderLatch(Candidate[S]):
    """A candidate in an election from `start` to `close` (LeaderLatch). Its listeners are told a
    `LeaderEvent` when it begins to lead and when that ends.

    Raises ValueError if there is no such `error_policy` or `close_mode`.
    """

    def __init__(
        self,
        session: S,
        path: str,
        *,
        id: str = "",
        error_policy: str = "suspended",
        close_mode: str = "silent",
    ) -> None:
        super().__init__(session, path, id)
        check_choice("error policy", error_policy, ERROR_POLICIES)
        check_choice("close mode", close_mode, CLOSE_MODES)
        self._line = Line(self.path, (KIND,), append_only=True)
        self._error_policy = error_policy
        self._close_mode = close_mode

    def _stand(self) -> Script[None]:
        name = protected((yield from Guid()), KIND)
        data = self.id.encode()
        node: Node | None = None
        try:
            # Create our node and list all of them: one flight.
            node, names = yield from create_protected(
                self.path, name, Children(self.path), data=data
            )
            while True:
                turn = first_in_line(self._line.ahead_of(node, names))
                if turn.mine:
                    yield from self._line.announce(node)
                    yield from self._lead(node)
                    names = yield from list_children(self.path)
                else:
                    # Nobody but the one just ahead: else a leader that goes would wake a herd.
                    gone = yield from saw_it_go(join(self.path, turn.behind))
                    names = yield from self._line.look_again(node, turn, gone)
        except BaseException as ended:
            yield from withdraw(self.path, name, node, after=ended)
            raise

    def _lead(self, node: Node) -> Script[None]:
        """Lead by this node until that is in doubt: then look again."""
        yield from Proved()  # what a server that lags shows us may be old
        lead = Leadership(self, node)
        patient = self._error_policy == "lost"
        sentry = yield from self._take_office(lead, when_suspended=patient)
        closed = False
        try:
            while (yield from self._still_in_office(lead)):
                yield from Wait()
        except Cancelled:
            closed = True
            raise
        finally:
            told = not closed or self._close_mode == "notify"
            yield from self._leave_office(lead, lost=not closed, told=told)
            yield from Stop(sentry)

    @timed_script
    def wait(self, timeout: float | None = None) -> Script[Leadership[S]]:
        """Wait until we lead; None if `timeout` passes before. Also while sessions are lost. With a
        timeout of 0 it asks whether we lead now.

        Raises NotStarted if it was not started or is closed meanwhile, SessionClosed if the session
        is, and what made the candidate give up (NoAuth, ...).
        """
        while True:
            yield from self._check_running()
            lead: Leadership[S] | None = yield from Recall(self._led, watch=True)
            if lead is not None and (yield from still_held(lead)):
                return lead
            try:
                yield from Wait()
            except SessionClosed:
                raise
            except SessionLost:
                continue  # the candidate stands again, and we wait on

    def _participants(self) -> Script[tuple[Participant, ...]]:
        return participants_in(self._line)
