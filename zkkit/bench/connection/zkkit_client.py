"""zkkit's sessions on threads, to be measured: the same operations as in kazoo_operations.py."""

from __future__ import annotations

from functools import partial
from typing import Any

import zkkit
from zkkit import Session
from zkkit.bench.connection.kazoo_operations import DATA
from zkkit.bench.connection.plan import AT_ONCE
from zkkit.session.options import BUSY_TIMEOUT
from zkkit.steps import Exists, Together

VERSION = zkkit.__version__

connect = partial(zkkit.connect, timeout=BUSY_TIMEOUT)
close = Session.close


class SessionOperation:
    """One caller of a session."""

    def __init__(self, session: Session, path: str) -> None:
        self._session, self._path = session, path

    def release(self) -> None: ...


class SessionExists(SessionOperation):
    """It asks for one stat after the other."""

    def acquire(self) -> None:
        if self._session.exists(self._path) is None:
            raise LookupError(self._path)


class SessionSet(SessionOperation):
    """It sets the data again and again, one request at a time."""

    def acquire(self) -> None:
        self._session.set(self._path, DATA)


class SessionPipelined(SessionOperation):
    """It has many requests under way at once: a flight."""

    def acquire(self) -> None:
        flight = Together(*(Exists(self._path) for _ in range(AT_ONCE)))
        if None in self._session.run(flight):
            raise LookupError(self._path)


RACES: dict[str, Any] = {
    "exists": SessionExists,
    "set": SessionSet,
    "pipelined": SessionPipelined,
}
