"""Broken locks: the fair lock with one mistake each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ...errors import ConnectionLost, NoNode, SessionLost
from ...paths import guid_of, join, protected, split
from ...recipes.herd import HerdLock
from ...recipes.line import Turn, ahead_of, first_in_line
from ...recipes.locks.hold import Hold
from ...recipes.locks.layouts import CURATOR
from ...recipes.locks.reentrant import ReentrantLock
from ...recipes.shared import create_protected, delete_surely, list_children, withdraw
from ...steps import (
    Children,
    Create,
    Delete,
    Exists,
    Fire,
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
from ..faults import NO_FAULTS, Faults, every, one
from ..lives import contenders
from ..properties import OneWokenPerRelease, Property, mutual_exclusion, of_a_fair_lock, of_a_lock
from ..world import World
from .in_line import PATH, InLine, OneName, PollsInLine
from .twin import Right, Twin, both, cancelled_twice, careless, in_container, twin

PREFIX = CURATOR.exclusive


def stand_in_line(path: str, guid: str) -> Script[tuple[Any, ...]]:
    """Create our node; gives it and who is there."""
    return create_protected(path, protected(guid, PREFIX), Children(path), data=b"")


def turn_of(names: tuple[str, ...], me: str) -> Turn | None:
    """What the rule of the fair lock says; None if we are not in line."""
    ahead = ahead_of(me, names, (PREFIX,))
    return None if ahead is None else first_in_line(ahead)


class _Queueing(ReentrantLock[Any]):
    """The fair lock taken apart, so that each twin changes one piece of it."""

    _looks_again_after: tuple[type[Exception], ...] = (NoNode, ConnectionLost)

    def _contend(self, blocking: bool) -> Script[Hold[Any] | None]:
        guid = yield from Guid()
        node: Node | None = None
        try:
            node, queue = yield from self._enter(guid)
            while not (yield from self._my_turn(node, queue)):
                queue = yield from list_children(self.path)
            return Hold(self, node)
        except SessionLost:
            raise
        except BaseException:
            yield from self._clean_up(guid, node)
            raise

    def _enter(self, guid: str) -> Script[tuple[Any, ...]]:
        return stand_in_line(self.path, guid)

    def _my_turn(self, node: Node, queue: tuple[str, ...]) -> Script[bool]:
        """Whether it is our turn; if not, wait until something has changed."""
        behind = self._behind(queue, split(node.path)[1])
        if behind is None:
            return True
        try:
            fire = yield from self._wait(join(self.path, behind))
        except self._looks_again_after:
            return False
        return self._is_grant(fire)

    def _is_grant(self, fire: Fire) -> bool:
        """Whether to be woken so is to hold: never."""
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
    """Takes the death of the node before it for a grant: that one may have been cancelled."""

    def _is_grant(self, fire: Fire) -> bool:
        return fire.kind is FireKind.DELETED


class TakesAnyWakeForAGrant(_Queueing):
    """Does not look again after a wake: a broken connection wakes as well."""

    def _is_grant(self, fire: Fire) -> bool:
        return True


class LeaksWatches(_Queueing):
    """Exists instead of get: a watch on a node that will never come back."""

    def _wait(self, path: str) -> Script[Any]:
        if (yield from Exists(path, watch=True)) is None:
            raise NoNode(path)
        return (yield from Wait())


class LosesAWakeup(_Queueing):
    """Waits without asking whether there still is something to wait for: a wakeup is lost between
    check and watch."""

    def _wait(self, path: str) -> Script[Any]:
        yield from Exists(path, watch=True)
        return (yield from Wait())


class _Searches(_Queueing):
    """Creates, and after a lost reply searches as `_search` does."""

    _searches_after: tuple[type[Exception], ...] = (ConnectionLost,)

    def _enter(self, guid: str) -> Script[tuple[Any, ...]]:
        path = join(self.path, protected(guid, PREFIX))
        made: Node | None = None
        while made is None:
            try:
                made = yield from Create(path, b"", Mode.EPHEMERAL_SEQUENTIAL)
            except self._searches_after:
                made = yield from self._search(guid)
        return made, (yield from list_children(self.path))

    def _search(self, guid: str) -> Script[Node | None]:
        names = yield from Children(self.path)
        mine = next((name for name in names if guid_of(name) == guid), None)
        if mine is None:
            return None
        stat = yield from Exists(join(self.path, mine))
        return None if stat is None else Node(join(self.path, mine), stat)


class CreatesAgain(_Searches):
    """A second contender after a lost reply."""

    def _search(self, guid: str) -> Script[Node | None]:
        yield from ()
        return None


class SearchesWithoutSync(_Searches):
    """Searches after a lost reply without a Sync: a follower that lags hides its node."""


class TakesAnOldNode(_Searches):
    """Takes the node of the session it has given up for its own: it does not look at the owner
    (CURATOR-604)."""

    _searches_after = (ConnectionLost, SessionLost)

    def _search(self, guid: str) -> Script[Node | None]:
        yield from Sync(self.path)
        return (yield from super()._search(guid))


class ListsBeforeItCreates(_Queueing):
    """Listing and create in one flight, in the wrong order: whoever comes between is not seen."""

    def _enter(self, guid: str) -> Script[tuple[Any, ...]]:
        create = Create(join(self.path, protected(guid, PREFIX)), b"", Mode.EPHEMERAL_SEQUENTIAL)
        names, made = yield from Together(Children(self.path), create)
        return made, (*names, split(made.path)[1])


class LeavesAnOrphan(_Queueing):
    """No clean-up when its deadline has passed (kazoo #732)."""

    def _clean_up(self, guid: str, node: Node | None) -> Script[None]:
        yield from ()


class CleansOnlyWhatItKnows(_Queueing):
    """When cancelled, cleans up only a node that a reply has told it of."""

    def _clean_up(self, guid: str, node: Node | None) -> Script[None]:
        if node is not None:
            yield from delete_surely(node.path)


class CleansUpUnshielded(_Queueing):
    """A second cancel breaks its clean-up, half done."""

    def _clean_up(self, guid: str, node: Node | None) -> Script[None]:
        names = yield from Children(self.path)
        for name in names:
            if guid_of(name) == guid:
                yield from Delete(join(self.path, name))


class ComparesAsText(_Queueing):
    """Sequence numbers compared as text (kazoo #606): wrong when the counter wraps."""

    def _behind(self, queue: tuple[str, ...], me: str) -> str | None:
        before = [name for name in queue if _digits(name) < _digits(me)]
        return max(before, key=_digits, default=None)


def _digits(name: str) -> str:
    return name.rpartition(PREFIX)[2]


class HoldsAfterExpiry(_Queueing):
    """Says it holds after its session has expired: its node is gone, so nobody is before it."""

    _looks_again_after = (NoNode, ConnectionLost, SessionLost)

    def _behind(self, queue: tuple[str, ...], me: str) -> str | None:
        return super()._behind(queue, me) if me in queue else None


class WatchesTheParent(_Queueing):
    """Everybody watches the children: a herd in the queue."""

    def _my_turn(self, node: Node, queue: tuple[str, ...]) -> Script[bool]:
        queue = yield from Children(self.path, watch=True)
        if self._behind(queue, split(node.path)[1]) is None:
            return True
        yield from Wait()
        return False


class DeletesByName(HerdLock[Any]):
    """Releases by name, not by owner: repeated after a lost reply, the delete hits the next
    holder's node."""

    def _let_go(self, hold: Hold[Any]) -> Script[None]:
        return delete_surely(hold.path)


# --- the table ------------------------------------------------------------------------------


def _lock(
    broken: type[Any],
    faults: Faults,
    breaks: str,
    teaches: str,
    count: int = 2,
    properties: Callable[[], Sequence[Property]] = of_a_fair_lock,
    right: type[Any] = ReentrantLock,
    build: Callable[..., World] = contenders,
    **options: Any,
) -> Twin:
    worlds = both(build, broken, right, count, **options)
    return twin(broken, worlds, faults, breaks, properties, FAMILY, teaches)


def _no_herd() -> Sequence[Property]:
    return (mutual_exclusion(), OneWokenPerRelease())


FAMILY = "lock"
_EXCLUSION, _WAKEUP, _REAL = "mutual exclusion", "no lost wakeup", "grants are real"

TWINS = (
    _lock(
        TrustsItsPredecessorsDeath, one("cancel"), _EXCLUSION,
        "A node that goes says that something has changed, not that it is your turn.", 3,
    ),
    _lock(
        TakesAnyWakeForAGrant, one("request lost"), _EXCLUSION,
        "Any wake means: look again. A broken connection wakes everybody.",
    ),
    _lock(
        LeaksWatches, NO_FAULTS, "nothing left behind",
        "To wait for a node to go, watch by Get: Exists leaves a watch where nothing is.",
    ),
    _lock(
        LosesAWakeup, NO_FAULTS, _WAKEUP,
        "Between a look and a watch things change: what the watch's request shows counts.",
    ),
    _lock(
        CreatesAgain, one("reply lost"), _WAKEUP,
        "A lost reply is no failure: find out whether the node is there before you create another.",
    ),
    _lock(
        SearchesWithoutSync, every(lag=1, reply_lost=1), _WAKEUP,
        "A follower may not have seen your own write: Sync before you search for it.",
    ),
    _lock(
        TakesAnOldNode, one("give up"), _REAL,
        "A node belongs to a session: look at its owner before you call it yours.",
    ),
    _lock(
        ListsBeforeItCreates, NO_FAULTS, _EXCLUSION,
        "A flight is not atomic: read after you write, in that order.",
    ),
    _lock(
        LeavesAnOrphan, one("deadline"), _WAKEUP,
        "Whoever stops waiting takes its node out of the line.", timeout=1.0,
    ),
    _lock(
        CleansOnlyWhatItKnows, one("cancel"), _WAKEUP,
        "A request under way still arrives: clean up also what no reply has told you of.",
    ),
    _lock(
        CleansUpUnshielded, Faults(2, ("cancel",)), _WAKEUP,
        "A clean-up must not be stopped half-way.", build=cancelled_twice,
    ),
    Twin(
        "RemovesOthersWatches",
        "A session that, when one actor is cancelled, removes a watch which another one needs.",
        partial(careless, HerdLock, 3),
        partial(contenders, HerdLock, 3, shared=True),
        one("cancel"),
        _WAKEUP,
        of_a_lock,
        FAMILY,
        "A watch is the session's, not yours: count its users.",
    ),
    _lock(
        ComparesAsText, NO_FAULTS, _EXCLUSION,
        "Sequence numbers have a sign and come to an end: compare them as numbers that wrap.",
        right=_Queueing, next_sequence=2**31 - 1,
    ),
    _lock(
        DeletesByName, one("reply lost"), "nobody takes away what others hold",
        "A name can be somebody else's by now: delete what is yours, not what is called so.",
        2, of_a_lock, HerdLock,
    ),
    _lock(
        HoldsAfterExpiry, one("expire"), _REAL,
        "To have nobody ahead is not enough: your own node must be there.",
    ),
    _lock(
        WatchesTheParent, NO_FAULTS, "at most one woken per release",
        "Watch the one just ahead: who watches them all is woken by every one.", 3, _no_herd,
    ),
)  # fmt: skip

RIGHT = (
    Right(
        "ReentrantLock", FAMILY, "zkkit's own", partial(contenders, ReentrantLock), of_a_fair_lock
    ),
    Right("HerdLock", FAMILY, "zkkit's own, of one name", partial(contenders, HerdLock), of_a_lock),
    Right(
        "InLine", FAMILY, "watch the one just ahead", partial(in_container, InLine(PATH)),
        of_a_fair_lock,
    ),
    Right(
        "PollsInLine", FAMILY, "look again from time to time",
        partial(in_container, PollsInLine(PATH)), of_a_fair_lock,
    ),
    Right(
        "OneName", FAMILY, "one name, and wait for its going", partial(in_container, OneName(PATH)),
        of_a_lock,
    ),
)  # fmt: skip
