"""The half-naive lock: a line in which everybody watches the whole line.

    <path>
      _c_<guid>-lock-0000000041         first, so it holds
      _c_<guid>-lock-0000000042         watches the children of <path>
      _c_<guid>-lock-0000000043         watches the children of <path>

The nodes are those of ReentrantLock, and so is the fairness. But the watch is on the parent: every
release wakes everybody who waits, and so does every newcomer, only to find that it is not their
turn. Correct, and a herd. A design to compare, not one to use: ReentrantLock costs one line more.
"""

from __future__ import annotations

from typing import Any

from ...scripting import S, script
from ...steps import Node, Script
from ..locks.hold import Hold
from ..locks.line import CURATOR, Line
from ..locks.owned import OwnedLock
from ..locks.rules import first_in_line
from ..shared import delete_surely

KIND = CURATOR.exclusive


class ChildrenWatchLock(OwnedLock[S]):
    """A line that everybody watches as a whole: a herd at every release and every arrival."""

    def _contend(self, blocking: bool) -> Script[Node | None]:
        line = Line(self.path, (KIND,))
        wait_turn = line.by_parent(first_in_line, blocking)
        data = self.session.node_data
        return (yield from line.enter(KIND, wait_turn, data=data, watch=True))

    def _let_go(self, hold: Hold[Any]) -> Script[None]:
        return delete_surely(hold.path)

    @script
    def participants(self) -> Script[tuple[str, ...]]:
        """The paths of all contenders, the holder's first."""
        return Line(self.path, (KIND,)).participants()
