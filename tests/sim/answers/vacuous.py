"""Answers that do nothing of what was asked, each in its own way. They must never hold."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from zkkit.errors import ConnectionLost, NodeExists
from zkkit.paths import join
from zkkit.recipe import until_answered
from zkkit.sim import NO_FAULTS, Say, Work
from zkkit.sim.gallery.barriers import Meets
from zkkit.sim.gallery.caches import Changes, Follows
from zkkit.sim.gallery.counters import MARKS, Adds, number
from zkkit.sim.gallery.double_barriers import ComesAndGoes
from zkkit.sim.gallery.elections import Stands
from zkkit.sim.gallery.groups import Counts, Joins
from zkkit.sim.gallery.in_line import PATH, InLine
from zkkit.sim.gallery.leases import LEASES, TakesALease
from zkkit.sim.gallery.queues import TAKEN, Puts, Takes
from zkkit.sim.gallery.readers import Writes
from zkkit.sim.gallery.twin import Shelf, crew, in_container, same
from zkkit.sim.properties import (
    of_a_barrier,
    of_a_cache,
    of_a_counter,
    of_a_double_barrier,
    of_a_fair_lock,
    of_a_group,
    of_a_lock,
    of_a_queue,
    of_an_election,
    of_leases,
    of_readers_and_writers,
)
from zkkit.steps import Actor, Create, Exists, Mark, Mode, Node


class DoesNothing(NamedTuple):
    """Nothing is done."""

    path: str
    more: object = None

    def life(self):
        yield from ()


class MarksNothing(InLine):
    """Right, but for the marks: nobody is told that anybody holds."""

    def hold(self, node):
        yield from self.work()


class OnlyMarksNothing(InLine):
    """Right, but for the marks and the work."""

    def hold(self, node):
        yield from ()


class DirectoryOfItsOwn(InLine):
    """A directory of its own for each: nobody meets anybody."""

    def life(self):
        path = join(self.path, str((yield from Actor())))
        yield from self.there(path).life()

    there = InLine


class WorksOutside(InLine):
    """Works when it has given its hold back."""

    def work(self):
        yield from ()

    def leave(self, node):
        yield from super().leave(node)
        yield from Work()


class WorksBefore(InLine):
    """Works before it holds."""

    def enter(self, name):
        yield from Work()
        return (yield from super().enter(name))

    def work(self):
        yield from ()


class MarksAnotherZxid(InLine):
    """Names its node by the zxid of another one."""

    def hold(self, node):
        other = yield from until_answered(Exists(self.path))
        yield from super().hold(Node(node.path, other))


class MarksAnothersNode(InLine):
    """Names the node of whoever came first, whether it is its own or not."""

    def wait_for_turn(self, node):
        yield from ()

    def hold(self, node):
        names = yield from self.look()
        first = join(self.path, min(names, key=lambda name: name[-10:]))
        stat = yield from until_answered(Exists(first))
        if stat is not None:
            yield from super().hold(Node(first, stat))


class MarksTheDirectory(InLine):
    """Names the directory: it is nobody's, and always there."""

    def life(self):
        stat = yield from until_answered(Exists(self.path))
        yield from self.hold(Node(self.path, stat))


class MarksWhatIsNotThere(InLine):
    """Names a node that was never created."""

    def life(self):
        stat = yield from until_answered(Exists(self.path))
        yield from self.hold(Node(join(self.path, "lock-0000000000"), stat))


class FailsWhenItHolds(InLine):
    """Fails whenever it holds."""

    def work(self):
        yield from ()
        raise NodeExists(self.path)


class FailsAtOnce(NamedTuple):
    """Fails before it has done anything."""

    path: str
    more: object = None

    def life(self):
        yield from ()
        raise NodeExists(self.path)


class LosesItsConnection(FailsAtOnce):
    """Says that it has lost its connection, whatever happens."""

    def life(self):
        yield from ()
        raise ConnectionLost("so they say")


class JoinsElsewhere(Joins):
    """A directory of its own for each: nobody is a member."""

    def life(self):
        yield from Joins(join("/own", str((yield from Actor())))).life()


class HoldsAndEnds(InLine):
    """Says that it holds, and ends."""

    def life(self):
        create = Create(join(self.path, "lock-"), mode=Mode.EPHEMERAL_SEQUENTIAL)
        node = yield from until_answered(create)
        yield from Mark("acquired", node.path, node.stat.czxid)


class WaitsForEver(InLine):
    """Waits for a node that nobody will ever touch."""

    def behind(self, node, names):
        return node.path.rpartition("/")[2]


class OnlyArrives(Meets):
    """Comes, and never passes."""

    def life(self):
        yield from Say("arrives")
        yield from self.arrive("me")


class NeverGoesOut(ComesAndGoes):
    """Comes in, and never goes."""

    def life(self):
        yield from Say("arrives")
        yield from self.wait_for_all()
        yield from Say("passes")


class OnlyTries(Adds):
    """Says that it adds, and adds nothing."""

    def life(self):
        yield from Say("adds", 1)


class SaysThatItAdded(Adds):
    """Says that it has added, and has not."""

    def life(self):
        yield from Say("adds", 1)
        yield from Say("added", 1)


class OnlyWatches(Takes):
    """Looks at the items and takes none."""

    def life(self):
        yield from Say("takes")
        yield from self.look()


class InventsAnItem(Takes):
    """Says that it has taken what nobody has put."""

    def life(self):
        yield from Say("took", 7)


class ShowsNothing(Follows):
    """Follows, and shows nothing."""

    def show(self, value, before):
        yield from ()


class ShowsAlwaysTheSame(Follows):
    """Shows one value for ever."""

    def show(self, value, before):
        yield from Say("sees", 7)


class CountsNobody(Counts):
    """Counts, and says nothing."""

    def life(self):
        yield from self.look()


class AddsNothing(Adds):
    """Says that it adds and has added: no amount."""

    def life(self):
        yield from Say("adds")
        yield from Say("added")


class OnlyLooks(Changes):
    """Changes nothing."""

    def life(self):
        yield from until_answered(Exists(self.path))


class WritesOnly(Writes):
    """Nobody reads: no better than a lock."""


LOCK = Shelf("lock", of_a_fair_lock, in_container, InLine(PATH))
QUEUE = Shelf(
    "queue",
    partial(of_a_queue, PATH),
    lambda it: crew(Puts(PATH), it, nodes=(PATH, TAKEN)),
    Takes(PATH, 2),
)
CACHE = Shelf("cache", partial(of_a_cache, PATH), lambda it: crew(Changes(PATH), it), Follows(PATH))
CHANGES = CACHE.but(build=lambda it: crew(it, Follows(PATH)), right=Changes(PATH))
GROUP = Shelf("group", partial(of_a_group, PATH), lambda it: crew(Joins(PATH), it), Counts(PATH))
MEETING = Shelf("barrier", partial(of_a_barrier, count=2), same, Meets(PATH))
DOUBLE = Shelf("double barrier", partial(of_a_double_barrier, 2), same, ComesAndGoes(PATH))
COUNTER = Shelf(
    "counter", partial(of_a_counter, PATH, number), partial(same, nodes=(PATH, MARKS)), Adds(PATH)
)
READERS = Shelf("read-write lock", of_readers_and_writers, same, Writes(PATH))
LEASE = Shelf("semaphore", partial(of_leases, LEASES), in_container, TakesALease(PATH))
ELECTION = Shelf("election", of_an_election, in_container, Stands(PATH))
MEMBERS = GROUP.but(build=lambda it: crew(it, Counts(PATH)), right=Joins(PATH))
EVERYBODY = (
    LOCK,
    Shelf("lock of one name", of_a_lock, in_container, InLine(PATH)),
    READERS, LEASE, ELECTION,
    COUNTER, MEETING, DOUBLE, QUEUE, CACHE, GROUP,
)  # fmt: skip

_GRANTED, _WORK, _REAL, _ALONE = (
    "somebody is granted", "work is done by holders", "grants are real", "mutual exclusion",
)  # fmt: skip


def made_in(shelf, mistake):
    """The same mistake in the right answer of another shelf."""
    right = type(shelf.right)
    made = type(mistake.__name__, (mistake, right), {"there": right})
    made.__doc__ = mistake.__doc__
    return made


_FIRST = {
    "lock": _GRANTED,
    "lock of one name": _GRANTED,
    "read-write lock": _GRANTED,
    "semaphore": _GRANTED,
    "election": "somebody leads",
    "counter": "somebody says 'added'",
    "barrier": "somebody says 'passes'",
    "double barrier": "somebody says 'passes'",
    "queue": f"{PATH} is drained",
    "cache": "somebody says 'sees'",
    "group": "somebody says 'members'",
}

ANSWERS = (
    *[
        shelf.wrong(DoesNothing, NO_FAULTS, _FIRST[shelf.family], name=f"no {shelf.family}")
        for shelf in EVERYBODY
    ],
    *[
        shelf.wrong(kind, NO_FAULTS, "nobody fails", name=f"{shelf.family} {kind.__name__}")
        for shelf in EVERYBODY
        for kind in (FailsAtOnce, LosesItsConnection)
    ],
    *[
        shelf.wrong(made_in(shelf, kind), NO_FAULTS, breaks, name=f"{shelf.family} {kind.__name__}")
        for shelf in (READERS, LEASE, ELECTION)
        for kind, breaks in (
            (DirectoryOfItsOwn, "all hold in one place"),
            (MarksAnotherZxid, _REAL),
            (MarksWhatIsNotThere, _REAL),
        )
    ],
    *[
        shelf.wrong(made_in(shelf, kind), NO_FAULTS, _WORK, name=f"{shelf.family} {kind.__name__}")
        for shelf in (READERS, LEASE)
        for kind in (WorksOutside, WorksBefore)
    ],
    MEMBERS.wrong(JoinsElsewhere, NO_FAULTS, "somebody is a member"),
    LOCK.wrong(MarksNothing, NO_FAULTS, _WORK),
    LOCK.wrong(OnlyMarksNothing, NO_FAULTS, _GRANTED),
    LOCK.wrong(DirectoryOfItsOwn, NO_FAULTS, "all hold in one place"),
    LOCK.wrong(WorksOutside, NO_FAULTS, _WORK),
    LOCK.wrong(WorksBefore, NO_FAULTS, _WORK),
    LOCK.wrong(MarksAnotherZxid, NO_FAULTS, _REAL),
    LOCK.wrong(MarksAnothersNode, NO_FAULTS, _ALONE),
    LOCK.wrong(MarksTheDirectory, NO_FAULTS, _ALONE),
    LOCK.wrong(MarksWhatIsNotThere, NO_FAULTS, _REAL),
    LOCK.wrong(FailsWhenItHolds, NO_FAULTS, "nobody fails"),
    LOCK.wrong(HoldsAndEnds, NO_FAULTS, _ALONE),
    LOCK.wrong(WaitsForEver, NO_FAULTS, "no lost wakeup"),
    MEETING.wrong(OnlyArrives, NO_FAULTS, "nobody gives up"),
    DOUBLE.wrong(NeverGoesOut, NO_FAULTS, "nobody is left outside"),
    READERS.wrong(WritesOnly, NO_FAULTS, "somebody reads"),
    COUNTER.wrong(AddsNothing, NO_FAULTS, f"{PATH} counts"),
    CHANGES.wrong(OnlyLooks, NO_FAULTS, f"{PATH} changes"),
    COUNTER.wrong(OnlyTries, NO_FAULTS, "nobody gives up"),
    COUNTER.wrong(SaysThatItAdded, NO_FAULTS, "counts once"),
    QUEUE.wrong(OnlyWatches, NO_FAULTS, f"{PATH} is drained"),
    QUEUE.wrong(InventsAnItem, NO_FAULTS, "nothing is taken twice"),
    CACHE.wrong(ShowsNothing, NO_FAULTS, "somebody says 'sees'"),
    CACHE.wrong(ShowsAlwaysTheSame, NO_FAULTS, "caches never go back"),
    GROUP.wrong(CountsNobody, NO_FAULTS, "somebody says 'members'"),
)
