"""Broken locks: the fair lock with one mistake each."""

from __future__ import annotations

from typing import Any

from ...errors import ConnectionLost, NoNode, SessionLost
from ...paths import guid_of, join, protected, split
from ...recipes.herd import HerdLock
from ...recipes.locks.hold import Hold
from ...recipes.locks.line import CURATOR
from ...recipes.locks.reentrant import ReentrantLock
from ...recipes.locks.rules import Turn, ahead_of, first_in_line
from ...recipes.shared import create_protected, delete_surely, list_children, withdraw
from ...steps import (
    Children,
    Create,
    Delete,
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

    def _enter(self, guid: str) -> Script[tuple[Any, ...]]:
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
    """Takes the death of the node before it for a grant: that one may have been cancelled."""

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
    """Does not look again after a wake: a broken connection wakes as well."""

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
    """Waits without asking whether there still is something to wait for: a wakeup is lost between
    check and watch."""

    def _wait(self, path: str) -> Script[Any]:
        yield from Exists(path, watch=True)
        return (yield from Wait())


class CreatesAgain(_Queueing):
    """A second contender after a lost reply."""

    def _enter(self, guid: str) -> Script[tuple[Any, ...]]:
        while True:
            path = join(self.path, protected(guid, PREFIX))
            try:
                made = yield from Create(path, b"", Mode.EPHEMERAL_SEQUENTIAL)
            except ConnectionLost:
                continue
            return made, (yield from list_children(self.path))


class _Searches(_Queueing):
    """Creates, and after a lost reply searches as `_search` does."""

    def _enter(self, guid: str) -> Script[tuple[Any, ...]]:
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
    """Searches after a lost reply without a Sync: a follower that lags hides its node."""


class TakesAnOldNode(_Searches):
    """Takes the node of the session it has given up for its own: it does not look at the owner
    (CURATOR-604)."""

    def _enter(self, guid: str) -> Script[tuple[Any, ...]]:
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
    """Releases by name, not by owner: repeated after a lost reply, the delete hits the next
    holder's node."""

    def _let_go(self, hold: Hold[Any]) -> Script[None]:
        return delete_surely(hold.path)
