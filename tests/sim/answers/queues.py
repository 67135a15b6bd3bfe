"""Wrong queues."""

from __future__ import annotations

from functools import partial

from zkkit.errors import ConnectionLost, NodeExists, NoNode
from zkkit.paths import join
from zkkit.recipe import list_children, until_answered
from zkkit.recipes.shared import delete_surely
from zkkit.sim import NO_FAULTS, Say, Work, one
from zkkit.sim.gallery.in_line import PATH
from zkkit.sim.gallery.queues import ITEM, TAKEN, Claims, Puts, Takes
from zkkit.sim.gallery.twin import Shelf, crew
from zkkit.sim.properties import of_a_queue
from zkkit.steps import Create, Delete, FireKind, Get, Guid, Mode, Multi, Set, Wait

NODES = (PATH, TAKEN, Claims.claims)


class SaysPutTooEarly(Puts):
    """Says that an item is put before it is sent, and gives up when the connection breaks."""

    def put(self, item, marker):
        yield from Say("put", item)
        try:
            yield from self.creates(item)
        except ConnectionLost:
            pass


class PutsByName(Puts):
    """Items of one name: the second is refused, and it takes that for put."""

    def put(self, item, marker):
        try:
            yield from until_answered(Create(join(self.path, ITEM + "0"), b"%d" % item))
        except NodeExists:
            pass


class NumbersItself(Puts):
    """Numbers the items itself, backwards."""

    def put(self, item, marker):
        try:
            yield from until_answered(
                Create(join(self.path, f"{ITEM}{9 - item:010}"), b"%d" % item)
            )
        except NodeExists:
            pass


class PutsTheSame(Puts):
    """Puts the first item twice, and the second never."""

    def creates(self, item):
        return super().creates(self.items[0])


class TakesWithoutDeleting(Takes):
    """Reads the first item, and leaves it there."""

    def remove(self, path, marker):
        yield from ()
        return True


class BelievesThatItTook(Takes):
    """Takes a lost connection for a success."""

    def was_applied(self, marker):
        yield from ()
        return True


class ThrowsAwayTheRest(Takes):
    """Removes all that it sees, and takes the first."""

    def remove(self, path, marker):
        done = yield from super().remove(path, marker)
        for name in (yield from list_children(self.path)):
            yield from delete_surely(join(self.path, name), outlives_session=True)
        return done


class WaitsDeafly(Takes):
    """Waits on when a broken connection wakes it: its watch is gone (kazoo's LockingQueue does)."""

    def take(self):
        while not (yield from self.look()):
            while (yield from Wait()).kind is FireKind.NONE:
                pass
        return (yield from super().take())


class LooksWithoutAWatch(Takes):
    """Looks without a watch, and waits."""

    def look(self):
        return list_children(self.path)


class SpinsBesideAnItem(Takes):
    """Looks once, and where nothing is there it looks at the directory itself, without end."""

    def take(self):
        if not (yield from self.look()):
            while True:
                yield from until_answered(Get(self.path))
        return (yield from super().take())


class SortsBackwards(Takes):
    """The newest first: a stack."""

    def first(self, names):
        return max(names, key=lambda name: name[-10:], default=None)


class DeletesThenReads(Takes):
    """Removes an item, and would then read what it was."""

    def take(self):
        while True:
            first = self.first((yield from self.look()))
            if first is None:
                yield from Wait()
                continue
            path = join(self.path, first)
            yield from until_answered(Delete(path))
            return int((yield from until_answered(Get(path))).data)


class TakesByWriting(Takes):
    """Marks an item as its own by a write without a version: the last to write wins, both believe
    it."""

    def remove(self, path, marker):
        try:
            yield from until_answered(Set(path, b"0"))
            yield from until_answered(Delete(path))
        except NoNode:
            pass
        return True


class FailsWhenOthersTake(Takes):
    """Does not expect that somebody is quicker."""

    def remove(self, path, marker):
        yield from Multi((Delete(path), Create(marker, mode=Mode.EPHEMERAL)))
        return True


class ClaimsAnothers(Claims):
    """Takes another's claim for its own."""

    def is_mine(self, path, me):
        yield from ()
        return True


class ReleasesBeforeItRemoves(Claims):
    """Gives its claim up when the work is done, and removes the item only then."""

    def work_off(self, item, path):
        yield from Say("took", item)
        yield from Work()
        yield from Say("done", item)
        yield from delete_surely(join(self.claims, path.rpartition("/")[2]))
        yield from delete_surely(path, outlives_session=True)


class NeverRemoves(Claims):
    """Works an item off, and leaves it there: the next one does it again."""

    def work_off(self, item, path):
        yield from Say("took", item)
        yield from Work()
        yield from Say("done", item)


def _putting(it):
    return crew(it, Takes(PATH, 2), nodes=NODES)


def _taking(it):
    return crew(Puts(PATH), it, nodes=NODES)


def _two_take(it):
    return crew(Puts(PATH), it, it, nodes=NODES)


def _two_for_one(it):
    return crew(Puts(PATH, (1,)), it, it, nodes=NODES)


ASK, AGAIN = partial(of_a_queue, PATH), partial(of_a_queue, PATH, redelivers=True)


class PutsOneNumberTwice(Puts):
    """Two items with one number: nobody could tell which of them is lost."""

    def life(self):
        for _ in self.items:
            yield from Puts(self.path, (1,)).life()


class SaysThatItTook(Takes):
    """Sees an item, and leaves it there."""

    def remove(self, path, marker):
        yield from ()
        return True

    def tidy(self, marker):
        yield from ()


class PutsIfItCan(Puts):
    """Puts an item if the queue is empty, else it lets it be."""

    def life(self):
        for item in self.items:
            yield from Say("puts", item)
            names = yield from list_children(self.path)
            if not names:
                yield from self.put(item, join(TAKEN, (yield from Guid())))
                yield from Say("put", item)


PUT = Shelf("queue", ASK, _putting, Puts(PATH))
TAKE = Shelf("queue", ASK, _taking, Takes(PATH, 2))
TWO = Shelf("queue", ASK, _two_for_one, Takes(PATH))
CLAIM = Shelf("queue", AGAIN, _two_take, Claims(PATH))
LOST, TWICE, ORDER = "nothing vanishes", "nothing is taken twice", "first put, first taken"
BESIDE = "nobody waits beside an item"

ANSWERS = (
    PUT.wrong(PutsOneNumberTwice, NO_FAULTS, "nothing vanishes"),
    PUT.wrong(PutsIfItCan, NO_FAULTS, "nobody gives up"),
    TAKE.wrong(SaysThatItTook, NO_FAULTS, "nothing is taken twice"),
    PUT.wrong(SaysPutTooEarly, one("request lost"), LOST),
    PUT.wrong(PutsByName, NO_FAULTS, LOST),
    PUT.wrong(NumbersItself, NO_FAULTS, ORDER),
    PUT.wrong(PutsTheSame, NO_FAULTS, TWICE),
    TAKE.wrong(TakesWithoutDeleting, NO_FAULTS, TWICE),
    TWO.wrong(BelievesThatItTook, one("request lost"), TWICE),
    TAKE.wrong(ThrowsAwayTheRest, NO_FAULTS, LOST),
    TAKE.wrong(WaitsDeafly, one("request lost"), BESIDE),
    TAKE.wrong(LooksWithoutAWatch, NO_FAULTS, BESIDE),
    TAKE.wrong(SpinsBesideAnItem, NO_FAULTS, "nobody goes round for ever"),
    TAKE.wrong(SortsBackwards, NO_FAULTS, ORDER),
    TAKE.wrong(DeletesThenReads, NO_FAULTS, "nobody fails"),
    TWO.wrong(TakesByWriting, NO_FAULTS, TWICE),
    TWO.wrong(FailsWhenOthersTake, NO_FAULTS, "nobody fails"),
    CLAIM.wrong(ClaimsAnothers, NO_FAULTS, TWICE),
    CLAIM.wrong(ReleasesBeforeItRemoves, NO_FAULTS, TWICE),
    CLAIM.wrong(NeverRemoves, NO_FAULTS, TWICE),
)
