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

from ...paths import protected
from ...scripting import S, script
from ...steps import Children, Guid, Node, Proved, Script, Wait
from ..line import Line, first_in_line
from ..locks.hold import Hold
from ..locks.layouts import CURATOR
from ..locks.owned import OwnedLock
from ..shared import create_protected, list_children, withdraw

KIND = CURATOR.exclusive


class ChildrenWatchLock(OwnedLock[S]):
    """A line that everybody watches as a whole: a herd at every release and every arrival."""

    def _contend(self, blocking: bool) -> Script[Hold[S] | None]:
        line = Line(self.path, (KIND,))
        name = protected((yield from Guid()), KIND)
        node: Node | None = None
        try:
            listing = Children(self.path, watch=True)
            node, names = yield from create_protected(
                self.path, name, listing, data=self.session.node_data
            )
            while not (turn := first_in_line(line.ahead_of(node, names))).mine and blocking:
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

    @script
    def participants(self) -> Script[tuple[str, ...]]:
        """The paths of all contenders, the holder's first. Raises as
        `ReentrantLock.participants`."""
        return Line(self.path, (KIND,)).participants()
