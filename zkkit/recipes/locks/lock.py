"""A lock that is not reentrant: Curator's InterProcessSemaphoreMutex, a semaphore of one lease.

    <path>/locks/_c_<guid>-lock-0000000007       the line
    <path>/leases/_c_<guid>-lease-0000000011     the one lease: its owner holds

Whoever has the Hold may release it, in whatever thread or task: `hold.release()`. An actor that
acquires again while it holds waits for itself, as with `threading.Lock`. Otherwise it keeps what
ReentrantLock keeps: one holder, in the order of arrival, nothing left behind, a token for free.

With `layout="kazoo"` it shares its path with kazoo's recipes instead: with Lock, and with ReadLock
and WriteLock as a writer.

    <path>/<guid>__lock__0000000041

Cost: 4 flights for an uncontended acquire and release, of which the acquire waits for 2; after one
that met nobody 3 and 1; in kazoo's layout 2 and 1.
"""

from __future__ import annotations

from typing import ClassVar

from ...paths import join
from ...scripting import S, script
from ...steps import Children, Guid, Node, Proved, Script
from ..arguments import checked_data
from ..line import Line, first_in_line
from ..shared import create_protected, saw_it_go, withdraw
from .hold import Hold
from .layouts import KAZOO, layout_named
from .leases import Pool, take_leases
from .owned import OwnedLock


class Lock(OwnedLock[S]):
    """A fair lock across processes; whoever has the hold may release it.

    Raises ValueError if there is no such layout, or `node_data` is not bytes.
    """

    owner_only: ClassVar[bool] = False

    def __init__(
        self, session: S, path: str, *, layout: str = "curator", node_data: bytes | None = None
    ) -> None:
        super().__init__(session, path)
        self._node_data = checked_data(node_data, session.node_data)
        self._pool = Pool(self.path, 1)
        self._line: Line | None = None
        if layout_named(layout) is KAZOO:
            # Not append-only: its readers may be writers that downgraded.
            self._line = Line(self.path, (KAZOO.exclusive, KAZOO.read))

    def _contend(self, blocking: bool) -> Script[Hold[S] | None]:
        if self._line is not None:
            return (yield from self._stand_in_line(self._line, blocking))
        taken = yield from take_leases(self._pool, 1, self._node_data, blocking)
        return None if taken is None else Hold(self, taken[0])

    def _stand_in_line(self, line: Line, blocking: bool) -> Script[Hold[S] | None]:
        """As kazoo does: the first in line holds."""
        name = KAZOO.mark((yield from Guid()), KAZOO.exclusive)
        node: Node | None = None
        try:
            node, names = yield from create_protected(
                self.path, name, Children(self.path), data=self._node_data, parents=KAZOO.parents
            )
            while not (turn := first_in_line(line.ahead_of(node, names))).mine and blocking:
                gone = yield from saw_it_go(join(self.path, turn.behind))
                names = yield from line.look_again(node, turn, gone)
            if turn.mine:
                yield from Proved()
                return Hold(self, node)
        except BaseException as ended:
            yield from withdraw(self.path, name, node, after=ended)
            raise
        yield from withdraw(self.path, name, node)
        return None

    @script
    def participants(self) -> Script[tuple[str, ...]]:
        """The paths of the nodes that hold the lock or are next to, the holder's first. Raises as
        `ReentrantLock.participants`."""
        return (self._line or self._pool.leases).participants()
