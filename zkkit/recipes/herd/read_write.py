"""The naive shared lock: readers and writers in one line that everybody watches.

    <path>
      <guid>-R-0000000041               reads
      <guid>-W-0000000042               watches the children of <path>
      <guid>-R-0000000043               watches the children of <path>

A reader goes when no writer is ahead of it, a writer when nobody is. Every change of the line wakes
everybody who waits. A design to compare with ReadWriteLock, not one to use.
"""

from __future__ import annotations

from ...scripting import Recipe, S
from ...steps import Children, Guid, Node, Proved, Script, Wait
from ..line import Line, Rule, behind_last, first_in_line
from ..locks.hold import Hold
from ..locks.owned import OwnedLock
from ..shared import create_protected, list_children, withdraw

READ, WRITE = "-R-", "-W-"


class _Half(OwnedLock[S]):
    """One half of a HerdReadWriteLock."""

    def __init__(self, session: S, path: str, kind: str, rule: Rule) -> None:
        super().__init__(session, path)
        self._line = Line(self.path, (READ, WRITE))
        self._kind = kind
        self._rule = rule

    def _contend(self, blocking: bool) -> Script[Hold[S] | None]:
        name = (yield from Guid()) + self._kind
        node: Node | None = None
        try:
            listing = Children(self.path, watch=True)
            node, names = yield from create_protected(
                self.path, name, listing, data=self.session.node_data
            )
            while not (turn := self._rule(self._line.ahead_of(node, names))).mine and blocking:
                yield from Wait()
                # The herd: everybody watches all children, and is woken by every change.
                names = yield from list_children(self.path, watch=True)
            if turn.mine:
                yield from Proved()  # what a server that lags shows us may be old
                return Hold(self, node)
        except BaseException as ended:
            yield from withdraw(self.path, name, node, after=ended)
            raise
        yield from withdraw(self.path, name, node)
        return None


class HerdReadLock(_Half[S]):
    """The read half: goes when no writer is ahead."""


class HerdWriteLock(_Half[S]):
    """The write half: goes when nobody is ahead."""


class HerdReadWriteLock(Recipe[S]):
    """A pair of locks, `read` and `write`, in a line that everybody watches."""

    def __init__(self, session: S, path: str) -> None:
        super().__init__(session, path)
        self.read = HerdReadLock(session, path, READ, behind_last(WRITE))
        self.write = HerdWriteLock(session, path, WRITE, first_in_line)
