"""Verdicts: nothing passes by accident, and a verdict says how far it can be trusted."""

from __future__ import annotations

import pytest

from zkkit import ReentrantLock
from zkkit.errors import ConnectionLost, NoNode
from zkkit.recipe import Recipe, script
from zkkit.sim import NO_FAULTS, Faults, Say, Work, World, contenders, explore, one, replay, walk
from zkkit.sim.gallery.locks import LeaksWatches, LosesAWakeup
from zkkit.sim.properties import (
    Always,
    Drained,
    EverybodyIsGranted,
    EverybodySays,
    Reached,
    SomebodyIsGranted,
    SomebodySays,
    TogetherHold,
    of_a_fair_lock,
    of_a_lock,
)
from zkkit.sim.verdict import Verdict
from zkkit.steps import Children, Create, Delete, Get, Mark, Mode, Wait


def world_of(*scripts, nodes=("/n",)):
    world = World(*nodes)
    for name, begin in zip("ABC", scripts, strict=False):
        world.actor(name, world.connect(f"{name}'s session"), begin)
    return world


def holds():
    node = yield from Create("/n/x-", mode=Mode.EPHEMERAL_SEQUENTIAL)
    yield from Mark("acquired", node.path, node.stat.czxid)
    yield from Work()
    yield from Mark("released", node.path, node.stat.czxid)
    yield from Delete(node.path)


# --- answers that are none ------------------------------------------------------------------


class Plain(Recipe):
    """A lock in the plainest style that is right without faults: first in line, or look again when
    the first one goes."""

    def place(self):
        return self.path

    @script
    def acquire(self, timeout=None):
        node = yield from Create(f"{self.place()}/x-", mode=Mode.EPHEMERAL_SEQUENTIAL)
        while True:
            first = min((yield from Children(self.place())))
            if node.path.endswith(first):
                break
            try:
                yield from Get(f"{self.place()}/{first}", watch=True)
                yield from Wait()
            except NoNode:
                pass
        return (yield from self.granted(node))

    def granted(self, node):
        yield from Mark("acquired", node.path, node.stat.czxid)
        return node

    @script
    def release(self):
        """Whatever is first is ours, as long as nothing goes wrong."""
        first = min((yield from Children(self.place())))
        node = f"{self.place()}/{first}"
        yield from Mark("released", node, (yield from Get(node)).stat.czxid)
        yield from Delete(node)


class DoesNothing(Plain):
    @script
    def acquire(self, timeout=None):
        yield from Get(self.path)

    @script
    def release(self):
        yield from Get(self.path)


class MarksNothing(Plain):
    def granted(self, node):
        return node
        yield

    @script
    def release(self):
        yield from Delete(f"{self.path}/{min((yield from Children(self.path)))}")


class HasAPlaceOfItsOwn(Plain):
    def place(self):
        return f"{self.path}/{self.session.name[0]}"


class WorksOutside(Plain):
    @script
    def acquire(self, timeout=None):
        node = yield from Create(f"{self.path}/x-", mode=Mode.EPHEMERAL_SEQUENTIAL)
        yield from self.granted(node)
        yield from Mark("released", node.path, node.stat.czxid)
        yield from Delete(node.path)
        return node

    @script
    def release(self):
        yield from Get(self.path)


class MarksAnothersZxid(Plain):
    def granted(self, node):
        yield from Mark("acquired", node.path, 1)
        return node


class MarksAnothersNode(Plain):
    @script
    def acquire(self, timeout=None):
        yield from Create(f"{self.path}/x-", mode=Mode.EPHEMERAL_SEQUENTIAL)
        first = f"{self.path}/{min((yield from Children(self.path)))}"
        yield from Mark("acquired", first, (yield from Get(first)).stat.czxid)
        return first


class AlwaysFails(Plain):
    @script
    def acquire(self, timeout=None):
        yield from Get(self.path)
        raise NoNode(self.path)


class FailsForAnExcuse(Plain):
    @script
    def acquire(self, timeout=None):
        yield from Get(self.path)
        raise ConnectionLost("so they say")


BELOW = ("A", "B")


def test_the_plain_lock_is_right():
    """Or what follows would prove nothing."""
    assert explore(contenders(Plain, 2), of_a_lock(), faults=NO_FAULTS).outcome == "holds"


@pytest.mark.parametrize(
    ("lock", "outcome", "found"),
    [
        (DoesNothing, "vacuous", "never reached: somebody is granted"),
        (MarksNothing, "broken", "A works and holds nothing"),
        (HasAPlaceOfItsOwn, "broken", "a place for each: A holds in /l/A and B holds in /l/B"),
        (WorksOutside, "broken", "A works and holds nothing"),
        (MarksAnothersZxid, "broken", "A says it holds /l/x-0, but it was not created with zxid 1"),
        (MarksAnothersNode, "broken", "B says it holds /l/x-0, a node of another session"),
        (AlwaysFails, "broken", "A fails with NoNode"),
        (FailsForAnExcuse, "broken", "A fails with ConnectionLost('so they say') before any fault"),
    ],
)
def test_no_lock_passes_by_accident(lock, outcome, found):
    """Whatever does nothing, marks nothing or something else, or keeps nobody out is rejected."""
    below = BELOW if lock is HasAPlaceOfItsOwn else ()
    verdict = explore(contenders(lock, 2, below=below), of_a_lock(), faults=NO_FAULTS)
    assert (verdict.holds, verdict.outcome) == (False, outcome)
    assert any(found in story.wrong for story in verdict.stories) or found in str(verdict)


def test_no_reason_is_given_for_others():
    """Somebody holds, but nobody whom a pause may strike."""

    def looks():
        yield from Get("/n")

    pause = one("pause", whom=["B"])
    told = str(explore(world_of(holds, looks), of_a_lock(), faults=pause))
    assert "faults that never could (for B): pause" in told and "nobody is granted" not in told


def test_nothing_done_at_all_is_vacuous():
    """Scripts that never say anything break no property; the goal is what rejects them."""

    def sits():
        yield from Get("/n")

    verdict = explore(world_of(sits, sits), of_a_lock(), faults=NO_FAULTS)
    assert verdict.holds is False and verdict.outcome == "vacuous" and verdict.story is None
    assert verdict.unmet == ("somebody is granted",)
    text = str(verdict)
    assert text.startswith("vacuous: ") and "never reached: somebody is granted" in text


# --- goals ----------------------------------------------------------------------------------


def test_goals_of_ones_own():
    """Goals are given beside the properties or among them; which were not reached is said."""
    two, three = TogetherHold(2), TogetherHold(3)
    met = explore(world_of(holds, holds, holds), [two], goals=[three], faults=NO_FAULTS)
    assert met.holds and met.unmet == () and met.asked == ("2 hold together", "3 hold together")
    alone = explore(contenders(ReentrantLock, 2), of_a_lock(), goals=[two], faults=NO_FAULTS)
    assert alone.outcome == "vacuous" and alone.unmet == ("2 hold together",)


def says(*words):
    def script():
        for word in words:
            yield from Work()
            yield from Say(word)

    return script


@pytest.mark.parametrize(
    ("goal", "met", "unmet"),
    [
        (SomebodyIsGranted(), [holds, says()], [says("acquired")]),
        (EverybodyIsGranted(), [holds, holds], [holds, says()]),
        (TogetherHold(2), [holds, holds], [holds, says()]),
        (SomebodySays("x"), [says("x"), says()], [says("y")]),
        (EverybodySays("x"), [says("x"), says("y", "x")], [says("x"), says("y")]),
        (Drained("/n"), [holds], [says()]),
        (Reached("two", lambda view: len(view.grants) == 2), [holds, holds], [holds]),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_each_goal(goal, met, unmet):
    """Met where it is reached, not where it is not, and again in the next exploration."""
    for _ in range(2):
        assert explore(world_of(*met), [goal], faults=NO_FAULTS).holds
        verdict = explore(world_of(*unmet), [goal], faults=NO_FAULTS)
        assert verdict.outcome == "vacuous" and verdict.unmet == (goal.name,)


def test_a_goal_costs_no_state():
    """It remembers nothing from event to event."""
    plain = explore(contenders(ReentrantLock, 2), [], faults=one("cancel"))
    goals = [EverybodyIsGranted(), TogetherHold(2), SomebodySays("x"), Drained("/l")]
    asked = explore(contenders(ReentrantLock, 2), [], goals=goals, faults=one("cancel"))
    assert asked.states == plain.states


def test_a_search_that_was_given_up_is_unknown():
    """Also if a goal was not yet reached: it might have been."""
    verdict = explore(contenders(ReentrantLock, 3), of_a_lock(), states=10)
    assert (verdict.outcome, verdict.complete) == ("unknown", "given up")
    walked = walk(world_of(says("y")), [SomebodySays("x")], seed=1, walks=3)
    assert (walked.outcome, walked.complete) == ("unknown", "bounded")


# --- faults that could strike ---------------------------------------------------------------


def test_which_faults_could_strike():
    """Those that never could are named, with the reason."""
    verdict = explore(contenders(ReentrantLock, 2), of_a_lock(), faults=one("cancel", "deadline"))
    assert verdict.could_strike == ("cancel",) and verdict.could_not_strike == ("deadline",)
    text = str(verdict)
    assert "faults that could strike: cancel\n" in text
    assert "faults that never could: deadline (no script stands in a Within)" in text
    timed = contenders(ReentrantLock, 2, timeout=1.0)
    assert explore(timed, of_a_lock(), faults=one("deadline")).could_not_strike == ()
    without = explore(contenders(ReentrantLock, 2), of_a_lock(), faults=NO_FAULTS)
    assert without.could_strike == without.could_not_strike == ()
    assert "strike" not in str(without)


def test_every_fault_can_strike_somewhere():
    """With a deadline, a lock meets them all."""
    verdict = explore(contenders(ReentrantLock, 2, timeout=1.0), of_a_lock(), faults=one())
    assert verdict.could_not_strike == ()
    assert len(verdict.could_strike) == 11


# --- how complete ---------------------------------------------------------------------------


def test_a_verdict_says_how_complete_it_is():
    """All, or within a bound."""
    every = explore(contenders(ReentrantLock, 2), of_a_lock(), faults=NO_FAULTS)
    few = explore(contenders(ReentrantLock, 2), of_a_lock(), faults=NO_FAULTS, preemptions=1)
    assert (every.complete, few.complete) == ("all explored", "bounded")
    assert "all explored" in str(every) and "bounded" in str(few)


# --- one story for each broken property -----------------------------------------------------


def never(name, kind):
    return Always(name, lambda view: f"{name}!", kind)


def test_one_story_for_each_broken_property():
    """The gravest first, which is as they were asked about, whichever is found first."""
    world = world_of(holds, holds)
    asked = [never("released", "released"), never("granted", "acquired"), never("woke", "woke")]
    verdict = explore(world, asked, faults=NO_FAULTS)
    assert [story.breaks for story in verdict.stories] == ["granted"]  # the others are behind it
    asked = [never("ended", "ended"), never("granted", "acquired")]
    verdict = explore(world_of(holds, says("x", "y")), asked, faults=NO_FAULTS)
    assert [story.breaks for story in verdict.stories] == ["ended", "granted"]
    assert verdict.story is verdict.stories[0]
    assert len(verdict.stories[0].events) > len(verdict.stories[1].events)
    assert "broken: ended, granted" in str(verdict)


def test_of_one_event_all_that_it_breaks_is_told():
    """And each story is replayed to its own end."""
    asked = [never("first", "acquired"), never("second", "acquired")]
    verdict = explore(world_of(holds), asked, faults=NO_FAULTS)
    assert [story.wrong for story in verdict.stories] == ["first!", "second!"]
    for story in verdict.stories:
        assert replay(story, world_of(holds), asked) == story.wrong


def test_two_mistakes_in_one_lock():
    """Both are told: a lock that leaks its watches and one whose waiter sleeps for ever."""
    world = World("/l")
    for name, kind in zip("ABC", (LosesAWakeup, LosesAWakeup, LeaksWatches), strict=True):
        session = world.connect(f"{name}'s session")
        lock = kind(session, "/l")
        from zkkit.sim import use

        world.actor(name, session, use, lock)
    verdict = explore(world, of_a_fair_lock(), faults=NO_FAULTS)
    broken = [story.breaks for story in verdict.stories]
    assert broken == ["no lost wakeup", "nothing left behind"]


def test_the_search_goes_on_for_a_while_only():
    """What is broken at once is told soon, whatever the size of the world and the budget."""
    whole = explore(contenders(ReentrantLock, 3), [never("x", "acquired")], faults=Faults(1))
    assert whole.holds is False and whole.events < 10_000
    tight = explore(contenders(ReentrantLock, 3), [never("x", "acquired")], states=20)
    assert tight.holds is not True and tight.states < 100


def test_the_same_stories_every_time():
    """How long the search goes on is counted, not timed."""
    found = [
        explore(contenders(LosesAWakeup, 2), of_a_fair_lock(), faults=one()).stories
        for _ in range(2)
    ]
    assert found[0] == found[1]


def test_outcomes_in_a_word():
    """A verdict made by hand says the same."""
    words = [Verdict(holds, 1, 1, 0.0, "", ()).outcome for holds in (True, False, None)]
    assert words == ["holds", "broken", "unknown"]
    assert Verdict(False, 1, 1, 0.0, "", (), unmet=("x",)).outcome == "vacuous"
