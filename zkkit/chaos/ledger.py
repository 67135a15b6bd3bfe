"""Guarded writes, read back from the servers.

Every guarded write creates a node with the token it was made under. Here they are read, written to
a file with their zxid, and deleted, while the run goes on: so also those are seen whose writers
never got a reply, or were killed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from zkkit import Session
from zkkit.chaos.diary import Diary
from zkkit.chaos.scene import LEDGER
from zkkit.errors import DeadlineExceeded, ZkkitError
from zkkit.steps import Children, Data, Delete, Get, Script, Sync, Together

_FLIGHT = 50  # nodes read or deleted together


class Ledger:
    """What was written so far."""

    def __init__(self, session: Session, diary: Diary) -> None:
        self._session = session
        self._diary = diary
        self.count = 0

    def drain(self, timeout: float) -> bool:
        """Read and delete all there is; False if that could not be done in time. Whatever was read
        and not deleted is read again: twice the same is no harm."""
        try:
            self._session.run(self._drain(), timeout=timeout)
        except (ZkkitError, DeadlineExceeded):
            return False
        return True

    def _drain(self) -> Script[None]:
        yield from Sync(LEDGER)
        names = sorted((yield from Children(LEDGER)))
        for begin in range(0, len(names), _FLIGHT):
            nodes = [f"{LEDGER}/{name}" for name in names[begin : begin + _FLIGHT]]
            read = yield from Together(*map(Get, nodes))
            self._keep(nodes, read)
            yield from Together(*map(Delete, nodes), settle=True)

    def _keep(self, nodes: Sequence[str], read: Sequence[Data]) -> None:
        for node, (data, stat) in zip(nodes, read, strict=True):
            self._diary.note("write", node=node, zxid=stat.czxid, **json.loads(data))
            self.count += 1
