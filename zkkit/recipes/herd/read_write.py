"""The naive shared lock: readers and writers in one line that everybody watches.

    <path>
      <guid>-R-0000000041               reads
      <guid>-W-0000000042               watches the children of <path>
      <guid>-R-0000000043               watches the children of <path>

A reader goes when no writer is ahead of it, a writer when nobody is. Every change of the line wakes
everybody who waits. A design to compare with ReadWriteLock, not one to use.
"""

from __future__ import annotations

from typing import Any

from ...scripting import Recipe, S
from ...steps import Node, Script
from ..locks.hold import Hold
from ..locks.line import Layout, Line
from ..locks.owned import OwnedLock
from ..locks.rules import Rule, behind_last, first_in_line
from ..shared import delete_surely

READ, WRITE = "-R-", "-W-"
LAYOUT = Layout(lambda guid, kind: guid + kind, exclusive=WRITE, read=READ, write=WRITE)


class _Half(OwnedLock[S]):
    """One half of a HerdReadWriteLock."""

    def __init__(self, session: S, path: str, kind: str, rule: Rule) -> None:
        super().__init__(session, path)
        self._line = Line(self.path, (READ, WRITE), LAYOUT)
        self._kind = kind
        self._rule = rule

    def _contend(self, blocking: bool) -> Script[Node | None]:
        wait_turn = self._line.by_parent(self._rule, blocking)
        data = self.session.node_data
        return (yield from self._line.enter(self._kind, wait_turn, data=data, watch=True))

    def _let_go(self, hold: Hold[Any]) -> Script[None]:
        return delete_surely(hold.path)


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
