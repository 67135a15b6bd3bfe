"""Readers and writers: readers together, a writer alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ...recipes.line import Place, Turn
from ...recipes.locks.layouts import CURATOR
from ...recipes.locks.readwrite import ReadLock, ReadWriteLock, WriteLock
from ...recipes.shared import pause
from ...steps import Script
from ..faults import NO_FAULTS
from ..properties import of_readers_and_writers
from .in_line import PATH, InLine
from .twin import Right, Shelf, both, crew, twin, users_of

READ, WRITE = CURATOR.read, CURATOR.write


def reader(session: Any, path: str) -> ReadLock[Any]:
    """One who reads."""
    return ReadWriteLock(session, path).read


def writer(session: Any, path: str) -> WriteLock[Any]:
    """One who writes."""
    return ReadWriteLock(session, path).write


def trusts_a_reader(session: Any, path: str) -> ReadLock[Any]:
    """A reader is just before it, so it reads as well: that one may be waiting for a writer."""

    def rule(ahead: Sequence[Place]) -> Turn:
        if ahead and ahead[-1].kind == CURATOR.write:
            return Turn(False, ahead[-1].name)
        return Turn(True)

    lock = reader(session, path)
    lock._rule = rule
    return lock


class Writes(InLine):
    """Waits for the one just ahead, whatever it wants."""

    kind = WRITE
    kinds = (READ, WRITE)


class Reads(Writes):
    """Waits for the last writer ahead, and for no reader."""

    kind = READ

    def rule(self, ahead: Sequence[Place]) -> str | None:
        writers = [place.name for place in ahead if place.kind == WRITE]
        return writers[-1] if writers else None


class PollsToWrite(Writes):
    """Looks again from time to time, and writes when nobody is ahead."""

    def outwait(self, path: str) -> Script[None]:
        return pause(1.0)


class PollsToRead(Reads):
    """Looks again from time to time, and reads when no writer is ahead."""

    def outwait(self, path: str) -> Script[None]:
        return pause(1.0)


# --- mistakes -------------------------------------------------------------------------------


class ReadsAtOnce(Reads):
    """Waits for nobody: it only wants to read."""

    def rule(self, ahead: Sequence[Place]) -> str | None:
        return None


class WritesBesideReaders(Writes):
    """Waits for writers only, as a reader does."""

    def rule(self, ahead: Sequence[Place]) -> str | None:
        writers = [place.name for place in ahead if place.kind == WRITE]
        return writers[-1] if writers else None


# --- the table ------------------------------------------------------------------------------

FAMILY = "read-write lock"
_ALONE = "no writer with anyone"
_MIXED = (Writes(PATH), Reads(PATH), Reads(PATH))
_READERS = Shelf(FAMILY, of_readers_and_writers, lambda it: crew(Writes(PATH), it), Reads(PATH))
_WRITERS = _READERS.but(build=lambda it: crew(Reads(PATH), it), right=Writes(PATH))

RIGHT = (
    Right(
        "ReadWriteLock",
        FAMILY,
        "zkkit's own",
        lambda n: users_of(*(writer, reader, reader)[:n]),
        of_readers_and_writers,
    ),
    Right(
        "Reads",
        FAMILY,
        "watch the last writer ahead",
        lambda n: crew(*_MIXED[:n]),
        of_readers_and_writers,
    ),
    Right(
        "PollsToRead",
        FAMILY,
        "look again from time to time",
        lambda n: crew(*(PollsToWrite(PATH), PollsToRead(PATH), PollsToRead(PATH))[:n]),
        of_readers_and_writers,
    ),
)
TWINS = (
    twin(
        trusts_a_reader,
        both(partial(users_of, writer, reader), trusts_a_reader, reader),
        NO_FAULTS,
        _ALONE,
        of_readers_and_writers,
        FAMILY,
        "Whoever is just ahead may be waiting itself: look at all who are ahead.",
    ),
    _READERS.wrong(ReadsAtOnce, NO_FAULTS, _ALONE, "Readers wait for writers, too."),
    _WRITERS.wrong(WritesBesideReaders, NO_FAULTS, _ALONE, "A writer waits for everybody."),
)
