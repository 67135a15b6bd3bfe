"""Wrong elections."""

from __future__ import annotations

from functools import partial

from zkkit.errors import NodeExists, NoNode, SessionLost
from zkkit.paths import join
from zkkit.recipe import until_answered
from zkkit.recipes.shared import delete_surely
from zkkit.sim import NO_FAULTS, Say, Work, one
from zkkit.sim.gallery.elections import Stands, TakesTheChair
from zkkit.sim.gallery.in_line import PATH
from zkkit.sim.gallery.twin import Shelf, in_container
from zkkit.sim.properties import of_an_election
from zkkit.steps import Create, Exists, FireKind, Get, Mark, Mode, Node, Wait


class LeadsForGood(Stands):
    """A candidate's node that does not go with its session: the dead lead."""

    mode = Mode.PERSISTENT_SEQUENTIAL


class InheritsTheLead(Stands):
    """The one ahead has gone, so it leads: that one may only have been a candidate."""

    def wait_for_turn(self, node):
        behind = self.behind(node, (yield from self.look()))
        if behind is not None:
            yield from self.outwait(join(self.path, behind))


class BelievesTooEarly(Stands):
    """Acts as a leader before it is one."""

    def wait_for_turn(self, node):
        yield from Say("believes")
        yield from super().wait_for_turn(node)


class BelievesTooLong(Stands):
    """Acts as a leader when it has stepped down."""

    def leave(self, node):
        yield from super().leave(node)
        yield from Say("believes")


class NeverStepsDown(Stands):
    """Leaves its node when it is done: nobody else is ever elected."""

    def leave(self, node):
        yield from ()


class StandsTwice(Stands):
    """Stands once more after a lost reply, and waits for itself."""

    def enter(self, name):
        return (yield from until_answered(Create(join(self.path, name), b"", self.mode)))


class WaitsDeafly(Stands):
    """Waits on when a broken connection wakes it: its watch is gone."""

    def outwait(self, path):
        try:
            yield from until_answered(Get(path, watch=True))
            while (yield from Wait()).kind is FireKind.NONE:
                pass
        except NoNode:
            pass


class LargestLeads(Stands):
    """The newest candidate leads: whoever comes later leads as well."""

    def behind(self, node, names):
        later = [name for name in names if name[-10:] > node.path[-10:]]
        return min(later, default=None)


class StaysACandidate(Stands):
    """Stays in line when it is cancelled."""

    def clean_up(self, name, node, ended):
        if isinstance(ended, Exception):
            yield from super().clean_up(name, node, ended)


class LeadsByAnotherNode(Stands):
    """Names the first in line when it is told that it leads, whoever that is."""

    def wait_for_turn(self, node):
        yield from ()

    def hold(self, node):
        names = yield from self.look()
        first = join(self.path, min(names, key=lambda name: name[-10:]))
        stat = yield from until_answered(Exists(first))
        if stat is not None:
            yield from super().hold(Node(first, stat))


class BreaksTheChair(TakesTheChair):
    """Deletes the leader's node when it comes, to begin afresh."""

    def take(self, mine):
        yield from delete_surely(self.node)
        return (yield from super().take(mine))


class ChairForGood(TakesTheChair):
    """A leader's node that does not go with its session."""

    def take(self, mine):
        try:
            return (yield from until_answered(Create(self.node, mine)))
        except NodeExists:
            return None

    def leave(self, mine):
        found = yield from until_answered(Get(self.node))
        if found.data == mine:
            yield from delete_surely(self.node, outlives_session=True)


class SeesItsOwnGhost(TakesTheChair):
    """After a lost reply it takes its own node for a rival's, and waits for ever."""

    def take(self, mine):
        try:
            return (yield from until_answered(Create(self.node, mine, Mode.EPHEMERAL)))
        except NodeExists:
            return None


class WatchesAnEmptyChair(TakesTheChair):
    """Waits for the leader's going, and does not ask whether it is still there."""

    def outwait(self):
        yield from until_answered(Exists(self.node, watch=True))
        yield from Wait()


class RemembersTheLead(TakesTheChair):
    """Begins again in a new session as the leader that it was in the old one."""

    def hold(self, node):
        try:
            yield from super().hold(node)
        except SessionLost:
            yield from until_answered(Exists(self.path))
            yield from Mark("led", node.path, node.stat.czxid)
            yield from Work()


class LeadsFromOutside(Stands):
    """Withdraws its node, and believes on that it leads."""

    def hold(self, node):
        yield from Mark("led", node.path, node.stat.czxid)
        yield from delete_surely(node.path)
        yield from self.work()
        yield from Mark("unled", node.path, node.stat.czxid)


LINE = Shelf("election", of_an_election, in_container, Stands(PATH))
THREE = LINE.but(build=partial(in_container, count=3))
CHAIR = LINE.but(right=TakesTheChair(PATH))
BELIEF = "leaders believe what they were told"

ANSWERS = (
    LINE.wrong(LeadsForGood, one("crash"), "no lost wakeup"),
    THREE.wrong(InheritsTheLead, one("cancel"), "one leader"),
    LINE.wrong(BelievesTooEarly, NO_FAULTS, BELIEF),
    LINE.wrong(BelievesTooLong, NO_FAULTS, BELIEF),
    LINE.wrong(NeverStepsDown, NO_FAULTS, "no lost wakeup"),
    LINE.wrong(StandsTwice, one("reply lost"), "no lost wakeup"),
    LINE.wrong(WaitsDeafly, one("request lost"), "no lost wakeup"),
    LINE.wrong(LargestLeads, NO_FAULTS, "one leader"),
    LINE.wrong(StaysACandidate, one("cancel"), "no lost wakeup"),
    LINE.wrong(LeadsByAnotherNode, NO_FAULTS, "one leader"),
    LINE.wrong(LeadsFromOutside, NO_FAULTS, BELIEF),
    CHAIR.wrong(BreaksTheChair, NO_FAULTS, "nobody takes away what others hold"),
    CHAIR.wrong(ChairForGood, one("crash"), "no lost wakeup"),
    CHAIR.wrong(SeesItsOwnGhost, one("reply lost"), "no lost wakeup"),
    CHAIR.wrong(WatchesAnEmptyChair, NO_FAULTS, "no lost wakeup"),
    CHAIR.wrong(RemembersTheLead, one("expire"), "grants are real"),
)
