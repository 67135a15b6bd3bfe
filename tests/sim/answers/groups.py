"""Wrong groups."""

from __future__ import annotations

from functools import partial

from zkkit.errors import NodeExists
from zkkit.paths import join
from zkkit.recipe import list_children, until_answered
from zkkit.recipes.shared import delete_surely
from zkkit.sim import NO_FAULTS, Say, one
from zkkit.sim.gallery.groups import Counts, Joins
from zkkit.sim.gallery.in_line import PATH
from zkkit.sim.gallery.twin import Shelf, crew
from zkkit.sim.properties import of_a_group
from zkkit.steps import Create, FireKind, Get, Mode, Node, Wait


class LooksOnce(Counts):
    """Counts once, and says that for ever."""

    def wait(self):
        while True:
            yield from Wait()


class LooksAndEnds(Counts):
    """Counts once, says that, and is through."""

    def life(self):
        yield from Say("members", len((yield from self.look())))


class SpinsOn(Counts):
    """Counts once, and looks at the directory itself from then on, without end."""

    def wait(self):
        while True:
            yield from until_answered(Get(self.path))


class LooksThenWatches(Counts):
    """Counts, and sets its watch afterwards."""

    def look(self):
        names = yield from list_children(self.path)
        yield from list_children(self.path, watch=True)
        return names


class WatchesTheNode(Counts):
    """Watches the data of the directory, not its children."""

    def look(self):
        yield from until_answered(Get(self.path, watch=True))
        return (yield from list_children(self.path))


class CountsItself(Counts):
    """Counts itself as a member."""

    def look(self):
        return (*(yield from list_children(self.path, watch=True)), "me")


class WatchesOnce(Counts):
    """Sets its watch once: it fires once."""

    def life(self):
        names = yield from list_children(self.path, watch=True)
        while True:
            yield from Say("members", len(names))
            yield from self.wait()
            names = yield from list_children(self.path)


class ForgetsWhenCutOff(Counts):
    """Shows nobody while it is cut off, and waits."""

    def wait(self):
        fire = yield from Wait()
        if fire.kind is FireKind.NONE:
            yield from Say("members", 0)
            yield from Wait()
        return fire


class NeverForgets(Counts):
    """Adds up all the names it has ever seen."""

    def life(self):
        known = frozenset()
        while True:
            known |= {*(yield from self.look())}
            yield from Say("members", len(known))
            yield from self.wait()


class JoinsUnderOneName(Joins):
    """All join under one name: the second fails."""

    def join(self, name):
        return (yield from until_answered(Create(join(self.path, "member"), mode=Mode.EPHEMERAL)))


class LeavesByAnothersNode(Joins):
    """All join by one name: whoever leaves removes the member, whosever it is."""

    def join(self, name):
        member = join(self.path, "member")
        try:
            return (yield from until_answered(Create(member, mode=Mode.EPHEMERAL)))
        except NodeExists:
            return Node(member, (yield from until_answered(Get(self.path))).stat)

    def leave(self, name, node):
        return delete_surely(node.path)


JOIN = Shelf("group", partial(of_a_group, PATH), lambda it: crew(it, Counts(PATH)), Joins(PATH))
COUNT = JOIN.but(build=lambda it: crew(Joins(PATH), it), right=Counts(PATH))
BOTH = JOIN.but(build=lambda it: crew(it, it, Counts(PATH)))
COUNTED = "members are counted"

ANSWERS = (
    BOTH.wrong(LeavesByAnothersNode, NO_FAULTS, "nobody removes other members"),
    COUNT.wrong(LooksOnce, NO_FAULTS, COUNTED),
    COUNT.wrong(LooksAndEnds, NO_FAULTS, COUNTED),
    COUNT.wrong(SpinsOn, NO_FAULTS, "nobody goes round for ever"),
    COUNT.wrong(LooksThenWatches, NO_FAULTS, COUNTED),
    COUNT.wrong(WatchesTheNode, NO_FAULTS, COUNTED),
    COUNT.wrong(CountsItself, NO_FAULTS, COUNTED),
    COUNT.wrong(WatchesOnce, NO_FAULTS, COUNTED),
    COUNT.wrong(ForgetsWhenCutOff, one("request lost"), COUNTED),
    COUNT.wrong(NeverForgets, NO_FAULTS, COUNTED),
    BOTH.wrong(JoinsUnderOneName, NO_FAULTS, "nobody fails"),
)
