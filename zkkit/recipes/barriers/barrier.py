"""Nobody passes while the barrier is closed: Curator's DistributedBarrier, on the same node.

    <path>        persistent: the barrier is closed while this node is there

1. set: create the node. It may be there already.
2. remove: look which node is there (its czxid), and delete it. It may be gone already.
3. wait: let the server catch up and get the node, with a watch: one flight. No node: the barrier is
   open. Otherwise wait until the watch fires, and look again.

Guarantees: whoever came while the barrier was closed does not pass before it was opened; all who
wait are woken by its opening; a remove opens one barrier, also where its reply is lost and somebody
closes the barrier again meanwhile. (A delete that is only repeated would open that one, too: before
each repetition the czxid says whether it still is the same node.) Not guaranteed: that somebody who
is slow sees every opening: one that was opened and closed again before a waiter looked is closed to
it.

Timeout: `wait` gives False and leaves nothing, neither a node nor a watch. Connection loss:
outlived; a waiter looks again after the reconnect. Expiry: the node is nobody's, so the barrier
stays as it is; who waits goes on in the next session, as the retry policy allows.

Cost: set 1 flight (2 where the parents are missing), remove 2, wait 1, and 1 for each time that it
is woken.
"""

from __future__ import annotations

from ...errors import NoNode, SessionLost
from ...scripting import Recipe, S, script, timed_script
from ...steps import Create, Delete, Get, Script, Sync, Together, Wait
from ..shared import begin_again, create_or_there, surely, until_answered


class Barrier(Recipe[S]):
    """A gate that anyone may close and open, and at which any number may wait
    (DistributedBarrier)."""

    @script
    def set(self) -> Script[None]:
        """Close the barrier; it may be closed already.

        Raises what the servers refuse (NoAuth, NoChildrenForEphemerals, ...), and SessionLost if
        the session is lost meanwhile: then nobody knows whether it is closed.
        """
        yield from create_or_there(Create(self.path))

    @script
    def remove(self) -> Script[None]:
        """Open the barrier that is closed now, and no later one; wakes everybody who waits at it.
        It may be open already.

        Raises what the servers refuse (NoAuth, NotEmpty if somebody made children of the node).
        """
        closed_by = 0

        def attempt() -> Script[None]:
            nonlocal closed_by
            _, found = yield from Together(Sync(self.path), Get(self.path))
            closed_by = closed_by or found.stat.czxid
            if found.stat.czxid == closed_by:
                yield from Delete(self.path)

        yield from surely(attempt, outlives_session=True)

    @timed_script(otherwise=False)
    def wait(self, timeout: float | None = None) -> Script[bool]:
        """Wait until the barrier is open: True, or False when the time is up. (With a timeout of 0
        no server is waited for, and only a server can tell: to poll, ask whether the node exists.)

        Raises SessionLost if the session was lost more often than the retry policy allows, and
        SessionClosed if it was closed.
        """
        return begin_again(self._wait, self.session.retry, SessionLost)

    def _wait(self) -> Script[bool]:
        while True:
            try:
                # Sync: it may have been closed by way of a server that ours lags behind.
                # Get, not exists: an open barrier leaves no watch behind.
                yield from until_answered(Together(Sync(self.path), Get(self.path, watch=True)))
            except NoNode:
                return True
            yield from Wait()
