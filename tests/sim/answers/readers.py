"""Wrong locks for readers and writers."""

from __future__ import annotations

from functools import partial

from zkkit.errors import NoNode
from zkkit.paths import join, split
from zkkit.recipe import until_answered
from zkkit.recipes.shared import delete_surely
from zkkit.sim import NO_FAULTS, one
from zkkit.sim.gallery.in_line import PATH
from zkkit.sim.gallery.readers import READ, WRITE, PollsToRead, Reads, Writes
from zkkit.sim.gallery.twin import Shelf, crew, same
from zkkit.sim.properties import of_readers_and_writers
from zkkit.steps import Create, Exists, FireKind, Get, Mark, Mode, Wait


class WritesAfterTheLastReader(Writes):
    """The one just ahead has gone, so it writes: another reader is still there."""

    def wait_for_turn(self, node):
        behind = self.behind(node, (yield from self.look()))
        if behind is not None:
            yield from self.outwait(join(self.path, behind))


class ReadsAfterTheFirstWriter(Reads):
    """Waits for the first writer only: another one is ahead of it as well."""

    def wait_for_turn(self, node):
        names = yield from self.look()
        writers = sorted((name for name in names if WRITE in name), key=lambda name: name[-10:])
        if self.behind(node, names) is not None:
            yield from self.outwait(join(self.path, writers[0]))


class ReadsBehindLaterWriters(Reads):
    """Waits for every writer, also for those behind it (kazoo #649)."""

    def behind(self, node, names):
        return next((name for name in names if WRITE in name), None)


class UpgradesInPlace(Reads):
    """Asks to write while it still reads: it waits for itself."""

    def work(self):
        yield from super().work()
        yield from Writes(self.path).life()


class ReadsForGood(Reads):
    """A reader's node that does not go with its session."""

    mode = Mode.PERSISTENT_SEQUENTIAL


class WritesForGood(Writes):
    """A writer's node that does not go with its session."""

    mode = Mode.PERSISTENT_SEQUENTIAL


class LeavesItsWish(Writes):
    """Leaves its node in line when it is cancelled: no reader comes past it."""

    def clean_up(self, name, node, ended):
        if isinstance(ended, Exception):
            yield from super().clean_up(name, node, ended)


class SortsByKind(Writes):
    """Sorts kind and number as text: READ comes before WRIT, whoever came first."""

    def behind(self, node, names):
        def key(name):
            return name.rpartition("-")[2]

        before = [name for name in names if key(name) < key(split(node.path)[1])]
        return self.rule_of(sorted(before, key=key))

    def rule_of(self, before):
        return before[-1] if before else None


class ReadsByKind(SortsByKind):
    """A reader that sorts kind and number as text: no writer is ever ahead of it."""

    kind = READ

    def rule_of(self, before):
        return next((name for name in before if WRITE in name), None)


class ReadsDeafly(Reads):
    """Waits on when a broken connection wakes it: its watch is gone."""

    def outwait(self, path):
        try:
            yield from until_answered(Get(path, watch=True))
            while (yield from Wait()).kind is FireKind.NONE:
                pass
        except NoNode:
            pass


class ReadsWithoutLooking(Reads):
    """Watches the writer, and does not ask whether it is still there."""

    def outwait(self, path):
        yield from until_answered(Exists(path, watch=True))
        yield from Wait()


class WritesTwice(Writes):
    """Sends the create again while the connection breaks: it waits for itself."""

    def enter(self, name):
        return (yield from until_answered(Create(join(self.path, name), b"", self.mode)))


class WritesFirst(Writes):
    """Writers go before readers that came earlier, and do not see who is in."""

    def rule(self, ahead):
        writers = [place.name for place in ahead if place.kind == WRITE]
        return writers[0] if writers else None


class ReadsAlone(Reads):
    """Waits for readers as well: safe, and no better than a lock."""

    def rule(self, ahead):
        return ahead[-1].name if ahead else None


class ReadsByItsClock(PollsToRead):
    """Waits for readers as well, and is woken by its clock again and again."""

    def rule(self, ahead):
        return ahead[-1].name if ahead else None

    def outwait(self, path):
        try:
            yield from until_answered(Get(path, watch=True))
            yield from super().outwait(path)
        except NoNode:
            pass


_ask = of_readers_and_writers


class WritesWhenItHasLeft(Writes):
    """Lets the next one in, and writes on."""

    def hold(self, node):
        yield from Mark("acquired", node.path, node.stat.czxid)
        yield from delete_surely(node.path)
        yield from self.work()
        yield from Mark("released", node.path, node.stat.czxid)


AFTER_WRITER = Shelf("read-write lock", _ask, lambda it: crew(Writes(PATH), it), Reads(PATH))
AFTER_READER = AFTER_WRITER.but(build=lambda it: crew(Reads(PATH), it), right=Writes(PATH))
TWO_READERS = AFTER_READER.but(build=lambda it: crew(Reads(PATH), Reads(PATH), it))
TWO_WRITERS = AFTER_WRITER.but(build=lambda it: crew(Writes(PATH), Writes(PATH), it))
WRITERS = AFTER_READER.but(build=lambda it: crew(it, Reads(PATH)))
TOGETHER = AFTER_WRITER.but(properties=partial(of_readers_and_writers, readers=2), build=same)
POLLS = AFTER_WRITER.but(build=same, right=PollsToRead(PATH))
BESIDE = "nobody sleeps beside readers"
ALONE = "no writer with anyone"

ANSWERS = (
    TWO_READERS.wrong(WritesAfterTheLastReader, NO_FAULTS, ALONE),
    TWO_WRITERS.wrong(ReadsAfterTheFirstWriter, NO_FAULTS, ALONE),
    AFTER_WRITER.wrong(ReadsBehindLaterWriters, NO_FAULTS, "no lost wakeup"),
    AFTER_WRITER.wrong(UpgradesInPlace, NO_FAULTS, "no lost wakeup"),
    AFTER_WRITER.wrong(ReadsForGood, one("crash"), "no lost wakeup"),
    WRITERS.wrong(WritesForGood, one("crash"), "no lost wakeup"),
    WRITERS.wrong(LeavesItsWish, one("cancel"), "no lost wakeup"),
    AFTER_WRITER.wrong(ReadsByKind, NO_FAULTS, ALONE),
    AFTER_WRITER.wrong(ReadsDeafly, one("request lost"), "no lost wakeup"),
    AFTER_WRITER.wrong(ReadsWithoutLooking, NO_FAULTS, "no lost wakeup"),
    WRITERS.wrong(WritesTwice, one("reply lost"), "no lost wakeup"),
    TOGETHER.wrong(ReadsAlone, NO_FAULTS, BESIDE),
    AFTER_READER.wrong(WritesWhenItHasLeft, NO_FAULTS, "work is done by holders"),
    POLLS.wrong(ReadsByItsClock, NO_FAULTS, BESIDE),
    AFTER_READER.wrong(WritesFirst, NO_FAULTS, ALONE),
)
