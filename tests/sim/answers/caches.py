"""Wrong caches."""

from __future__ import annotations

from functools import partial

from zkkit.errors import NoNode
from zkkit.recipe import create_or_there, pause, until_answered
from zkkit.sim import NO_FAULTS, Say, one
from zkkit.sim.gallery.caches import Changes, Follows, Listens
from zkkit.sim.gallery.in_line import PATH
from zkkit.sim.gallery.twin import Shelf, crew
from zkkit.sim.properties import of_a_cache
from zkkit.steps import Children, Create, Delete, Exists, Get, Set, Wait


class ReadsOnce(Follows):
    """Reads once, and shows that for ever."""

    def wait(self):
        while True:
            yield from Wait()


class ReadsAndEnds(Follows):
    """Reads once, shows that, and is through."""

    def life(self):
        found = yield from self.read()
        yield from self.show(int(found.data or b"0"), 0)


class SpinsOn(Follows):
    """Reads once, and asks from then on only whether the node is there, without end."""

    def wait(self):
        while True:
            yield from until_answered(Exists(self.path))


class WaitsForItsClock(Follows):
    """Reads, sets its watch afterwards, and is woken by its clock again and again."""

    def read(self):
        found = yield from until_answered(Get(self.path))
        yield from until_answered(Exists(self.path, watch=True))
        return found

    def wait(self):
        yield from pause(1.0)


class WatchesChildren(Follows):
    """Watches the children of the node: its data change without them."""

    def read(self):
        yield from until_answered(Children(self.path, watch=True))
        return (yield from until_answered(Get(self.path)))


class ComparesVersions(Follows):
    """Takes for news what has a higher version: a node that was deleted and made again begins at
    zero (CURATOR-391)."""

    def life(self):
        newest = -1
        while True:
            found = yield from self.read()
            if found is None:
                yield from Say("sees", 0)
            elif found.stat.version > newest:
                newest = found.stat.version
                yield from Say("sees", int(found.data or b"0"))
            yield from self.wait()


class ShowsTheOneBefore(Follows):
    """Shows what it has read the time before."""

    def show(self, value, before):
        yield from Say("sees", before)


class TellsTwice(Follows):
    """Tells of a change whenever it is woken, whether there was one or not."""

    def is_news(self, found, newest):
        return True

    def show(self, value, before):
        yield from Say("event", value)
        yield from Say("sees", value)


class TellsTheOneBefore(Follows):
    """Tells of the value that it had, not of the one that it has."""

    def show(self, value, before):
        if value != before:
            yield from Say("event", before)
        yield from Say("sees", value)


class StopsWhenItIsGone(Follows):
    """Does not watch for a node that is not there: it is never seen again."""

    def read(self):
        try:
            return (yield from until_answered(Get(self.path, watch=True)))
        except NoNode:
            return None


class KeepsWhatIsGone(Follows):
    """Shows the last value when the node is gone."""

    def is_news(self, found, newest):
        return found is not None and super().is_news(found, newest)


class FailsWhenItIsGone(Follows):
    """Does not expect that the node can go."""

    def read(self):
        return (yield from until_answered(Get(self.path, watch=True)))


class ShowsADraft(Follows):
    """Shows nothing for a moment before each value."""

    def show(self, value, before):
        yield from Say("sees", 0)
        yield from super().show(value, before)


class ListensTooLate(Listens):
    """Reads before it listens: what changes between the two is never seen."""

    def life(self):
        found = yield from self.read()
        yield from self.show(int(found.data or b"0") if found else 0, 0)
        yield from self.begin()
        while True:
            yield from self.wait()
            found = yield from self.read()
            yield from self.show(int(found.data or b"0") if found else 0, 0)


class Replaces(Changes):
    """Writes, deletes the node, and makes it again."""

    def life(self):
        yield from until_answered(Set(self.path, b"1"))
        yield from until_answered(Set(self.path, b"2"))
        try:
            yield from until_answered(Delete(self.path))
        except NoNode:
            pass
        yield from create_or_there(Create(self.path, b"3"))


class Removes(Changes):
    """Writes, and deletes the node."""

    def life(self):
        yield from until_answered(Set(self.path, b"1"))
        try:
            yield from until_answered(Delete(self.path))
        except NoNode:
            pass


def _world(it, changes=None):
    return crew(changes or Changes(PATH), it)


SHELF = Shelf("cache", partial(of_a_cache, PATH), _world, Follows(PATH))
REPLACED = SHELF.but(build=partial(_world, changes=Replaces(PATH)))
REMOVED = SHELF.but(build=partial(_world, changes=Removes(PATH)))
LISTEN = SHELF.but(right=Listens(PATH))
AGREE, BACK, SUM = "caches converge", "caches never go back", "events sum up"

ANSWERS = (
    SHELF.wrong(ReadsOnce, NO_FAULTS, AGREE),
    SHELF.wrong(ReadsAndEnds, NO_FAULTS, AGREE),
    SHELF.wrong(SpinsOn, NO_FAULTS, "nobody goes round for ever"),
    SHELF.wrong(WaitsForItsClock, NO_FAULTS, AGREE),
    SHELF.wrong(WatchesChildren, NO_FAULTS, AGREE),
    REPLACED.wrong(ComparesVersions, NO_FAULTS, AGREE),
    SHELF.wrong(ShowsTheOneBefore, NO_FAULTS, AGREE),
    SHELF.wrong(TellsTwice, one("request lost"), SUM),
    SHELF.wrong(TellsTheOneBefore, NO_FAULTS, SUM),
    REPLACED.wrong(StopsWhenItIsGone, NO_FAULTS, AGREE),
    REMOVED.wrong(KeepsWhatIsGone, NO_FAULTS, AGREE),
    REMOVED.wrong(FailsWhenItIsGone, NO_FAULTS, "nobody fails"),
    SHELF.wrong(ShowsADraft, NO_FAULTS, BACK),
    LISTEN.wrong(ListensTooLate, NO_FAULTS, AGREE),
)
