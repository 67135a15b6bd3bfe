"""The naive election, and its herd.

    <path>            a container
      leader          ephemeral: whoever created it leads; its data names the candidate

1. Create `<path>/leader`. It worked: we lead, and watch it, as it is ours.
2. It exists: get it with a watch, and wait. (Get, not exists: else the watches of candidates that
   found it gone would fire once more, as "created".)
3. Woken: everybody goes to 1. One wins, the others were woken for nothing.

Guarantees what `LeaderLatch` does, but the order: whoever is quickest leads. With N candidates a
leader that goes fires N - 1 watches of others, where the sequential design fires one. Connection
loss, expiry and closing as there. The one name says nothing about who else would like to lead:
`participants` knows the leader only. Since the name is fixed, its being there does not make it
ours: `leadership.transaction` is refused. Curator has no such class.

Cost: 1 flight to stand (2 where the parents are missing), and 1 for the watch, for each candidate
and each leader that goes.
"""

from __future__ import annotations

from typing import ClassVar

from ...errors import NoNode, SessionLost
from ...paths import join
from ...scripting import S
from ...steps import Exists, Get, Guid, Node, Script
from ..elections.latch import LeaderLatch
from ..elections.leadership import Participant, id_in
from ..shared import create_if_free, delete_ours, until_answered, wait_for_change

NAME = "leader"
GUID = 36


class HerdElection(LeaderLatch[S]):
    """One ephemeral node that every candidate watches: a herd when its leader goes."""

    unique_names: ClassVar[bool] = False

    def __init__(self, session: S, path: str, *, id: str = "") -> None:
        super().__init__(session, path, id=id)

    def _stand(self) -> Script[None]:
        path = join(self.path, NAME)
        # A guid before the id: after a lost reply we know our node by its data.
        mine = ((yield from Guid()) + self.id).encode()
        try:
            while True:
                node = yield from create_if_free(path, mine)
                if node is None:
                    # The herd: everybody watches the same node, and is woken when it goes.
                    yield from wait_for_change(path)
                while node is not None:
                    yield from self._lead(node)
                    node = yield from self._if_there(node)
        except SessionLost:
            raise  # the node goes with its session
        except BaseException:
            yield from delete_ours(path, lambda found: found.data == mine)
            raise

    def _if_there(self, node: Node) -> Script[Node | None]:
        """Our node, if it is still there."""
        found = yield from until_answered(Exists(node.path))
        return node if found is not None and found.czxid == node.stat.czxid else None

    def _participants(self) -> Script[tuple[Participant, ...]]:
        """The leader: of the others nothing is known here."""
        try:
            found = yield from until_answered(Get(join(self.path, NAME)))
        except NoNode:
            return ()
        return (Participant(id_in(found.data)[GUID:], True),)
