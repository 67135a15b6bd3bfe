"""The naive exclusive lock, and its herd.

    <path>            a container
      lock            ephemeral: whoever created it holds; its data names the attempt

1. Create `<path>/lock`. It worked: held.
2. It exists: get it with a watch, and wait. (Get, not exists: else the watches of waiters that
   found it gone would fire once more, as "created".)
3. Woken: everybody goes to 1. One wins, the others were woken for nothing.

Guarantees mutual exclusion and, as every zkkit lock, leaves nothing behind. Not fair: whoever is
quickest wins. With N waiting, a release fires N watches; N contenders that acquire once each cost
up to N(N+1)/2 fires and N(N+3)/2 creates, where the sequential design needs N of each.

Timeout, connection loss, expiry: as `ReentrantLock`. Since the name is fixed, its being there does
not make it ours: `hold.transaction` is refused. Not reentrant. Curator has no such class.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ...errors import SessionLost
from ...paths import join
from ...scripting import S
from ...steps import Guid, Proved, Script
from ..locks.hold import Hold
from ..locks.owned import OwnedLock
from ..shared import create_if_free, delete_ours, wait_for_change

NAME = "lock"


class HerdLock(OwnedLock[S]):
    """One ephemeral node that everybody watches: a herd at every release."""

    unique_names: ClassVar[bool] = False

    def _contend(self, blocking: bool) -> Script[Hold[S] | None]:
        guid = (yield from Guid()).encode()
        path = join(self.path, NAME)
        try:
            while (node := (yield from create_if_free(path, guid))) is None and blocking:
                # The herd: everybody watches the same node, and is woken when it goes.
                yield from wait_for_change(path)
            if node is None:
                return None
            yield from Proved()  # what a server that lags shows us may be old
            return Hold(self, node)
        except SessionLost:
            raise  # the node goes with its session
        except BaseException:
            yield from delete_ours(path, lambda found: found.data == guid)
            raise

    def _let_go(self, hold: Hold[Any]) -> Script[None]:
        # The name is fixed: a blind second delete could hit the next holder's node.
        return delete_ours(hold.path, lambda found: found.stat.czxid == hold.czxid, is_there=True)
