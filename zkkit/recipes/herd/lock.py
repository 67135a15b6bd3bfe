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

from collections.abc import Callable
from typing import Any, ClassVar

from ...errors import Cancelled, ConnectionLost, NodeExists, NoNode, SessionLost, ZkkitError
from ...paths import join
from ...scripting import S
from ...steps import (
    Create,
    Data,
    Delete,
    Get,
    Guid,
    Mark,
    Mode,
    Node,
    Proved,
    Script,
    SessionId,
    Sync,
    Together,
    Wait,
)
from ..locks.hold import Hold
from ..locks.owned import OwnedLock
from ..shared import create_with_parents, surely

NAME = "lock"


class HerdLock(OwnedLock[S]):
    """One ephemeral node that everybody watches: a herd at every release."""

    unique_names: ClassVar[bool] = False

    def _contend(self, blocking: bool) -> Script[Node | None]:
        guid = (yield from Guid()).encode()
        path = join(self.path, NAME)
        try:
            while True:
                node = yield from self._try(path, guid)
                if node is not None or not blocking:
                    return node
                try:
                    yield from Get(path, watch=True)
                    yield from Wait()
                except (NoNode, ConnectionLost):
                    pass  # it left before we looked, or we cannot know: try again
        except SessionLost:
            raise  # the node goes with its session
        except BaseException:
            yield from _delete_own(path, lambda found: found.data == guid)
            raise

    def _try(self, path: str, guid: bytes) -> Script[Node | None]:
        """Create the node, or find out after a lost reply that we did; None: taken."""
        (made,) = yield from create_with_parents(Create(path, guid, Mode.EPHEMERAL))
        if isinstance(made, ConnectionLost):
            found = yield from _find_own(path, lambda found: found.data == guid)
            made = None if found is None else Node(path, found.stat)
        if made is None or isinstance(made, NodeExists):
            return None
        if isinstance(made, ZkkitError):
            raise made
        yield from Proved()
        return Node(*made)

    def _let_go(self, hold: Hold[Any]) -> Script[None]:
        try:
            yield from Delete(hold.path)
        except (NoNode, SessionLost):
            return
        except (ConnectionLost, Cancelled) as unsure:
            # The name is fixed: a blind second delete could hit the next holder's node.
            yield from _delete_own(hold.path, lambda found: found.stat.czxid == hold.czxid)
            if isinstance(unsure, Cancelled):
                raise


def _find_own(path: str, ours: Callable[[Data], bool]) -> Script[Data | None]:
    """The lock node, if it is of this session and `ours` says so of it."""
    while True:
        try:
            _, found = yield from Together(Sync(path), Get(path))
            session = yield from SessionId()
            if found.stat.ephemeral_owner != session or not ours(found):
                return None
            yield from Mark("found", path, found.stat.czxid)
            return found
        except NoNode:
            return None
        except ConnectionLost:
            continue


def _delete_own(path: str, ours: Callable[[Data], bool]) -> Script[None]:
    """Delete the lock node if it is ours, until that is certain."""

    def attempt() -> Script[None]:
        if (yield from _find_own(path, ours)) is not None:
            yield from Delete(path)

    return surely(attempt)
