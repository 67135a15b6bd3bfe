"""A pool of leases: what Semaphore and Lock are made of. Curator's InterProcessSemaphoreV2.

    <path>/locks/_c_<guid>-lock-0000000007       a line: only the first in it may take leases
    <path>/leases/_c_<guid>-lease-0000000011     one node for each lease that is taken

`take_leases` has the loop: how leases are taken, step by step. Below it is what it needs: the pool,
which says whether leases are granted, and an attempt, which knows its nodes.

Whoever met nobody the last time is optimistic: it creates its place in line and its leases in one
flight. Then the leases may have been created by one who is not first. It takes them back, all of
them, and creates others when its turn has come: until then they hold up whoever is first, but
nobody is granted a lease by them. One that does not want to wait does not try this: two of them
could hold up each other, and both would go away from a free pool.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from ...errors import NoNode, SessionLost
from ...paths import join, sequence_of, split
from ...steps import (
    Children,
    Create,
    Get,
    Guid,
    Mode,
    Node,
    Proved,
    Recall,
    Remember,
    Request,
    Script,
    SessionId,
    Spawn,
    Together,
    Wait,
)
from ..counters.shared_count import SharedCount
from ..line import Line, Names, first_in_line
from ..shared import (
    all_answered,
    all_of,
    answer,
    create_protected,
    delete_surely,
    list_children,
    read_all,
    wait_for_change,
    withdraw,
)
from .layouts import CURATOR

KIND = "lease-"
UNCONTENDED = "pools at which this session met nobody"
"""Where the session's table has their paths, the latest first."""
REMEMBERED = 64


def take_leases(
    pool: Pool, count: int, data: bytes, blocking: bool
) -> Script[tuple[Node, ...] | None]:
    """Take so many leases at once, or none: None if not blocking and there are not enough."""
    line, uncontended = pool.line, True
    attempt = yield from pool.attempt(count, data, blocking)
    try:
        # Our place in line; who met nobody the last time has its leases by the same flight.
        queue, seen = yield from attempt.enter()
        while not (turn := first_in_line(line.ahead_of(attempt.place, queue))).mine:
            uncontended = False
            if not blocking:
                break
            yield from wait_for_change(join(line.directory, turn.behind))
            queue = yield from list_children(line.directory)
        granted = False
        if turn.mine:
            seen = seen or (yield from attempt.create_leases())
            watching = False
            while not (granted := (yield from pool.granted(attempt.leases, seen))):
                uncontended = False
                if not blocking:
                    break
                if watching:
                    yield from Wait()
                # Not before it is needed: who is granted at once leaves no watch to be removed.
                watching, seen = True, (yield from pool.look())
        yield from pool.remember(uncontended)
        if granted:
            yield from Proved()  # what a server that lags shows us may be old
            leave = delete_surely(attempt.place.path)
            yield from Spawn(leave, f"leaving {line.directory}")
            return attempt.leases
    except BaseException as ended:
        yield from attempt.withdraw(ended)
        raise
    yield from attempt.withdraw()
    return None


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

    def attempt(self, count: int, data: bytes, blocking: bool) -> Script[LeaseAttempt]:
        """An attempt to take so many leases; nothing is sent yet."""
        place = CURATOR.mark((yield from Guid()), CURATOR.exclusive)
        names = []
        for _ in range(count):
            names.append(CURATOR.mark((yield from Guid()), KIND))
        return LeaseAttempt(self, place, tuple(names), data, blocking, {})

    def is_uncontended(self) -> Script[bool]:
        """Whether the last one of this session to take leases met nobody."""
        return self.path in ((yield from Recall(UNCONTENDED)) or ())

    def remember(self, uncontended: bool) -> Script[None]:
        """Write down whether we met nobody."""
        paths = (yield from Recall(UNCONTENDED)) or ()
        others = tuple(path for path in paths if path != self.path)
        after = (self.path, *others)[:REMEMBERED] if uncontended else others
        if after != paths:
            yield from Remember(UNCONTENDED, after or None)

    def look(self) -> Script[Any]:
        """What tells whether leases are granted; a change of it wakes us."""
        return read_all(*self.reads(watch=True))

    def reads(self, *, watch: bool = False) -> tuple[Request[Any], ...]:
        leases = Children(self.leases.directory, watch)
        if isinstance(self.limit, int):
            return (leases,)
        return (leases, Get(self.limit.path, watch))

    def granted(self, leases: tuple[Node, ...], seen: Any) -> Script[bool]:
        """Whether they are granted, by what the reads gave."""
        listed, *limit = seen
        names = answer(listed)
        most = yield from self._limit(limit)
        there = set(names)
        for node in leases:
            if split(node.path)[1] not in there:
                raise NoNode(node.path)
        # Who is ahead counts, not how many there are: whatever somebody does by hand to the
        # line, two that wait here never wait for each other. And whoever is ahead of one of ours is
        # ahead of our last one, so none of ours has more ahead: the others need not be asked.
        return len(self.leases.ahead_of(max(leases, key=_number), names)) < most

    def _limit(self, seen: Any) -> Script[int]:
        if isinstance(self.limit, int):
            return self.limit
        (found,) = seen if all_answered(seen) else ((yield from self.limit.ensure(watch=True)),)
        return self.limit.read(found)


def _number(lease: Node) -> int:
    """Its place in the order in which servers give numbers: the negative ones come last."""
    number = sequence_of(split(lease.path)[1], KIND)
    return 0 if number is None else number % 2**32


class LeaseAttempt(NamedTuple):
    """One attempt to take leases: its nodes."""

    pool: Pool
    place_name: str
    names: tuple[str, ...]
    data: bytes
    blocking: bool
    nodes: dict[str, Node | None]
    """Those that may be there, by name; the node where it is known."""

    @property
    def place(self) -> Node:
        """Our place in line."""
        place = self.nodes[self.place_name]
        assert place is not None
        return place

    @property
    def leases(self) -> tuple[Node, ...]:
        """Our leases."""
        found = [self.nodes.get(name) for name in self.names]
        return tuple(node for node in found if node is not None)

    def enter(self) -> Script[tuple[Names, Any]]:
        """Stand in line. Gives the line as it was then; and if our leases were created as well and
        may be used, what tells whether they are granted, else None."""
        line = self.pool.line
        optimistic = yield from self._optimistic()
        queue, seen = (yield from self._at_once()) if optimistic else (None, None)
        if queue is None:
            self.nodes[self.place_name], queue = yield from create_protected(
                line.directory,
                self.place_name,
                Children(line.directory),
                data=self.data,
                unsure=optimistic,
            )
        return queue, seen

    def _optimistic(self) -> Script[bool]:
        return self.blocking and (yield from self.pool.is_uncontended())

    def _at_once(self) -> Script[tuple[Names | None, Any]]:
        """Stand in line and create the leases. Gives the line as it was then, and what the reads
        gave if the leases may be used; if not, they are gone again."""
        line = self.pool.line
        self.nodes.update(dict.fromkeys(self.names))
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
        if not all_answered((place, queue)):
            queue = None
        else:
            self.nodes[self.place_name] = place
            if all_answered(rest) and not line.ahead_of(place, queue):
                return queue, rest[len(self.names) :]
        yield from self._withdraw_leases()
        if (yield from SessionId()) != session:  # withdrawing takes that for success
            raise SessionLost(
                "the session was lost while leases were taken back", path=self.pool.path
            )
        return queue, None

    def create_leases(self) -> Script[Any]:
        """Create all lease nodes: the first with its parents, the others in one more flight. Gives
        what tells whether they are granted."""
        reads, leases = self.pool.reads(), self.pool.leases
        self.nodes.update(dict.fromkeys(self.names))
        first, *others = self.names
        made, *seen = yield from create_protected(
            leases.directory, first, *reads, data=self.data, settle=True
        )
        self._made([made])
        if not others:
            return seen
        found = yield from Together(*[self._new(leases, name) for name in others], settle=True)
        self._made([made, *found])
        for name in others:
            if self.nodes[name] is None:
                (self.nodes[name],) = yield from create_protected(
                    leases.directory, name, data=self.data, unsure=True
                )
        return (yield from read_all(*reads))

    def _new(self, line: Line, name: str) -> Create:
        return Create(join(line.directory, name), self.data, Mode.EPHEMERAL_SEQUENTIAL)

    def _made(self, outcomes: list[Any]) -> None:
        """Keep the nodes among these outcomes, which are in the order of the names."""
        for name, made in zip(self.names, outcomes, strict=False):
            if all_answered((made,)):
                self.nodes[name] = made

    def withdraw(self, after: BaseException | None = None) -> Script[None]:
        """Take back the leases, then leave the line. `after`: what ended the attempt; if that is
        the loss of the session, all goes by itself."""
        directory, place = self.pool.line.directory, self.nodes.get(self.place_name)
        leave = partial(withdraw, directory, self.place_name, place, after=after)
        return all_of((partial(self._withdraw_leases, after), leave))

    def _withdraw_leases(self, after: BaseException | None = None) -> Script[None]:
        directory = self.pool.leases.directory
        # Taken off the list at once: each of them goes on until it is gone, whatever comes.
        ours = [(name, self.nodes.pop(name)) for name in self.names if name in self.nodes]
        return all_of([partial(withdraw, directory, *lease, after=after) for lease in ours])
