"""What an acquisition costs, who is overtaken, and waits that a clock ends."""

from __future__ import annotations

import pytest

from zkkit import ReentrantLock
from zkkit.errors import NodeExists, NoNode, TimedOut
from zkkit.recipe import Recipe, script
from zkkit.recipes.herd import ChildrenWatchLock, HerdLock
from zkkit.recipes.shared import delete_surely, pause
from zkkit.sim import NO_FAULTS, World, contenders, explore, use
from zkkit.sim.properties import CostsAtMost, NobodyIsOvertaken, of_a_fair_lock, of_a_lock
from zkkit.steps import Create, Get, Mark, Mode, Recall, Remember, Wait, Within


def told(lock, asked, count=2, times=1):
    verdict = explore(contenders(lock, count, times=times), asked, faults=NO_FAULTS)
    return verdict.story.wrong if verdict.story else verdict.outcome


class OneNode(Recipe):
    """A lock by one name, with the way to wait to be filled in."""

    @property
    def node(self):
        return f"{self.path}/lock"

    @script
    def acquire(self, timeout=None):
        while True:
            try:
                made = yield from Create(self.node, mode=Mode.EPHEMERAL)
                break
            except NodeExists:
                yield from self.wait()
        yield from Remember(self.path, made)
        yield from Mark("acquired", made.path, made.stat.czxid)
        return made

    def wait(self):
        raise NotImplementedError

    @script
    def release(self):
        made = yield from Recall(self.path)
        yield from Mark("released", made.path, made.stat.czxid)
        yield from delete_surely(made.path)


class Polls(OneNode):
    """Asks again and again."""

    def wait(self):
        yield from pause(1.0)


class BeltAndBraces(OneNode):
    """Watches, and looks again now and then all the same."""

    def wait(self):
        try:
            yield from Get(self.node, watch=True)
            yield from Within(1.0, Wait())
        except (NoNode, TimedOut):
            pass


class HidesALostWakeup(OneNode):
    """Watches the wrong node; its clock hides it."""

    def wait(self):
        try:
            yield from Get(self.path, watch=True)
            yield from Within(1.0, Wait())
        except TimedOut:
            pass


@pytest.mark.parametrize("lock", [Polls, BeltAndBraces])
def test_waits_with_a_clock_are_right(lock):
    """Who polls, and who watches and looks again, loses no wakeup."""
    assert told(lock, of_a_lock()) == "holds"


def test_a_clock_does_not_hide_a_lost_wakeup():
    """Whoever watches is woken by what it watches, not by its clock."""
    found = told(HidesALostWakeup, of_a_lock())
    assert found == "B waits for its clock, watching /l, while nobody holds"


# --- costs ----------------------------------------------------------------------------------


def test_what_an_acquisition_costs():
    """The herd asks more often, and polling costs polls."""
    assert told(ReentrantLock, [CostsAtMost(requests=5, fires=1, polls=0)], 3) == "holds"
    assert told(HerdLock, [CostsAtMost(fires=2)], 3) == "holds"
    herd = told(HerdLock, [CostsAtMost(fires=1)], 3)
    assert herd.endswith("needs more than 1 fires for one acquisition")
    polls = told(Polls, [CostsAtMost(polls=0)])
    assert polls == "B needs more than 0 polls for one acquisition"
    asks = told(ChildrenWatchLock, [CostsAtMost(requests=3)], 3)
    assert asks.endswith("needs more than 3 requests for one acquisition")


def test_each_acquisition_counts_for_itself():
    """Not all of them together."""
    assert told(ReentrantLock, [CostsAtMost(requests=6)], 1, times=3) == "holds"


def test_a_limit_must_be_said():
    with pytest.raises(ValueError, match="limits nothing"):
        CostsAtMost()
    assert CostsAtMost(requests=3, polls=0).name == "costs at most 3 requests, 0 polls"


# --- overtaking -----------------------------------------------------------------------------


def test_who_is_overtaken():
    """In a queue nobody is passed over; at one name anybody can be."""
    nobody = NobodyIsOvertaken()
    assert told(ReentrantLock, [*of_a_fair_lock(), nobody], 2, times=2) == "holds"
    found = told(HerdLock, [nobody], 2, times=3)
    assert found == "A is served 2 times while B waits"


def test_a_bound_on_overtaking():
    """So often, and not once more."""
    world = World("/l")
    for name, times in (("A", 3), ("B", 1)):
        session = world.connect(f"{name}'s session")
        world.actor(name, session, use, HerdLock(session, "/l"), times=times)
    assert explore(world, [NobodyIsOvertaken(2)], faults=NO_FAULTS).holds
    story = explore(world, [NobodyIsOvertaken(1)], faults=NO_FAULTS).story
    assert story.wrong == "A is served 2 times while B waits"
    with pytest.raises(ValueError, match="at least 1"):
        NobodyIsOvertaken(0)
