"""Wrong double barriers."""

from __future__ import annotations

from functools import partial

from zkkit.paths import join
from zkkit.recipe import create_or_there, list_children, until_answered
from zkkit.sim import NO_FAULTS, Say, one
from zkkit.sim.gallery.barriers import READY
from zkkit.sim.gallery.double_barriers import ComesAndGoes, WatchesOneNode
from zkkit.sim.gallery.in_line import PATH
from zkkit.sim.gallery.twin import Shelf, same
from zkkit.sim.properties import of_a_double_barrier
from zkkit.steps import Create, Delete, Exists, FireKind, Mode, Node, Wait


class ReadyTooSoon(ComesAndGoes):
    """Says that all have come when it comes itself."""

    def wait_for_all(self):
        yield from create_or_there(Create(join(self.path, READY)))


class PassesWhenWoken(ComesAndGoes):
    """Goes in when it is woken, and does not count again."""

    def wait_for_all(self):
        if len((yield from list_children(self.path, watch=True))) < self.many:
            yield from Wait()
        else:
            yield from create_or_there(Create(join(self.path, READY)))


class ComesInTwice(ComesAndGoes):
    """Comes once more after a lost reply, under another number."""

    def arrive(self, name):
        create = Create(join(self.path, "member-"), mode=Mode.EPHEMERAL_SEQUENTIAL)
        return (yield from until_answered(create))


class ComesDeafly(ComesAndGoes):
    """Waits on when a broken connection wakes it, on the way in (kazoo's double barrier does)."""

    def wait_for_all(self):
        while True:
            names = yield from list_children(self.path, watch=True)
            if READY in names:
                return
            if len(names) >= self.many:
                yield from create_or_there(Create(join(self.path, READY)))
                return
            while (yield from Wait()).kind is FireKind.NONE:
                pass


class GoesDeafly(ComesAndGoes):
    """Waits on when a broken connection wakes it, on the way out."""

    def wait_for_none(self):
        while {*(yield from list_children(self.path, watch=True))} - {READY}:
            while (yield from Wait()).kind is FireKind.NONE:
                pass


class LooksThenWatches(WatchesOneNode):
    """Looks for the node that says that all have come, and sets its watch afterwards."""

    def wait_for_all(self):
        ready = join(self.path, READY)
        names = yield from list_children(self.path)
        if READY not in names and len(names) < self.many:
            while (yield from until_answered(Exists(ready))) is None:
                yield from until_answered(Exists(ready, watch=True))
                yield from Wait()
        yield from create_or_there(Create(ready))


class NobodySaysReady(WatchesOneNode):
    """Everybody waits for the node that says that all have come, and nobody creates it."""

    def wait_for_all(self):
        while (yield from until_answered(Exists(join(self.path, READY), watch=True))) is None:
            yield from Wait()


class WaitsForItself(ComesAndGoes):
    """Waits for an empty room before it has left itself."""

    def depart(self, node):
        yield from ()


class ClearsTheRoom(ComesAndGoes):
    """Going out it deletes all that are inside: others are still at work."""

    def depart(self, node):
        for name in (yield from list_children(self.path)):
            if name != READY:
                try:
                    yield from until_answered(Delete(join(self.path, name)))
                except Exception:
                    continue


class StaysForGood(ComesAndGoes):
    """A member's node that does not go with its session: nobody gets out after a crash."""

    def arrive(self, name):
        made = yield from until_answered(Create(join(self.path, name)))
        return Node(made.path, made.stat)


class LeavesOneBehind(ComesAndGoes):
    """Goes when one is left: off by one."""

    def wait_for_none(self):
        while len({*(yield from list_children(self.path, watch=True))} - {READY}) > 1:
            yield from Wait()


class LeavesBeforeItSays(ComesAndGoes):
    """Deletes its node when it comes in: the way out is open at once."""

    def wait_for_all(self):
        yield from super().wait_for_all()
        for name in (yield from list_children(self.path)):
            if name != READY:
                try:
                    yield from until_answered(Delete(join(self.path, name)))
                except Exception:
                    continue


class SpeaksOfNoWork(ComesAndGoes):
    """Says that it is out when it begins to go."""

    def depart(self, node):
        yield from Say("left")
        yield from super().depart(node)


class SpinsOnItsWayOut(ComesAndGoes):
    """Looks once whether others are inside, and then at the node that says that all have come,
    without end."""

    def wait_for_none(self):
        if {*(yield from list_children(self.path))} - {READY}:
            while True:
                yield from until_answered(Exists(join(self.path, READY)))


SHELF = Shelf("double barrier", partial(of_a_double_barrier, 2), same, ComesAndGoes(PATH))
ONE = SHELF.but(right=WatchesOneNode(PATH))
THREE = SHELF.but(
    properties=partial(of_a_double_barrier, 3),
    build=partial(same, count=3),
    right=ComesAndGoes(PATH, 3),
)
IN, OUT, EARLY_IN, EARLY_OUT = (
    "nobody is left outside", "nobody is kept in", "nobody passes early", "nobody leaves early",
)  # fmt: skip

ANSWERS = (
    SHELF.wrong(ReadyTooSoon, NO_FAULTS, EARLY_IN),
    THREE.wrong(PassesWhenWoken, NO_FAULTS, EARLY_IN),
    SHELF.wrong(ComesInTwice, one("reply lost"), EARLY_IN),
    SHELF.wrong(ComesDeafly, one("request lost"), IN),
    SHELF.wrong(GoesDeafly, one("request lost"), OUT),
    ONE.wrong(LooksThenWatches, NO_FAULTS, IN),
    ONE.wrong(NobodySaysReady, NO_FAULTS, IN),
    SHELF.wrong(WaitsForItself, NO_FAULTS, OUT),
    SHELF.wrong(ClearsTheRoom, NO_FAULTS, EARLY_OUT),
    SHELF.wrong(StaysForGood, one("crash"), OUT),
    SHELF.wrong(LeavesOneBehind, NO_FAULTS, EARLY_OUT),
    SHELF.wrong(LeavesBeforeItSays, NO_FAULTS, EARLY_OUT),
    SHELF.wrong(SpinsOnItsWayOut, NO_FAULTS, "nobody goes round for ever"),
    SHELF.wrong(SpeaksOfNoWork, NO_FAULTS, EARLY_OUT),
)
