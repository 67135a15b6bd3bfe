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

from typing import Any, ClassVar

from ...scripting import S, script
from ...steps import Node, Script
from ..arguments import check_data
from ..shared import delete_surely
from .hold import Hold
from .leases import Pool
from .line import KAZOO, Line, layout_named
from .owned import OwnedLock
from .rules import first_in_line


class Lock(OwnedLock[S]):
    """A fair lock across processes; whoever has the hold may release it."""

    bound: ClassVar[bool] = False

    def __init__(
        self, session: S, path: str, *, layout: str = "curator", node_data: bytes | None = None
    ) -> None:
        super().__init__(session, path)
        check_data(node_data)
        self._node_data = session.node_data if node_data is None else node_data
        self._pool = Pool(self.path, 1)
        self._line: Line | None = None
        if layout_named(layout) is KAZOO:
            self._line = Line(self.path, (KAZOO.exclusive, KAZOO.read), KAZOO)

    def _contend(self, blocking: bool) -> Script[Node | None]:
        if self._line is not None:
            wait_turn = self._line.by_predecessor(first_in_line, blocking)
            kind = KAZOO.exclusive
            return (yield from self._line.enter(kind, wait_turn, data=self._node_data))
        taken = yield from self._pool.take(1, self._node_data, blocking)
        return None if taken is None else taken[0]

    def _let_go(self, hold: Hold[Any]) -> Script[None]:
        return delete_surely(hold.path)

    @script
    def participants(self) -> Script[tuple[str, ...]]:
        """The paths of the nodes that hold the lock or are next to, the holder's first."""
        return (self._line or self._pool).participants()
