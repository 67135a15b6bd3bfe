"""Wrong semaphores, of two leases."""

from __future__ import annotations

from functools import partial

from zkkit.paths import join
from zkkit.recipe import list_children, until_answered
from zkkit.recipes.shared import delete_surely
from zkkit.sim import NO_FAULTS, one
from zkkit.sim.gallery.in_line import PATH
from zkkit.sim.gallery.leases import LEASES, TakesALease, TakesASlot
from zkkit.sim.gallery.twin import Shelf, in_container
from zkkit.sim.properties import of_leases
from zkkit.steps import Create, FireKind, Mark, Mode, Node, Wait


class LeasesForGood(TakesALease):
    """A lease that does not go with its session."""

    mode = Mode.PERSISTENT_SEQUENTIAL


class GivesBackTheFirst(TakesALease):
    """Gives back the first lease there is, whosever it is."""

    def leave(self, node):
        names = yield from list_children(self.path)
        yield from delete_surely(join(self.path, min(names, key=lambda name: name[-10:])))


class OneLeaseOnly(TakesALease):
    """Lets one in where two may: safe, and half as useful."""

    def rule(self, ahead):
        return ahead[-1].name if ahead else None


class LeasesAgain(TakesALease):
    """Sends the create again while the connection breaks: it has two places."""

    def enter(self, name):
        return (yield from until_answered(Create(join(self.path, name), b"", self.mode)))


class KeepsItsLease(TakesALease):
    """Does not give back what it has when it is cancelled."""

    def clean_up(self, name, node, ended):
        if isinstance(ended, Exception):
            yield from super().clean_up(name, node, ended)


class WaitsDeafly(TakesALease):
    """Waits on when a broken connection wakes it: its watch is gone."""

    def outwait(self, path):
        while (yield from Wait()).kind is FireKind.NONE:
            pass


class LooksWithoutAWatch(TakesALease):
    """Looks without a watch, and waits."""

    def look(self):
        return list_children(self.path)


class WaitsForTheHolderAhead(TakesALease):
    """Holds when the one just ahead has gone: that one may have waited itself."""

    def wait_for_turn(self, node):
        if self.behind(node, (yield from self.look())) is not None:
            yield from Wait()


class TakesAThirdSlot(TakesASlot):
    """Counts from zero to two: three slots."""

    def slots(self):
        return tuple(join(self.path, f"slot-{number}") for number in range(LEASES + 1))


class SharesASlot(TakesASlot):
    """The last slot is taken: it takes that for its own."""

    def take(self, mine):
        node = yield from super().take(mine)
        if node is None:
            stat = yield from until_answered(
                Create(join(self.path, "extra-"), mine, Mode.EPHEMERAL_SEQUENTIAL)
            )
            node = Node(stat.path, stat.stat)
        return node


class GivesItsLeaseBackFirst(TakesALease):
    """Gives its lease back, and works."""

    def hold(self, node):
        yield from Mark("acquired", node.path, node.stat.czxid)
        yield from delete_surely(node.path)
        yield from self.work()
        yield from Mark("released", node.path, node.stat.czxid)


LINE = Shelf("semaphore", partial(of_leases, LEASES), in_container, TakesALease(PATH))
THREE = LINE.but(build=partial(in_container, count=3))
SLOTS = THREE.but(right=TakesASlot(PATH))
SLEEPS = "nobody sleeps beside a free lease"

ANSWERS = (
    LINE.wrong(GivesItsLeaseBackFirst, NO_FAULTS, "work is done by holders"),
    THREE.wrong(LeasesForGood, one("crash"), SLEEPS),
    THREE.wrong(GivesBackTheFirst, NO_FAULTS, "nobody takes away what others hold"),
    LINE.wrong(OneLeaseOnly, NO_FAULTS, SLEEPS),
    LINE.wrong(LeasesAgain, one("reply lost"), SLEEPS),
    LINE.wrong(KeepsItsLease, one("cancel"), "nothing left behind"),
    THREE.wrong(WaitsDeafly, one("request lost"), SLEEPS),
    THREE.wrong(LooksWithoutAWatch, NO_FAULTS, SLEEPS),
    THREE.wrong(WaitsForTheHolderAhead, one("request lost"), "at most 2"),
    SLOTS.wrong(TakesAThirdSlot, NO_FAULTS, "at most 2"),
    SLOTS.wrong(SharesASlot, NO_FAULTS, "at most 2"),
)
