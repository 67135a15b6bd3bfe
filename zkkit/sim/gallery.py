"""A gallery of broken twins: locks with one mistake each, and the fault that brings it to light.

Every mistake has been made, here or by others. A twin is explored together with the right way to do
it: the same world, the same faults, the same properties. If a twin passes, the explorer is worth
nothing; if the right one is caught, it lies.

    for twin in TWINS:
        print(twin.name, explore(twin.broken(), faults=twin.faults, properties=twin.properties()))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

from ..errors import ConnectionLost, NoNode, SessionLost
from ..paths import guid_of, join, protected, sequence_of, serial_distance, split
from ..recipes.herd import HerdLock
from ..recipes.locks.hold import Hold
from ..recipes.locks.line import CURATOR
from ..recipes.locks.reentrant import ReentrantLock
from ..recipes.locks.rules import Turn, ahead_of, first_in_line
from ..recipes.shared import create_protected, delete_surely, list_children, withdraw
from ..steps import (
    Children,
    Create,
    Exists,
    FireKind,
    Get,
    Guid,
    Mode,
    Node,
    Script,
    Sync,
    Together,
    Wait,
)
from .faults import NO_FAULTS, Faults, every, one
from .lives import contenders
from .properties import (
    AtMost,
    NoLostWakeup,
    NoSleeper,
    OneWokenPerRelease,
    Property,
    mutual_exclusion,
    of_a_fair_lock,
    of_a_lock,
)
from .world import World

PREFIX = CURATOR.exclusive


def stand_in_line(path: str, guid: str) -> Script[tuple[Any, ...]]:
    """Create our node; gives it and who is there."""
    return create_protected(path, protected(guid, PREFIX), Children(path), data=b"")


def turn_of(names: tuple[str, ...], me: str) -> Turn | None:
    """What the rule of the fair lock says; None if we are not in line."""
    ahead = ahead_of(me, names, (PREFIX,))
    return None if ahead is None else first_in_line(ahead)


class Twin(NamedTuple):
    """One mistake: a world that has it, the same world without it, and what brings it to light."""

    name: str
    mistake: str
    broken: Callable[[], World]
    right: Callable[[], World]
    faults: Faults
    properties: Callable[[], Sequence[Property]] = of_a_fair_lock


class _Queueing(ReentrantLock[Any]):
    """The fair lock taken apart, so that each twin changes one piece of it."""

    def _contend(self, blocking: bool) -> Script[Node | None]:
        guid = yield from Guid()
        node: Node | None = None
        try:
            node, queue = yield from self._enter(guid)
            while not (yield from self._my_turn(node, queue)):
                queue = yield from list_children(self.path)
            return node
        except SessionLost:
            raise
        except BaseException:
            yield from self._clean_up(guid, node)
            raise

    def _enter(self, guid: str) -> Script[tuple[Node, tuple[str, ...]]]:
        return stand_in_line(self.path, guid)

    def _my_turn(self, node: Node, queue: tuple[str, ...]) -> Script[bool]:
        """Whether it is our turn; if not, wait until something has changed."""
        behind = self._behind(queue, split(node.path)[1])
        if behind is None:
            return True
        try:
            yield from self._wait(join(self.path, behind))
        except (NoNode, ConnectionLost):
            pass
        return False

    def _behind(self, queue: tuple[str, ...], me: str) -> str | None:
        """The contender just before us, or None if there is none."""
        turn = turn_of(queue, me)
        if turn is None:
            raise NoNode(join(self.path, me))
        return None if turn.mine else turn.behind

    def _wait(self, path: str) -> Script[Any]:
        yield from Get(path, watch=True)
        return (yield from Wait())

    def _clean_up(self, guid: str, node: Node | None) -> Script[None]:
        return withdraw(self.path, protected(guid, PREFIX), node)


class TrustsItsPredecessorsDeath(_Queueing):
    """Takes the death of the node before it for a grant."""

    def _my_turn(self, node: Node, queue: tuple[str, ...]) -> Script[bool]:
        behind = self._behind(queue, split(node.path)[1])
        if behind is None:
            return True
        try:
            fire = yield from self._wait(join(self.path, behind))
        except (NoNode, ConnectionLost):
            return False
        return fire.kind is FireKind.DELETED


class TakesAnyWakeForAGrant(_Queueing):
    """Does not look again after a wake."""

    def _my_turn(self, node: Node, queue: tuple[str, ...]) -> Script[bool]:
        behind = self._behind(queue, split(node.path)[1])
        if behind is not None:
            try:
                yield from self._wait(join(self.path, behind))
            except (NoNode, ConnectionLost):
                return False
        return True


class LeaksWatches(_Queueing):
    """Exists instead of get: a watch on a node that will never come back."""

    def _wait(self, path: str) -> Script[Any]:
        if (yield from Exists(path, watch=True)) is None:
            raise NoNode(path)
        return (yield from Wait())


class LosesAWakeup(_Queueing):
    """Waits without asking whether there still is something to wait for."""

    def _wait(self, path: str) -> Script[Any]:
        yield from Exists(path, watch=True)
        return (yield from Wait())


class CreatesAgain(_Queueing):
    """A second contender after a lost reply."""

    def _enter(self, guid: str) -> Script[tuple[Node, tuple[str, ...]]]:
        while True:
            path = join(self.path, protected(guid, PREFIX))
            try:
                made = yield from Create(path, b"", Mode.EPHEMERAL_SEQUENTIAL)
            except ConnectionLost:
                continue
            return made, (yield from list_children(self.path))


class _Searches(_Queueing):
    """Creates, and after a lost reply searches as `_search` does."""

    def _enter(self, guid: str) -> Script[tuple[Node, tuple[str, ...]]]:
        path = join(self.path, protected(guid, PREFIX))
        while True:
            try:
                made = yield from Create(path, b"", Mode.EPHEMERAL_SEQUENTIAL)
            except ConnectionLost:
                found = yield from self._search(guid)
                if found is None:
                    continue
                made = found
            return made, (yield from list_children(self.path))

    def _search(self, guid: str) -> Script[Node | None]:
        names = yield from Children(self.path)
        mine = next((name for name in names if guid_of(name) == guid), None)
        if mine is None:
            return None
        stat = yield from Exists(join(self.path, mine))
        return None if stat is None else Node(join(self.path, mine), stat)


class SearchesWithoutSync(_Searches):
    """A follower that lags hides the node it searches for."""


class TakesAnOldNode(_Searches):
    """Searches by guid after a change of session, and does not look at the owner (CURATOR-604)."""

    def _enter(self, guid: str) -> Script[tuple[Node, tuple[str, ...]]]:
        path = join(self.path, protected(guid, PREFIX))
        while True:
            try:
                made = yield from Create(path, b"", Mode.EPHEMERAL_SEQUENTIAL)
            except (ConnectionLost, SessionLost):
                yield from Sync(self.path)
                found = yield from self._search(guid)
                if found is None:
                    continue
                made = found
            return made, (yield from list_children(self.path))


class ListsBeforeItCreates(_Queueing):
    """Listing and create in one flight, in the wrong order: whoever comes between is not seen."""

    def _enter(self, guid: str) -> Script[tuple[Node, tuple[str, ...]]]:
        create = Create(join(self.path, protected(guid, PREFIX)), b"", Mode.EPHEMERAL_SEQUENTIAL)
        names, made = yield from Together(Children(self.path), create)
        return made, (*names, split(made.path)[1])


class LeavesAnOrphan(_Queueing):
    """No clean-up when the time is up (kazoo #732)."""

    def _clean_up(self, guid: str, node: Node | None) -> Script[None]:
        yield from ()


class CleansOnlyWhatItKnows(_Queueing):
    """Cleans up only a node that a reply has told it of."""

    def _clean_up(self, guid: str, node: Node | None) -> Script[None]:
        if node is not None:
            yield from delete_surely(node.path)


class ComparesAsText(_Queueing):
    """Sequence numbers compared as text (kazoo #606): wrong when the counter wraps."""

    def _behind(self, queue: tuple[str, ...], me: str) -> str | None:
        before = [name for name in queue if _digits(name) < _digits(me)]
        return max(before, key=_digits, default=None)


def _digits(name: str) -> str:
    return name.rpartition(PREFIX)[2]


class HoldsAfterExpiry(_Queueing):
    """Its node is gone with its session; nobody is before it, so it must be first."""

    def _my_turn(self, node: Node, queue: tuple[str, ...]) -> Script[bool]:
        turn = turn_of(queue, split(node.path)[1])
        if turn is None or turn.mine:
            return True
        try:
            yield from self._wait(join(self.path, turn.behind))
        except (NoNode, ConnectionLost, SessionLost):
            pass
        return False


class WatchesTheParent(_Queueing):
    """Everybody watches the children: a herd in the queue."""

    def _my_turn(self, node: Node, queue: tuple[str, ...]) -> Script[bool]:
        queue = yield from Children(self.path, watch=True)
        if self._behind(queue, split(node.path)[1]) is None:
            return True
        yield from Wait()
        return False


class DeletesByName(HerdLock[Any]):
    """Releases by name, not by owner: repeated, the delete hits the next holder's node."""

    def _let_go(self, hold: Hold[Any]) -> Script[None]:
        return delete_surely(hold.path)


class TwoLeases(ReentrantLock[Any]):
    """The first two in line have a lease. All others wait for anybody before them to leave."""

    count: ClassVar[int] = 2

    def _contend(self, blocking: bool) -> Script[Node | None]:
        guid = yield from Guid()
        node: Node | None = None
        try:
            node, queue = yield from stand_in_line(self.path, guid)
            while len(before := _before(queue, node)) >= self.count:
                yield from self._sleep(before)
                queue = yield from list_children(self.path)
            return node
        except BaseException:
            yield from withdraw(self.path, protected(guid, PREFIX), node)
            raise

    def _sleep(self, before: list[str]) -> Script[None]:
        names = yield from Children(self.path, watch=True)
        if all(name in names for name in before):
            yield from Wait()


class SleepsBesideAFreeLease(TwoLeases):
    """Waits for the one just before it, though any other's leaving would do."""

    def _sleep(self, before: list[str]) -> Script[None]:
        try:
            yield from Get(join(self.path, before[-1]), watch=True)
            yield from Wait()
        except (NoNode, ConnectionLost):
            pass


def _before(queue: tuple[str, ...], node: Node) -> list[str]:
    """The contenders before this one, the nearest last."""
    own = sequence_of(node.path, PREFIX) or 0
    numbers = {name: sequence_of(name, PREFIX) for name in queue}
    distances = {n: serial_distance(s, own) for n, s in numbers.items() if s is not None}
    return sorted((n for n, d in distances.items() if d < 0), key=lambda n: distances[n])


def _careless() -> World:
    world = contenders(HerdLock, 3, shared=True)
    world.careless_watches = True
    return world


def _cancelled_twice() -> World:
    world = contenders(ReentrantLock, 2)
    world.cancels = 2
    return world


def _leases() -> Sequence[Property]:
    return (AtMost(2), NoSleeper(2), NoLostWakeup())


def _no_herd() -> Sequence[Property]:
    return (mutual_exclusion(), OneWokenPerRelease())


def _of(lock_class: type[Any], count: int = 2, **options: Any) -> Callable[[], World]:
    return lambda: contenders(lock_class, count, **options)


def _twin(
    broken: type[Any],
    faults: Faults,
    count: int = 2,
    properties: Callable[[], Sequence[Property]] = of_a_fair_lock,
    right: type[Any] = ReentrantLock,
    **options: Any,
) -> Twin:
    mistake = (broken.__doc__ or "").split("\n")[0]
    return Twin(
        broken.__name__,
        mistake,
        _of(broken, count, **options),
        _of(right, count, **options),
        faults,
        properties,
    )


TWINS = (
    _twin(TrustsItsPredecessorsDeath, one("cancel"), 3),
    _twin(TakesAnyWakeForAGrant, one("request lost")),
    _twin(LeaksWatches, NO_FAULTS),
    _twin(LosesAWakeup, NO_FAULTS),
    _twin(CreatesAgain, one("reply lost")),
    _twin(SearchesWithoutSync, every(lag=1, reply_lost=1)),
    _twin(TakesAnOldNode, one("give up")),
    _twin(ListsBeforeItCreates, NO_FAULTS),
    _twin(LeavesAnOrphan, one("deadline"), timeout=1.0),
    _twin(CleansOnlyWhatItKnows, one("cancel")),
    Twin(
        "CancelsTwice",
        "A session that throws a second cancel into a script that is cleaning up.",
        _cancelled_twice,
        _of(ReentrantLock),
        Faults(2, ("cancel",)),
    ),
    Twin(
        "RemovesOthersWatches",
        "A session that removes a watch though another actor needs it.",
        _careless,
        _of(HerdLock, 3, shared=True),
        one("cancel"),
        of_a_lock,
    ),
    _twin(ComparesAsText, NO_FAULTS, next_sequence=2**31 - 1),
    _twin(DeletesByName, one("reply lost"), 2, of_a_lock, HerdLock),
    _twin(HoldsAfterExpiry, one("expire")),
    _twin(WatchesTheParent, NO_FAULTS, 3, _no_herd),
    _twin(SleepsBesideAFreeLease, NO_FAULTS, 3, _leases, TwoLeases),
)
"""All of them."""
