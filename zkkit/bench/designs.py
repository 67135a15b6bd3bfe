"""The designs to compare: how each makes its lock, what it does at a release, and its law.

An election is a line of contenders too: whoever leads has acquired, whoever leaves has released."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from zkkit import (
    ChildrenWatchLock,
    HerdElection,
    HerdLock,
    HerdReadWriteLock,
    LeaderLatch,
    ReadWriteLock,
    ReentrantLock,
    Session,
)
from zkkit.bench import laws
from zkkit.bench.laws import Law, Laws
from zkkit.errors import ZkkitError
from zkkit.recipes.locks.owned import OwnedLock
from zkkit.scripting import Blocking


class Candidacy:
    """A candidate as a lock: to acquire is to stand until it leads, to release is to leave."""

    def __init__(self, candidate: LeaderLatch[Session]) -> None:
        self._candidate = candidate
        self.path = candidate.path

    def acquire(self, timeout: float | None = None) -> object:
        """Stand, and wait until we lead; None if `timeout` passes before."""
        self._candidate.start()
        leadership = self._candidate.wait(timeout)
        # Answered in order: then the leader's watch on its own node is set, and leaving takes it
        # away. Asked of kazoo itself: it is no request of the design.
        self._candidate.session.kazoo.exists(self.path)
        return leadership

    def release(self) -> None:
        """Stop leading."""
        self._candidate.close()


Takeable: TypeAlias = OwnedLock[Blocking] | Candidacy
"""What a contender acquires and releases."""
AnyLock: TypeAlias = Takeable | ReadWriteLock[Blocking] | HerdReadWriteLock[Blocking]
"""One lock for everybody, or one of two halves."""


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
    elects: bool = False
    """Whether the contenders are candidates in an election."""

    def as_data(self) -> str:
        """In results.json a design is its name."""
        return self.name

    @classmethod
    def from_data(cls, name: str) -> Design:
        """The design of that name; raises UnknownDesign if there is none."""
        return named(name)

    @property
    def law(self) -> Law:
        """The law for contenders that have a session each."""
        return self.laws.own

    def law_of(self, population: str) -> Law:
        """The law for this population. A plan has only designs that have one."""
        law = self.laws.shared if population == "shared" else self.laws.own
        assert law is not None
        return law

    @property
    def kind(self) -> tuple[bool, bool]:
        """What its contenders want: designs of one kind can be compared."""
        return self.reads, self.elects

    def readers(self, contenders: int) -> int:
        """How many of so many contenders read: the last ones."""
        return laws.readers(contenders) if self.reads else 0


def to_write(lock: AnyLock) -> Takeable:
    """What a writer acquires; an exclusive lock is the same for everybody."""
    return lock if isinstance(lock, (OwnedLock, Candidacy)) else lock.write


def to_read(lock: AnyLock) -> Takeable:
    """What a reader acquires."""
    return lock if isinstance(lock, (OwnedLock, Candidacy)) else lock.read


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
ELECTION_LATCH = Design(
    "election-latch",
    lambda session, path: Candidacy(LeaderLatch(session, path)),
    laws.ELECTION_LATCH,
    "each candidate watches the one before it: a leader that leaves wakes one",
    elects=True,
)
ELECTION_HERD = Design(
    "election-herd",
    lambda session, path: Candidacy(HerdElection(session, path)),
    laws.ELECTION_HERD,
    "all candidates watch the leader's node: a leader that leaves wakes them all",
    elects=True,
)

EXCLUSIVE = {design.name: design for design in (HERD, CHILDREN_WATCH, SEQUENTIAL)}
DESIGNS = EXCLUSIVE | {
    design.name: design for design in (RW_HERD, RW_FIRST, RW, ELECTION_HERD, ELECTION_LATCH)
}


def named(name: str, among: Mapping[str, Design] = DESIGNS) -> Design:
    """The design of that name, or UnknownDesign with the names there are."""
    try:
        return among[name]
    except KeyError:
        raise UnknownDesign(
            f"there is no design {name!r}", hint=f"the designs are {', '.join(among)}"
        ) from None
