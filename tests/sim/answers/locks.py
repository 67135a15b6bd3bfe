"""Wrong locks: made in a place in line, or in a node of one name."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from zkkit.errors import Cancelled, ConnectionLost, NodeExists, NoNode, SessionLost, TimedOut
from zkkit.paths import join, split
from zkkit.recipe import until_answered
from zkkit.recipes.shared import delete_surely
from zkkit.sim import NO_FAULTS, Work, one
from zkkit.sim.gallery.in_line import PATH, InLine, OneName, PollsInLine
from zkkit.sim.gallery.twin import Shelf, in_container, same
from zkkit.sim.properties import of_a_fair_lock, of_a_lock
from zkkit.steps import (
    Actor,
    Children,
    Create,
    Delete,
    Exists,
    FireKind,
    Get,
    Guid,
    Mark,
    Mode,
    Node,
    Wait,
    Within,
)


class OutlivesItsSession(InLine):
    """A node that does not go with its session: who has crashed holds for ever."""

    mode = Mode.PERSISTENT_SEQUENTIAL


class WatchesTheFirst(InLine):
    """Waits for the holder: all do, and all are woken."""

    def rule(self, ahead):
        return ahead[0].name if ahead else None


class TakesNoNodeForAGrant(InLine):
    """The one ahead has gone before it could be watched: it takes that for its turn."""

    def wait_for_turn(self, node):
        while (behind := self.behind(node, (yield from self.look()))) is not None:
            try:
                yield from until_answered(Get(join(self.path, behind), watch=True))
            except NoNode:
                return
            yield from Wait()


class SortsWholeNames(InLine):
    """Sorts the names as they are: the guid comes before the number."""

    def behind(self, node, names):
        before = [name for name in names if name < split(node.path)[1]]
        return max(before, default=None)


class ForgetsToRelease(InLine):
    """Leaves its node when it has done its work."""

    def leave(self, node):
        yield from ()


class GrantedBeforeItsTurn(InLine):
    """Says that it holds when its node is there, and waits only then."""

    def enter(self, name):
        node = yield from super().enter(name)
        yield from Mark("acquired", node.path, node.stat.czxid)
        return node


class WaitsWithoutAWatch(InLine):
    """Looks at the one ahead without a watch, and waits."""

    def outwait(self, path):
        yield from until_answered(Get(path))
        yield from Wait()


class WatchesItself(InLine):
    """Counts itself among those ahead."""

    def behind(self, node, names):
        return max(names, key=lambda name: name[-10:]) if super().behind(node, names) else None


class WatchesTheLast(InLine):
    """Waits for the last in line instead of the one ahead: two of them wait for each other."""

    def behind(self, node, names):
        mine = split(node.path)[1]
        others = sorted((name for name in names if name != mine), key=lambda name: name[-10:])
        return others[-1] if super().behind(node, names) else None


class IgnoresTheConnection(InLine):
    """Waits on when a broken connection wakes it: its watch is gone."""

    def outwait(self, path):
        try:
            yield from until_answered(Get(path, watch=True))
            while (yield from Wait()).kind is FireKind.NONE:
                pass
        except NoNode:
            pass


class CleansUpAfterErrorsOnly(InLine):
    """Cleans up after an Exception: a cancel is none."""

    def clean_up(self, name, node, ended):
        if isinstance(ended, Exception):
            yield from super().clean_up(name, node, ended)


class CleansUpAfterCancelsOnly(InLine):
    """Lets a broken connection end it, and cleans up only when it is cancelled."""

    def look(self):
        return (yield from Children(self.path))

    def clean_up(self, name, node, ended):
        if isinstance(ended, Cancelled):
            yield from super().clean_up(name, node, ended)


class HoldsBesideAnotherSession(InLine):
    """Two in line may hold: off by one."""

    def rule(self, ahead):
        return ahead[-1].name if len(ahead) > 1 else None


class DeletesOnce(InLine):
    """Releases by one delete, and does not ask what became of it."""

    def leave(self, node):
        try:
            yield from Delete(node.path)
        except ConnectionLost:
            pass


class RetriesTheCreate(InLine):
    """Sends the create again while the connection breaks: a second place in line."""

    def enter(self, name):
        create = Create(join(self.path, name), b"", self.mode)
        return (yield from until_answered(create))


class SleepsOnItsClock(PollsInLine):
    """Its watch comes too late, and a clock hides that: it wakes by and by."""

    def outwait(self, path):
        yield from until_answered(Exists(path, watch=True))
        try:
            yield from Within(1.0, Wait())
        except Exception:
            return


# --- one name -------------------------------------------------------------------------------


class StaysForGood(OneName):
    """A node that does not go with its session."""

    def take(self, mine):
        try:
            return (yield from until_answered(Create(self.node, mine)))
        except NodeExists:
            return None

    def leave(self, mine):
        found = yield from until_answered(Get(self.node))
        if found.data == mine:
            yield from delete_surely(self.node, outlives_session=True)


class TakesWhatIsThere(OneName):
    """After a lost connection the node is there: it takes it for its own."""

    def take(self, mine):
        try:
            return (yield from Create(self.node, mine, Mode.EPHEMERAL))
        except NodeExists:
            return None
        except ConnectionLost:
            stat = yield from until_answered(Exists(self.node))
            return None if stat is None else Node(self.node, stat)


class WaitsForItself(OneName):
    """After a lost reply the node is there: it takes it for another's."""

    def take(self, mine):
        try:
            return (yield from until_answered(Create(self.node, mine, Mode.EPHEMERAL)))
        except NodeExists:
            return None


class DeletesOnItsWayOut(OneName):
    """When it is cancelled it deletes the node, whosever it is."""

    def clean_up(self, mine, ended):
        return delete_surely(self.node)


class WatchesWhatIsGone(OneName):
    """Waits for the node to go, and does not ask whether it is there."""

    def outwait(self):
        yield from until_answered(Exists(self.node, watch=True))
        yield from Wait()


class DeletesAfterItsSession(OneName):
    """Has lost its session, and deletes the node in the next one: it may be another's by then."""

    def clean_up(self, mine, ended):
        if isinstance(ended, SessionLost):
            yield from until_answered(Exists(self.path))
            try:
                yield from until_answered(Delete(self.node))
            except NoNode:
                pass
        else:
            yield from super().clean_up(mine, ended)


class LooksThenCreates(OneName):
    """Looks whether the node is there, and overwrites what was created meanwhile."""

    def take(self, mine):
        if (yield from until_answered(Exists(self.node))) is not None:
            return None
        try:
            return (yield from until_answered(Create(self.node, mine, Mode.EPHEMERAL)))
        except NodeExists:
            stat = yield from until_answered(Exists(self.node))
            return None if stat is None else Node(self.node, stat)


# --- those who have let go --------------------------------------------------------------------


class GivesUpAndWorks(InLine):
    """Deletes its node, works, and says only then that it has let go."""

    def hold(self, node):
        yield from Mark("acquired", node.path, node.stat.czxid)
        yield from delete_surely(node.path)
        yield from self.work()
        yield from Mark("released", node.path, node.stat.czxid)


class LetsGoWhenLate(InLine):
    """Gives its place up when its work takes too long, and works on."""

    def hold(self, node):
        yield from Mark("acquired", node.path, node.stat.czxid)
        try:
            yield from Within(1.0, Work())
        except TimedOut:
            yield from delete_surely(node.path)
            yield from Work()
        finally:
            yield from Mark("released", node.path, node.stat.czxid)


class RenewsItsNode(OneName):
    """Makes its node anew while it works: somebody else may be quicker."""

    def work(self):
        yield from super().work()
        found = yield from until_answered(Get(self.node))
        yield from delete_surely(self.node)
        yield from self.take(found.data)
        yield from super().work()


class WorksWithoutItsSession(InLine):
    """Is told that its session is over, and works on."""

    def work(self):
        try:
            yield from super().work()
        except SessionLost:
            yield from super().work()
            raise


class TakesBoth(NamedTuple):
    """A lock made of two: takes them in order, works, and gives both back."""

    places: tuple[str, ...] = (PATH, "/m")

    def life(self):
        mine = (yield from Guid()).encode()
        locks = [OneName(place) for place in (yield from self.mine())]
        nodes = []
        try:
            for lock in locks:
                while (node := (yield from lock.take(mine))) is None:
                    yield from lock.outwait()
                nodes.append(node)
            for node in nodes:
                yield from Mark("acquired", node.path, node.stat.czxid)
            try:
                yield from Work()
            finally:
                for node in nodes:
                    yield from Mark("released", node.path, node.stat.czxid)
        finally:
            for lock in reversed(locks):
                yield from lock.leave(mine)

    def mine(self):
        """Which to take."""
        yield from ()
        return self.places


class TakesOneOfTwo(TakesBoth):
    """Takes one of the two, another one takes the other: they do not meet."""

    def mine(self):
        return (self.places["AB".index((yield from Actor()))],)


FAIR = Shelf("lock", of_a_fair_lock, in_container, InLine(PATH))
THREE = FAIR.but(build=partial(in_container, count=3))
NAME = Shelf("lock", of_a_lock, in_container, OneName(PATH))
SEVERAL = Shelf(
    "lock", partial(of_a_lock, places=2), partial(same, nodes=(PATH, "/m")), TakesBoth()
)
WORK = "work is done by holders"
POLLS = Shelf("lock", of_a_lock, in_container, PollsInLine(PATH))

ANSWERS = (
    FAIR.wrong(OutlivesItsSession, one("crash"), "no lost wakeup"),
    THREE.wrong(WatchesTheFirst, NO_FAULTS, "at most one woken per release"),
    THREE.wrong(TakesNoNodeForAGrant, one("cancel"), "mutual exclusion"),
    FAIR.wrong(SortsWholeNames, NO_FAULTS, "mutual exclusion"),
    FAIR.wrong(ForgetsToRelease, NO_FAULTS, "no lost wakeup"),
    FAIR.wrong(GrantedBeforeItsTurn, NO_FAULTS, "mutual exclusion"),
    FAIR.wrong(WaitsWithoutAWatch, NO_FAULTS, "no lost wakeup"),
    FAIR.wrong(WatchesItself, NO_FAULTS, "no lost wakeup"),
    THREE.wrong(WatchesTheLast, NO_FAULTS, "no lost wakeup"),
    FAIR.wrong(IgnoresTheConnection, one("request lost"), "no lost wakeup"),
    FAIR.wrong(CleansUpAfterErrorsOnly, one("cancel"), "no lost wakeup"),
    FAIR.wrong(CleansUpAfterCancelsOnly, one("request lost"), "no lost wakeup"),
    FAIR.wrong(HoldsBesideAnotherSession, NO_FAULTS, "mutual exclusion"),
    FAIR.wrong(DeletesOnce, one("request lost"), "no lost wakeup"),
    FAIR.wrong(RetriesTheCreate, one("reply lost"), "no lost wakeup"),
    POLLS.wrong(SleepsOnItsClock, NO_FAULTS, "nobody sleeps beside a free lock"),
    NAME.wrong(StaysForGood, one("crash"), "no lost wakeup"),
    NAME.wrong(TakesWhatIsThere, one("request lost"), "mutual exclusion"),
    NAME.wrong(WaitsForItself, one("reply lost"), "no lost wakeup"),
    NAME.wrong(DeletesOnItsWayOut, one("cancel"), "nobody takes away what others hold"),
    NAME.wrong(WatchesWhatIsGone, NO_FAULTS, "no lost wakeup"),
    NAME.wrong(DeletesAfterItsSession, one("expire"), "nobody takes away what others hold"),
    NAME.wrong(LooksThenCreates, NO_FAULTS, "mutual exclusion"),
    FAIR.wrong(GivesUpAndWorks, NO_FAULTS, WORK),
    FAIR.wrong(LetsGoWhenLate, one("deadline"), WORK),
    NAME.wrong(RenewsItsNode, NO_FAULTS, WORK),
    FAIR.wrong(WorksWithoutItsSession, one("expire"), WORK),
    SEVERAL.wrong(TakesOneOfTwo, NO_FAULTS, "all hold in one place"),
)
