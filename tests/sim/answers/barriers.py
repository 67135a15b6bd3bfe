"""Wrong barriers."""

from __future__ import annotations

from functools import partial

from zkkit.errors import ConnectionLost, NoNode
from zkkit.paths import join
from zkkit.recipe import create_or_there, list_children, pause, until_answered
from zkkit.recipes.shared import delete_surely
from zkkit.sim import NO_FAULTS, Say, Work, one
from zkkit.sim.gallery.barriers import Meets, MeetsInOneNode, Opens, WaitsAtTheGate
from zkkit.sim.gallery.in_line import PATH
from zkkit.sim.gallery.twin import Shelf, crew, same
from zkkit.sim.properties import of_a_barrier
from zkkit.steps import Create, Delete, Exists, FireKind, Get, Guid, Set, Wait

WAITERS = "/waiters"


class LooksThenWatches(WaitsAtTheGate):
    """Looks, and sets its watch afterwards: the gate may have been opened between the two."""

    def life(self):
        while (yield from until_answered(Exists(self.path))) is not None:
            yield from until_answered(Exists(self.path, watch=True))
            yield from Wait()
        yield from Say("passes")


class WaitsDeafly(WaitsAtTheGate):
    """Waits on when a broken connection wakes it: its watch is gone (kazoo's barrier does)."""

    def life(self):
        while (yield from self.closed()):
            while (yield from Wait()).kind is FireKind.NONE:
                pass
        yield from Say("passes")


class SpinsAtTheGate(WaitsAtTheGate):
    """Finds the gate closed, and asks for another node from then on, without end."""

    def life(self):
        if (yield from self.closed()):
            while True:
                yield from until_answered(Exists(join(self.path, "open")))
        yield from Say("passes")


class PassesAClosedGate(WaitsAtTheGate):
    """Takes the gate for open while it is closed."""

    def closed(self):
        return not (yield from super().closed())


class PassesAfterAWhile(WaitsAtTheGate):
    """Waits for a while, and passes."""

    def life(self):
        if (yield from self.closed()):
            yield from pause(1.0)
        yield from Say("passes")


class TakesAnErrorForOpen(WaitsAtTheGate):
    """Takes a lost connection for an open gate."""

    def closed(self):
        try:
            return (yield from Exists(self.path, watch=True)) is not None
        except ConnectionLost:
            return False


class OpensOnceIfLucky(Opens):
    """Sends the delete once, and does not ask what became of it."""

    def life(self):
        yield from Work()
        yield from Say("arrives")
        try:
            yield from Delete(self.path)
        except (ConnectionLost, NoNode):
            pass


class OpensForWhoeverWaits(Opens):
    """Opens the gate only where somebody waits by now: whoever comes later finds it closed."""

    def life(self):
        yield from Work()
        yield from Say("arrives")
        if (yield from list_children(WAITERS)):
            yield from delete_surely(self.path, outlives_session=True)


class SignsAndWaits(WaitsAtTheGate):
    """Says first that it waits."""

    def life(self):
        yield from create_or_there(Create(join(WAITERS, (yield from Guid()))))
        yield from super().life()


class CountsTooFew(Meets):
    """Counts itself twice: off by one."""

    def wait(self):
        while len((yield from list_children(self.path, watch=True))) + 1 < self.many:
            yield from Wait()


class WaitsForOneMore(Meets):
    """Waits for one more than there will be."""

    def wait(self):
        while len((yield from list_children(self.path, watch=True))) <= self.many:
            yield from Wait()


class LeavesWhenItHasPassed(Meets):
    """Takes its name away when it has passed: who counts later counts too few."""

    def wait(self):
        yield from super().wait()
        names = yield from list_children(self.path)
        yield from Delete(join(self.path, min(names)))


class WaitsWithoutAWatch(Meets):
    """Counts without a watch, and waits."""

    def wait(self):
        while len((yield from list_children(self.path))) < self.many:
            yield from Wait()


class MeetsDeafly(Meets):
    """Waits on when a broken connection wakes it."""

    def wait(self):
        while len((yield from list_children(self.path, watch=True))) < self.many:
            while (yield from Wait()).kind is FireKind.NONE:
                pass


class OverwritesTheOthers(MeetsInOneNode):
    """Signs without the version it has read: another's name is lost, and all wait for it."""

    def arrive(self, guid):
        data, _ = yield from until_answered(Get(self.path))
        yield from until_answered(Set(self.path, data + guid.encode() + b";"))


class SignsTwice(MeetsInOneNode):
    """Signs once more after a lost reply."""

    def arrive(self, guid):
        while True:
            try:
                data, stat = yield from until_answered(Get(self.path))
                yield from Set(self.path, data + guid.encode() + b";", stat.version)
                return
            except Exception:
                continue


class GoesHomeWhenAlone(Meets):
    """Comes, finds nobody, and goes."""

    def life(self):
        yield from Say("arrives")
        yield from self.arrive((yield from Guid()))
        if len((yield from list_children(self.path))) >= self.many:
            yield from Say("passes")


class ComesAndSaysNothing(Meets):
    """Waits for the others, and does not pass."""

    def life(self):
        yield from Say("arrives")
        yield from self.arrive((yield from Guid()))
        yield from self.wait()


GATE = Shelf(
    "barrier",
    partial(of_a_barrier, path=PATH),
    lambda it: crew(Opens(PATH), it),
    WaitsAtTheGate(PATH),
)
OPENER = Shelf("barrier", of_a_barrier, lambda it: crew(it, WaitsAtTheGate(PATH)), Opens(PATH))
KEEPER = Shelf(
    "barrier",
    partial(of_a_barrier, path=PATH),
    lambda it: crew(it, SignsAndWaits(PATH), nodes=(PATH, WAITERS)),
    Opens(PATH),
)
MEETING = Shelf("barrier", partial(of_a_barrier, count=2), same, Meets(PATH))
ONE_NODE = MEETING.but(right=MeetsInOneNode(PATH))
EARLY, CLOSED, OUTSIDE, ROUND = (
    "nobody passes early", "nobody waits at an open barrier", "nobody is left outside",
    "nobody goes round for ever",
)  # fmt: skip

ANSWERS = (
    MEETING.wrong(GoesHomeWhenAlone, NO_FAULTS, "nobody gives up"),
    MEETING.but(build=lambda it: crew(it, Meets(PATH))).wrong(
        ComesAndSaysNothing, NO_FAULTS, "nobody gives up"
    ),
    GATE.wrong(LooksThenWatches, NO_FAULTS, CLOSED),
    GATE.wrong(WaitsDeafly, one("request lost"), CLOSED),
    GATE.wrong(SpinsAtTheGate, NO_FAULTS, ROUND),
    GATE.wrong(PassesAClosedGate, NO_FAULTS, EARLY),
    GATE.wrong(PassesAfterAWhile, NO_FAULTS, EARLY),
    GATE.wrong(TakesAnErrorForOpen, one("request lost"), EARLY),
    KEEPER.wrong(OpensForWhoeverWaits, NO_FAULTS, OUTSIDE),
    OPENER.wrong(OpensOnceIfLucky, one("request lost"), OUTSIDE),
    MEETING.wrong(CountsTooFew, NO_FAULTS, EARLY),
    MEETING.wrong(WaitsForOneMore, NO_FAULTS, OUTSIDE),
    MEETING.wrong(LeavesWhenItHasPassed, NO_FAULTS, OUTSIDE),
    MEETING.wrong(WaitsWithoutAWatch, NO_FAULTS, OUTSIDE),
    MEETING.wrong(MeetsDeafly, one("request lost"), OUTSIDE),
    ONE_NODE.wrong(OverwritesTheOthers, NO_FAULTS, OUTSIDE),
    ONE_NODE.wrong(SignsTwice, one("reply lost"), EARLY),
)
