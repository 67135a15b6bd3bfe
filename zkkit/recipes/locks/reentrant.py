"""The fair, reentrant lock: Curator's InterProcessMutex, on the same nodes.

    <path>                                      a container: the server removes it when empty
      _c_<guid>-lock-0000000041                 ephemeral, sequential: first, so it holds
      _c_<guid>-lock-0000000042                 watches 41
      _c_<guid>-lock-0000000043                 watches 42

1. Create a protected ephemeral sequential node and list the children, in one flight.
2. Ours is first: held. Otherwise get the node just before ours, with a watch. (Get, not exists:
   a node that vanished meanwhile leaves no watch behind.)
3. Woken, for whatever reason: list again and go to 2.
4. Release deletes the node, which wakes the one waiter behind it.

Guarantees: at every zxid at most one session has been told that its node is first and still has
it; grants in the order of creation; at most one waiter woken per release; a lost reply, a cancel,
a deadline or a crash leaves neither a second contender nor an orphan. Not guaranteed: that a
holder paused for longer than its session timeout notices before it acts. That is what
`hold.valid`, `hold.token` and `hold.transaction` are for.

Timeout: our node is removed, the call gives None. Connection loss: outlived; the queue is read
again after the reconnect. Expiry while waiting: begun again with a new node, as the retry policy
allows. Expiry while holding: `hold.valid` is false and stays so, `hold.on_lost` is called.

Cost: 2 flights for an uncontended acquire and release (3 where the parents are missing), 3 for a
contended acquire. The token costs nothing.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from ...errors import ConnectionLost, NoNode, SessionLost
from ...paths import join, sequence_of, serial_distance, split
from ...scripting import S
from ...steps import Get, Guid, Node, Script, Wait
from ..shared import create_protected, delete_surely, list_children, withdraw
from .hold import Hold
from .owned import OwnedLock

PREFIX = "lock-"


class Turn(NamedTuple):
    """What a rule says to a contender: is it your turn, and if not, whom to watch."""

    mine: bool
    behind: str = ""


def first_in_line(names: tuple[str, ...], me: str) -> Turn | None:
    """The first in line has the lock; everybody else watches the one just before.

    None if `me` is not in line. Children that are no contenders do not count.
    """
    own = sequence_of(me, PREFIX)
    if own is None or me not in names:
        return None
    nearest, behind = 0, ""
    for name in names:
        sequence = sequence_of(name, PREFIX)
        if sequence is None:
            continue
        distance = serial_distance(sequence, own)
        if distance < 0 and (not behind or distance > nearest):
            nearest, behind = distance, name
    return Turn(mine=not behind, behind=behind)


class ReentrantLock(OwnedLock[S]):
    """A fair lock across processes that its owner may acquire again (InterProcessMutex)."""

    reentrant: ClassVar[bool] = True
    unique_names: ClassVar[bool] = True

    def _contend(self, blocking: bool) -> Script[Node | None]:
        guid = yield from Guid()
        node: Node | None = None
        try:
            node, queue = yield from create_protected(
                self.path, guid, PREFIX, data=self.session.node_data
            )
            me = split(node.path)[1]
            while True:
                turn = first_in_line(queue, me)
                if turn is None:
                    raise NoNode(node.path)  # somebody removed it: begin again
                if turn.mine:
                    return node
                if not blocking:
                    yield from withdraw(self.path, guid, node)
                    return None
                try:
                    yield from Get(join(self.path, turn.behind), watch=True)
                    yield from Wait()
                except (NoNode, ConnectionLost):
                    pass  # it left before we looked, or we cannot know: look again
                queue = yield from list_children(self.path)
        except SessionLost:
            raise  # the node goes with its session
        except BaseException:
            yield from withdraw(self.path, guid, node)
            raise

    def _let_go(self, hold: Hold[Any]) -> Script[None]:
        return delete_surely(hold.path)
