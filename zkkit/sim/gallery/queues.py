"""Queues: nothing is lost, nothing is taken twice, and the first comes first."""

from __future__ import annotations

from functools import partial
from typing import ClassVar, NamedTuple

from ...errors import ConnectionLost, MultiFailed, NodeExists, NoNode
from ...paths import join, protected
from ...recipes.line import in_order
from ...recipes.shared import create_protected, delete_surely, list_children, until_answered
from ...steps import (
    Create,
    Data,
    Delete,
    Exists,
    Get,
    Guid,
    Mode,
    Multi,
    Script,
    Sync,
    Together,
    Wait,
)
from ..faults import NO_FAULTS, one
from ..properties import of_a_queue
from ..steps import Say, Work
from ..world import World
from .in_line import PATH
from .twin import Right, Shelf, crew

ITEM = "item-"
TAKEN = "/marks"


class Puts(NamedTuple):
    """Puts items with these numbers, one after the other. A marker made in the same transaction
    tells after a lost reply whether an item was put: the item itself may have been taken."""

    path: str
    items: tuple[int, ...] = (1, 2)

    def life(self) -> Script[None]:
        """All of them."""
        for item in self.items:
            yield from Say("puts", item)
            yield from self.put(item, join(TAKEN, (yield from Guid())))
            yield from Say("put", item)

    def put(self, item: int, marker: str) -> Script[None]:
        """One of them."""
        ops = (self.creates(item), Create(marker, mode=Mode.EPHEMERAL))
        while True:
            try:
                yield from Multi(ops)
            except ConnectionLost:
                if not (yield from is_there(marker)):
                    continue
            yield from delete_surely(marker)
            return

    def creates(self, item: int) -> Create:
        """How an item is put."""
        return Create(join(self.path, ITEM), b"%d" % item, Mode.PERSISTENT_SEQUENTIAL)


def is_there(path: str) -> Script[bool]:
    """Whether a node is there; by what the leader knows."""
    _, stat = yield from until_answered(Together(Sync(path), Exists(path)))
    return stat is not None


class Takes(NamedTuple):
    """Takes the first item in one transaction with a marker of its own, which tells after a lost
    reply whose it is."""

    path: str
    many: int = 1

    def life(self) -> Script[None]:
        """So many items."""
        for _ in range(self.many):
            yield from Say("takes")
            item = yield from self.take()
            yield from Say("took", item)
            yield from Say("done", item)

    def take(self) -> Script[int]:
        """The first item that is ours."""
        while True:
            marker = join(TAKEN, (yield from Guid()))
            first = self.first((yield from self.look()))
            if first is None:
                yield from Wait()
                continue
            path = join(self.path, first)
            try:
                found = yield from until_answered(Get(path))
            except NoNode:
                continue
            if (yield from self.remove(path, marker)):
                yield from self.tidy(marker)
                return int(found.data)

    def look(self) -> Script[tuple[str, ...]]:
        """What is there; we are woken when that changes."""
        return list_children(self.path, watch=True)

    def first(self, names: tuple[str, ...]) -> str | None:
        """The one to take."""
        line = in_order(names, (ITEM,))
        return line[0].name if line else None

    def remove(self, path: str, marker: str) -> Script[bool]:
        """Take this one out; false if somebody was quicker."""
        try:
            yield from Multi((Delete(path), Create(marker, mode=Mode.EPHEMERAL)))
        except MultiFailed:
            return False
        except ConnectionLost:
            return (yield from self.was_applied(marker))
        return True

    def was_applied(self, marker: str) -> Script[bool]:
        """Find out what became of it, after a lost reply."""
        return is_there(marker)

    def tidy(self, marker: str) -> Script[None]:
        """Remove the marker."""
        return delete_surely(marker)


class Claims(Takes):
    """Claims an item by an ephemeral node of its own, works it off, and removes it then: whoever is
    struck meanwhile leaves it to others."""

    claims: ClassVar[str] = "/claims"
    lasts: ClassVar[Mode] = Mode.EPHEMERAL

    def life(self) -> Script[None]:
        me = (yield from Guid()).encode()
        for _ in range(self.many):
            yield from Say("takes")
            yield from self.work_one(me)

    def work_one(self, me: bytes) -> Script[None]:
        """The first item that nobody has claimed."""
        while True:
            name = self.first((yield from self.free()))
            if name is None:
                yield from Wait()
                continue
            claim = join(self.claims, name)
            if not (yield from self.claim(claim, me)):
                continue
            try:
                found = yield from self.still_there(join(self.path, name))
                if found is not None:
                    yield from self.work_off(int(found.data), join(self.path, name))
                    return
            finally:
                yield from delete_surely(claim)

    def free(self) -> Script[tuple[str, ...]]:
        """What nobody has claimed."""
        names = yield from list_children(self.path, watch=True)
        claimed = yield from list_children(self.claims, watch=True)
        return tuple(name for name in names if name not in claimed)

    def claim(self, path: str, me: bytes) -> Script[bool]:
        """Whether it is ours now."""
        try:
            yield from Create(path, me, self.lasts)
        except NodeExists:
            return (yield from self.is_mine(path, me))
        except ConnectionLost:
            return (yield from self.is_mine(path, me))
        return True

    def is_mine(self, path: str, me: bytes) -> Script[bool]:
        """Who has it."""
        try:
            _, found = yield from until_answered(Together(Sync(path), Get(path)))
        except NoNode:
            return False
        return found.data == me

    def still_there(self, path: str) -> Script[Data | None]:
        """The item, unless somebody worked it off before we claimed it."""
        try:
            _, found = yield from until_answered(Together(Sync(path), Get(path)))
        except NoNode:
            return None
        data: Data = found
        return data

    def work_off(self, item: int, path: str) -> Script[None]:
        """Do it, and only then remove it."""
        yield from Say("took", item)
        yield from Work()
        yield from Say("done", item)
        yield from delete_surely(path, outlives_session=True)


# --- mistakes -------------------------------------------------------------------------------


class PutsProtected(Puts):
    """A guid in the item's name, to be found after a lost reply: where it is not found it may have
    been taken, and is put again."""

    def put(self, item: int, marker: str) -> Script[None]:
        name = protected((yield from Guid()), ITEM)
        yield from create_protected(
            self.path, name, data=b"%d" % item, mode=Mode.PERSISTENT_SEQUENTIAL
        )


class PutsAgain(Puts):
    """Puts once more after a lost reply: the first is there as well (Curator's and kazoo's do)."""

    def put(self, item: int, marker: str) -> Script[None]:
        yield from until_answered(self.creates(item))


class PutsForASession(Puts):
    """Items that go with the session of whoever put them."""

    def creates(self, item: int) -> Create:
        return Create(join(self.path, ITEM), b"%d" % item, Mode.EPHEMERAL_SEQUENTIAL)


class TakesWhatItSees(Takes):
    """Takes what it has read, also if somebody else removed it."""

    def remove(self, path: str, marker: str) -> Script[bool]:
        try:
            yield from until_answered(Delete(path))
        except NoNode:
            pass
        return True


class GivesUpAfterALostReply(Takes):
    """Takes a lost reply for a failure: what it has removed then nobody has (kazoo's does)."""

    def was_applied(self, marker: str) -> Script[bool]:
        yield from ()
        return False


class TakesTheLast(Takes):
    """Takes the last name of an unsorted list."""

    def first(self, names: tuple[str, ...]) -> str | None:
        return max(names) if names else None


class SleepsBesideAnItem(Takes):
    """Looks, and sets its watch afterwards: what is put between the two wakes nobody."""

    def look(self) -> Script[tuple[str, ...]]:
        names = yield from list_children(self.path)
        if not names:
            yield from list_children(self.path, watch=True)
        return names


class RemovesBeforeItWorks(Claims):
    """Removes the item before the work is done: who is struck meanwhile takes it along."""

    def work_off(self, item: int, path: str) -> Script[None]:
        yield from delete_surely(path, outlives_session=True)
        yield from Say("took", item)
        yield from Work()
        yield from Say("done", item)


class ClaimsForEver(Claims):
    """A claim that outlives its session: what somebody had claimed who has crashed stays undone."""

    lasts = Mode.PERSISTENT


# --- the table ------------------------------------------------------------------------------

FAMILY = "queue"
_NODES = (PATH, TAKEN, Claims.claims)
_LOST, _TWICE = "nothing vanishes", "nothing is taken twice"
_asked = partial(of_a_queue, PATH)
_redelivering = partial(of_a_queue, PATH, redelivers=True)


def _queue(kind: type[Takes], count: int) -> World:
    """One puts two items, and one or two take them."""
    takers = [kind(PATH, 2)] if count == 2 else [kind(PATH)] * (count - 1)
    return crew(Puts(PATH), *takers, nodes=_NODES)


def _putting(it: Puts) -> World:
    return crew(it, Takes(PATH, 2), nodes=_NODES)


def _taking(it: Takes) -> World:
    return crew(Puts(PATH), it, nodes=_NODES)


def _two_take(it: Takes) -> World:
    return crew(Puts(PATH, (1,)), it, it, nodes=_NODES)


_PUT = Shelf(FAMILY, _asked, _putting, Puts(PATH))
_TAKE = Shelf(FAMILY, _asked, _taking, Takes(PATH, 2))
_TWO = Shelf(FAMILY, _asked, _two_take, Takes(PATH))
_CLAIM = Shelf(FAMILY, _redelivering, _two_take, Claims(PATH))

RIGHT = (
    Right("Takes", FAMILY, "a marker in the same transaction", partial(_queue, Takes), _asked),
    Right("Claims", FAMILY, "claim, work, then remove", partial(_queue, Claims), _redelivering),
)
TWINS = (
    _PUT.wrong(
        PutsProtected,
        one("reply lost"),
        _TWICE,
        "A name finds a node only while it is there, and others may take it: mark it elsewhere.",
    ),
    _PUT.wrong(
        PutsAgain, one("reply lost"), _TWICE, "A write that may have worked is not to be repeated."
    ),
    _PUT.wrong(
        PutsForASession, one("crash"), _LOST, "What others are to find must outlive your session."
    ),
    _TWO.wrong(
        TakesWhatItSees, NO_FAULTS, _TWICE, "It is yours if your delete worked, and not before."
    ),
    _TAKE.wrong(
        GivesUpAfterALostReply,
        one("reply lost"),
        _LOST,
        "After a lost reply the item may be yours: nobody else will ever find it.",
    ),
    _TAKE.wrong(
        TakesTheLast,
        NO_FAULTS,
        "first put, first taken",
        "Children come in no order: sort them by their numbers.",
    ),
    _TAKE.wrong(
        SleepsBesideAnItem,
        NO_FAULTS,
        "nobody waits beside an item",
        "Look with the watch, not before it.",
    ),
    _CLAIM.wrong(
        RemovesBeforeItWorks,
        one("crash"),
        _LOST,
        "Remove an item when its work is done, not before.",
    ),
    _CLAIM.wrong(
        ClaimsForEver,
        one("crash"),
        "nobody waits beside an item",
        "A claim is for a session: make it ephemeral.",
    ),
)
