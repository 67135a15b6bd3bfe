"""The designs to compare: how each makes its lock, what it does at a release, and its law."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from zkkit import (
    ChildrenWatchLock,
    HerdLock,
    HerdReadWriteLock,
    ReadWriteLock,
    ReentrantLock,
    Session,
)
from zkkit.bench import laws
from zkkit.bench.laws import Law, Laws
from zkkit.errors import ZkkitError
from zkkit.recipes.locks.owned import OwnedLock
from zkkit.scripting import Blocking


class ReadersAndWriters(Protocol):
    """A lock of two halves."""

    @property
    def read(self) -> OwnedLock[Blocking]: ...
    @property
    def write(self) -> OwnedLock[Blocking]: ...


AnyLock: TypeAlias = OwnedLock[Blocking] | ReadersAndWriters


class UnknownDesign(ZkkitError, ValueError):
    """There is no design of that name."""


@dataclass(frozen=True)
class Design:
    """One way to build a lock."""

    name: str
    lock: Callable[[Session, str], AnyLock]
    laws: Laws
    does: str
    """What happens at a release, in a few words."""
    reads: bool = False
    """Whether some of the contenders read."""

    @property
    def law(self) -> Law:
        """The law for contenders that have a session each."""
        return self.laws.own

    def law_of(self, population: str) -> Law:
        """The law for this population."""
        return self.laws.shared if population == "shared" else self.laws.own

    def readers(self, contenders: int) -> int:
        """How many of so many contenders read: the last ones."""
        return laws.readers(contenders) if self.reads else 0


def to_write(lock: AnyLock) -> OwnedLock[Blocking]:
    """What a writer acquires; an exclusive lock is the same for everybody."""
    return lock if isinstance(lock, OwnedLock) else lock.write


def to_read(lock: AnyLock) -> OwnedLock[Blocking]:
    """What a reader acquires."""
    return lock if isinstance(lock, OwnedLock) else lock.read


SEQUENTIAL = Design(
    "sequential",
    lambda session, path: ReentrantLock(session, path),
    laws.SEQUENTIAL,
    "each contender watches the one before it: a release wakes one",
)
HERD = Design(
    "herd",
    lambda session, path: HerdLock(session, path),
    laws.HERD,
    "all contenders watch one node: a release wakes them all",
)
CHILDREN_WATCH = Design(
    "children-watch",
    lambda session, path: ChildrenWatchLock(session, path),
    laws.CHILDREN_WATCH,
    "all contenders watch the whole line: a release wakes them all, and so does a newcomer",
)
RW = Design(
    "rw",
    lambda session, path: ReadWriteLock(session, path),
    laws.RW,
    "a writer watches the one before it, a reader the last writer: each is woken once",
    reads=True,
)
RW_FIRST = Design(
    "rw-first",
    lambda session, path: ReadWriteLock(session, path, reader_rule="first-writer"),
    laws.RW_FIRST,
    "a writer watches the one before it, a reader the first writer: each writer wakes all readers",
    reads=True,
)
RW_HERD = Design(
    "rw-herd",
    lambda session, path: HerdReadWriteLock(session, path),
    laws.RW_HERD,
    "all contenders watch the whole line: a release wakes them all, and so does a newcomer",
    reads=True,
)

EXCLUSIVE = {design.name: design for design in (HERD, CHILDREN_WATCH, SEQUENTIAL)}
DESIGNS = EXCLUSIVE | {design.name: design for design in (RW_HERD, RW_FIRST, RW)}


def named(name: str, among: Mapping[str, Design] = DESIGNS) -> Design:
    """The design of that name, or UnknownDesign with the names there are."""
    try:
        return among[name]
    except KeyError:
        raise UnknownDesign(
            f"there is no design {name!r}", hint=f"the designs are {', '.join(among)}"
        ) from None
