"""Wrong counters."""

from __future__ import annotations

from functools import partial

from zkkit.errors import BadVersion, ConnectionLost, MultiFailed, NodeExists, NoNode
from zkkit.paths import join
from zkkit.recipe import until_answered
from zkkit.sim import NO_FAULTS, Say, one
from zkkit.sim.gallery.counters import MARKS, Adds, AddsByName, number
from zkkit.sim.gallery.in_line import PATH
from zkkit.sim.gallery.twin import Shelf, same
from zkkit.sim.properties import of_a_counter
from zkkit.steps import Create, Delete, Exists, Get, Guid, Mode, Multi, Set, Sync, Together


class AddsTwo(Adds):
    """Adds two for one."""

    def next(self, found):
        return super().next(found) + 1


class SaysTooEarly(Adds):
    """Says that it has added before the server has answered."""

    def write(self, found, marker):
        yield from Say("added", 1)
        yield from super().write(found, marker)


class GivesUpWhenOthersWrite(Adds):
    """Somebody was quicker: it takes that for done."""

    def attempt(self, marker):
        try:
            yield from self.write((yield from self.read()), marker)
        except (MultiFailed, BadVersion):
            return True
        except ConnectionLost:
            return (yield from self.was_applied(marker))
        return True


class WritesThenMarks(AddsByName):
    """Makes its marker in a second step: after a lost reply the write was done and the marker was
    not."""

    def write(self, found, marker):
        yield from Set(self.path, b"%d" % self.next(found), found.stat.version)
        yield from Create(join(self.path, self.name(marker).decode()), mode=Mode.EPHEMERAL)

    def was_applied(self, marker):
        path = join(self.path, self.name(marker).decode())
        _, stat = yield from until_answered(Together(Sync(path), Exists(path)))
        return stat is not None


class MarksThenWrites(AddsByName):
    """Makes its marker first, and takes it for the write after a lost connection."""

    def write(self, found, marker):
        path = join(self.path, self.name(marker).decode())
        try:
            yield from Create(path, mode=Mode.EPHEMERAL)
        except NodeExists:
            pass
        yield from Set(self.path, b"%d" % self.next(found), found.stat.version)

    def was_applied(self, marker):
        path = join(self.path, self.name(marker).decode())
        _, stat = yield from until_answered(Together(Sync(path), Exists(path)))
        return stat is not None


class ComparesTheValue(AddsByName):
    """After a lost reply it looks whether the value is what it wrote: another may have written
    that."""

    def attempt(self, marker):
        found = yield from until_answered(self.reads())
        try:
            yield from Set(self.path, b"%d" % self.next(found), found.stat.version)
        except BadVersion:
            return False
        except ConnectionLost:
            now = yield from until_answered(self.reads())
            return number(now.data) == self.next(found)
        return True

    def reads(self):
        return Get(self.path)


class ResetsOnError(Adds):
    """Begins again at one where it cannot read what is there."""

    def attempt(self, marker):
        try:
            found = yield from self.read()
            yield from self.write(found, marker)
        except ConnectionLost:
            yield from until_answered(Set(self.path, b"1"))
        except MultiFailed:
            return False
        return True


class DeletesAndCreates(Adds):
    """Replaces the node instead of writing it: between the two steps it is not there."""

    def write(self, found, marker):
        yield from Delete(self.path, found.stat.version)
        yield from Create(self.path, b"%d" % self.next(found))

    def attempt(self, marker):
        try:
            return (yield from super().attempt(marker))
        except (NoNode, NodeExists):
            return False


class AddsToAnOldValue(Adds):
    """Reads once, and writes that value whatever it has become."""

    def attempt(self, marker):
        found = yield from until_answered(Get(self.path))
        try:
            yield from Multi((Set(self.path, b"%d" % self.next(found)), Create(marker)))
        except ConnectionLost:
            return (yield from self.was_applied(marker))
        return True


class TakesTheVersionForTheValue(AddsByName):
    """Counts by the version of the node, and forgets that anybody's write changes it."""

    def attempt(self, marker):
        found = yield from until_answered(Get(self.path))
        try:
            yield from Set(self.path, b"%d" % (found.stat.version + 1))
        except ConnectionLost:
            return False
        return True


class FailsWhenOthersWrite(Adds):
    """Does not expect that somebody is quicker."""

    def attempt(self, marker):
        try:
            yield from self.write((yield from self.read()), marker)
        except ConnectionLost:
            return (yield from self.was_applied(marker))
        return True


class GivesUpWhenBeaten(Adds):
    """Somebody was quicker: it lets it be, and says nothing."""

    def life(self):
        marker = join(MARKS, (yield from Guid()))
        yield from Say("adds", 1)
        if (yield from self.attempt(marker)):
            yield from Say("added", 1)
        yield from self.tidy(marker)


SHELF = Shelf(
    "counter", partial(of_a_counter, PATH, number), partial(same, nodes=(PATH, MARKS)), Adds(PATH)
)
NAMES = SHELF.but(right=AddsByName(PATH))
ONCE = "counts once"

ANSWERS = (
    SHELF.wrong(GivesUpWhenBeaten, NO_FAULTS, "nobody gives up"),
    SHELF.wrong(AddsTwo, NO_FAULTS, ONCE),
    SHELF.wrong(SaysTooEarly, NO_FAULTS, ONCE),
    SHELF.wrong(GivesUpWhenOthersWrite, NO_FAULTS, ONCE),
    NAMES.wrong(WritesThenMarks, one("request lost"), ONCE),
    NAMES.wrong(MarksThenWrites, one("request lost"), ONCE),
    NAMES.wrong(ComparesTheValue, one("request lost"), ONCE),
    SHELF.wrong(ResetsOnError, one("request lost"), ONCE),
    SHELF.wrong(DeletesAndCreates, NO_FAULTS, ONCE),
    SHELF.wrong(AddsToAnOldValue, NO_FAULTS, ONCE),
    NAMES.wrong(TakesTheVersionForTheValue, NO_FAULTS, ONCE),
    SHELF.wrong(FailsWhenOthersWrite, NO_FAULTS, "nobody fails"),
)
