"""A pool of leases: what Semaphore and Lock are made of. Curator's InterProcessSemaphoreV2.

    <path>/locks/_c_<guid>-lock-0000000007       a line: only the first in it may take leases
    <path>/leases/_c_<guid>-lease-0000000011     one node for each lease that is taken

1. Stand in line in `locks`.
2. First: create the lease nodes and list `leases`, in one flight. If fewer leases than the limit
   are ahead of each, they are ours. Otherwise wait until one is returned or the limit changes.
3. Leave the line; that is not waited for.

So at most one contender at a time is granted leases, and it alone watches. Several leases are
granted all at once or not at all: two that want two each can never have one each and wait for ever
(Curator takes them one by one, and can).

Whoever met nobody the last time does 1 and 2 in one flight. Then the leases may have been created
by one who is not first. It takes them back, all of them, and creates others when its turn has come:
until then they hold up whoever is first, but nobody is granted a lease by them. One that does not
want to wait does not try this: two of them could hold up each other, and both would go away from a
free pool.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from ...errors import SessionLost, ZkkitError
from ...paths import join
from ...steps import (
    Children,
    Create,
    Get,
    Guid,
    Look,
    Mode,
    Node,
    Note,
    Proved,
    Request,
    Script,
    SessionId,
    Spawn,
    Together,
    Wait,
)
from ..counters.shared_count import SharedCount
from ..shared import all_of, create_protected, delete_surely, read_all, withdraw
from .line import CURATOR, Line, Names
from .rules import first_in_line

KIND = "lease-"
MET_NOBODY = "pools at which this session met nobody"
"""Where the session's table has their paths, the latest first."""
REMEMBERED = 64


class Pool(NamedTuple):
    """The leases below a path, and how many there may be."""

    path: str
    limit: int | SharedCount[Any]

    @property
    def line(self) -> Line:
        return Line(join(self.path, "locks"), (CURATOR.exclusive,))

    @property
    def leases(self) -> Line:
        return Line(join(self.path, "leases"), (KIND,))

    def take(self, count: int, data: bytes, blocking: bool) -> Script[tuple[Node, ...] | None]:
        """Take so many leases, or none: None if not blocking and there are not enough."""
        place = CURATOR.mark((yield from Guid()), CURATOR.exclusive)
        names = []
        for _ in range(count):
            names.append(CURATOR.mark((yield from Guid()), KIND))
        return (yield from _Attempt(self, place, names, data, blocking).take())

    def met_nobody(self) -> Script[bool]:
        """Whether the last one of this session to take leases met nobody."""
        return self.path in ((yield from Look(MET_NOBODY)) or ())

    def remember(self, met_nobody: bool) -> Script[None]:
        """Write down whether we met anybody."""
        paths = (yield from Look(MET_NOBODY)) or ()
        others = tuple(path for path in paths if path != self.path)
        after = (self.path, *others)[:REMEMBERED] if met_nobody else others
        if after != paths:
            yield from Note(MET_NOBODY, after or None)

    def reads(self, *, watch: bool = False) -> tuple[Request[Any], ...]:
        """What tells whether leases are granted."""
        leases = Children(self.leases.directory, watch)
        if isinstance(self.limit, int):
            return (leases,)
        return (leases, Get(self.limit.path, watch))

    def granted(self, leases: tuple[Node, ...], seen: Any) -> Script[bool]:
        """Whether they are granted, by what the reads gave."""
        listed, *limit = seen
        if isinstance(listed, ZkkitError):
            raise listed
        most = yield from self._limit(limit)
        # Who is ahead counts, not how many there are: whatever somebody does by hand to the
        # line, two that wait here never wait for each other.
        return all(len(self.leases.ahead_of(node, listed)) < most for node in leases)

    def _limit(self, seen: Any) -> Script[int]:
        if isinstance(self.limit, int):
            return self.limit
        (found,) = seen
        if isinstance(found, ZkkitError):
            found = yield from self.limit.ensure(watch=True)
        return self.limit.read(found)

    def participants(self) -> Script[tuple[str, ...]]:
        """The paths of all leases, the oldest first."""
        return self.leases.participants()


class _Attempt:
    """One attempt to take leases: its nodes."""

    def __init__(
        self, pool: Pool, place_name: str, names: list[str], data: bytes, blocking: bool
    ) -> None:
        self.pool = pool
        self.place_name = place_name
        self.names = names
        self.data = data
        self.blocking = blocking
        self.place: Node | None = None
        self.leases: dict[str, Node | None] = {}
        """Those that may be there, by name; the node where it is known."""

    def take(self) -> Script[tuple[Node, ...] | None]:
        """The leases, with the place in line given up; or None, and nothing is left."""
        try:
            taken = yield from self._take()
        except BaseException as error:
            if not isinstance(error, SessionLost):  # or all goes with its session
                yield from self._withdraw()
            raise
        if taken is None:
            yield from self._withdraw()
            return None
        place, leases = taken
        leave = delete_surely(place.path)
        yield from Spawn(leave, f"leaving {self.pool.line.directory}")
        return leases

    def _take(self) -> Script[tuple[Node, tuple[Node, ...]] | None]:
        """The place in line and the leases, granted; or None."""
        line = self.pool.line
        hopeful = yield from self._hopeful()
        queue, seen = (yield from self._at_once()) if hopeful else (None, None)
        if self.place is None or queue is None:
            self.place, queue = yield from create_protected(
                line.directory,
                self.place_name,
                Children(line.directory),
                data=self.data,
                unsure=hopeful,
            )
            if isinstance(queue, ZkkitError):
                raise queue
        line.check_number(self.place)
        first = not line.ahead_of(self.place, queue)
        wait_turn = line.by_predecessor(first_in_line, self.blocking)
        if not (yield from wait_turn(self.place, queue)):
            yield from self.pool.remember(False)
            return None
        leases, waited = yield from self._wait(seen or (yield from self._create()))
        yield from self.pool.remember(first and not waited)
        if leases is None:
            return None
        yield from Proved()
        return self.place, leases

    def _hopeful(self) -> Script[bool]:
        return self.blocking and (yield from self.pool.met_nobody())

    def _at_once(self) -> Script[tuple[Names | None, Any]]:
        """Stand in line and create the leases. Gives the line as it was then, and what the reads
        gave if the leases may be used; if not, they are gone again."""
        line = self.pool.line
        self.leases = dict.fromkeys(self.names)
        place, queue, *rest = yield from Together(
            self._new(line, self.place_name),
            Children(line.directory),
            *[self._new(self.pool.leases, name) for name in self.names],
            *self.pool.reads(),
            settle=True,
        )
        # Asked now, not before: a flight that was begun between two sessions is one of the later.
        session = yield from SessionId()
        self._made(rest)
        if isinstance(place, ZkkitError) or isinstance(queue, ZkkitError):
            queue = None
        else:
            self.place = place
            wrong = any(isinstance(each, ZkkitError) for each in rest)
            if not wrong and not line.ahead_of(place, queue):
                return queue, rest[len(self.names) :]
        yield from self._withdraw_leases()
        if (yield from SessionId()) != session:  # withdrawing takes that for success
            raise SessionLost(
                "the session was lost while leases were taken back", path=self.pool.path
            )
        return queue, None

    def _create(self) -> Script[Any]:
        """Create all lease nodes: the first with its parents, the others in one more flight."""
        reads, leases = self.pool.reads(), self.pool.leases
        self.leases = dict.fromkeys(self.names)
        first, *others = self.names
        made, *seen = yield from create_protected(leases.directory, first, *reads, data=self.data)
        self._made([made])
        if not others:
            return seen
        found = yield from Together(*[self._new(leases, name) for name in others], settle=True)
        self._made([made, *found])
        for name, node in self.leases.items():
            if node is None:
                (self.leases[name],) = yield from create_protected(
                    leases.directory, name, data=self.data, unsure=True
                )
        return (yield from read_all(*reads))

    def _new(self, line: Line, name: str) -> Create:
        return Create(join(line.directory, name), self.data, Mode.EPHEMERAL_SEQUENTIAL)

    def _made(self, outcomes: list[Any]) -> None:
        """Keep the nodes among these outcomes, which are in the order of the names."""
        for name, made in zip(self.names, outcomes, strict=False):
            if isinstance(made, Node):
                self.leases[name] = made

    def _wait(self, seen: Any) -> Script[tuple[tuple[Node, ...] | None, bool]]:
        """The leases as soon as they are granted, and whether we met others that have some."""
        leases = tuple(node for node in self.leases.values() if node is not None)
        for node in leases:
            self.pool.leases.check_number(node)
        watching = False
        while not (yield from self.pool.granted(leases, seen)):
            if not self.blocking:
                return None, True
            if watching:
                yield from Wait()
            # Not before it is needed: who is granted at once leaves no watch to be removed.
            watching = True
            seen = yield from read_all(*self.pool.reads(watch=True))
        return leases, watching

    def _withdraw(self) -> Script[None]:
        """Take back the leases, then leave the line."""
        leave = partial(withdraw, self.pool.line.directory, self.place_name, self.place)
        return all_of((self._withdraw_leases, leave))

    def _withdraw_leases(self) -> Script[None]:
        directory = self.pool.leases.directory
        back = [partial(withdraw, directory, *lease) for lease in self.leases.items()]
        self.leases = {}  # for each of them goes on until it is gone, whatever comes
        return all_of(back)
