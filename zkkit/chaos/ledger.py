"""Guarded writes, read back from the servers.

Every guarded write creates a node with the token it was made under. Here they are read, written to
a file with their zxid, and deleted while the run goes on. So the ledger also has the writes whose
writers never got a reply, or were killed.
"""

from __future__ import annotations

import json

from zkkit import Session
from zkkit.chaos.diary import Diary
from zkkit.chaos.scene import LEDGER
from zkkit.errors import DeadlineExceeded, ZkkitError
from zkkit.steps import Children, Delete, Get, Script, Sync, Together

_FLIGHT = 50  # nodes read or deleted together


class Ledger:
    """What was written so far."""

    def __init__(self, session: Session, diary: Diary) -> None:
        self._session = session
        self._diary = diary
        self.count = 0

    def drain(self, timeout: float) -> bool:
        """Read and delete all that was written; False if that could not be done in time. What was
        read and not deleted is read again; the judge does not mind a write that is there twice."""
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
            for node, (data, stat) in zip(nodes, read, strict=True):
                self._diary.note("write", node=node, zxid=stat.czxid, **json.loads(data))
                self.count += 1
            yield from Together(*map(Delete, nodes), settle=True)
