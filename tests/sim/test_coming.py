"""Whoever tells something at once comes at any time: nobody has arrived at the very beginning."""

from __future__ import annotations

import pytest

from zkkit.recipes.shared import create_or_there, delete_surely, list_children, until_answered
from zkkit.sim import NO_FAULTS, Say, Work, World, every, explore, one, replay
from zkkit.sim.properties import History, of_a_barrier, of_a_double_barrier
from zkkit.steps import Create, Exists, Get, Guid, Mark, Mode, Set, Wait

MEETING, GATE = of_a_barrier(count=2), of_a_barrier(path="/l")


def world_of(*scripts):
    world = World("/l")
    for name, script in zip("ABC", scripts, strict=False):
        world.actor(name, world.connect(f"{name}'s session"), script)
    return world


def meets():
    yield from Say("arrives")
    yield from create_or_there(Create(f"/l/{(yield from Guid())}"))
    while len((yield from list_children("/l", watch=True))) < 2:
        yield from Wait()
    yield from Say("passes")


def never_waits():
    yield from Say("arrives")
    yield from until_answered(Exists("/l"))
    yield from Say("passes")


def counts_versions():
    """A write whose reply was lost counts twice."""
    yield from Say("arrives")
    yield from until_answered(Set("/l", b"x"))
    while (yield from until_answered(Get("/l", watch=True))).stat.version < 2:
        yield from Wait()
    yield from Say("passes")


def creates_again():
    """So does a create."""
    yield from Say("arrives")
    node = yield from until_answered(Create("/l/n-", mode=Mode.PERSISTENT_SEQUENTIAL))
    if not node.path.endswith("1"):
        while (yield from until_answered(Exists("/l/n-0000000001", watch=True))) is None:
            yield from Wait()
    yield from Say("passes")


def counts_wakeups():
    """A connection that broke counts as one who came."""
    yield from Say("arrives")
    yield from create_or_there(Create(f"/l/{(yield from Guid())}"))
    count = len((yield from list_children("/l", watch=True)))
    while count < 2:
        yield from Wait()
        yield from list_children("/l", watch=True)
        count += 1
    yield from Say("passes")


def never_waits_on_the_way_in():
    yield from never_waits()
    me = yield from Guid()
    yield from Say("leaves")
    yield from create_or_there(Create(f"/l/{me}"))
    while len((yield from list_children("/l", watch=True))) < 2:
        yield from Wait()
    yield from Say("left")


def opens():
    yield from Say("arrives")
    yield from delete_surely("/l", outlives_session=True)


def never_waits_at_a_gate():
    yield from until_answered(Exists("/l"))
    yield from Say("passes")


def waits_at_a_gate():
    while (yield from until_answered(Exists("/l", watch=True))) is not None:
        yield from Wait()
    yield from Say("passes")


@pytest.mark.parametrize(
    ("scripts", "asked"),
    [
        ((never_waits, never_waits), MEETING),
        ((counts_versions, counts_versions), MEETING),
        ((creates_again, creates_again), MEETING),
        ((counts_wakeups, counts_wakeups), MEETING),
        ((opens, never_waits_at_a_gate), GATE),
        ((never_waits_on_the_way_in,) * 2, of_a_double_barrier(2)),
    ],
)
def test_whoever_passes_before_others_have_come_is_caught(scripts, asked):
    """Though nobody begins with a step that takes time."""
    verdict = explore(world_of(*scripts), asked, faults=one())
    assert verdict.holds is False
    assert "nobody passes early" in [story.breaks for story in verdict.stories]
    assert replay(verdict.story, world_of(*scripts), asked) == verdict.story.wrong


@pytest.mark.parametrize(
    ("scripts", "asked"), [((meets, meets), MEETING), ((opens, waits_at_a_gate), GATE)]
)
@pytest.mark.parametrize("faults", [NO_FAULTS, one(), every(reply_lost=1, lag=1)], ids=str)
def test_right_barriers_hold_whenever_they_come(scripts, asked, faults):
    assert explore(world_of(*scripts), asked, faults=faults).holds


def test_the_story_shows_who_comes_and_what_it_says():
    story = explore(world_of(never_waits, never_waits), MEETING).story
    assert story.words[1][0].startswith("A comes   [test_coming.py:")
    assert story.words[1][1].startswith("A says: arrives   [test_coming.py:")
    assert story.scenes[0].doing == ("has not begun", "has not begun")
    assert story.headline == "A passes when 1 of 2 has arrived"


def silent():
    yield from Exists("/l")
    yield from Say("arrives")


def marks():
    yield from Mark("acquired", "/l", 1)
    yield from Work()


def events_of(script, faults=NO_FAULTS):
    """What can happen first."""
    machine = world_of(script).machine(faults)
    state = machine.begin().done(())
    return machine.moves(state), machine.misfortunes(state)


def test_only_whoever_tells_something_at_once_comes():
    """All others have begun: there are no more states than before."""
    assert events_of(silent)[0] == [("apply", 0)]
    assert events_of(never_waits)[0] == events_of(marks)[0] == [("come", 0)]


def test_nothing_strikes_whoever_has_not_come():
    assert events_of(silent, one())[1]
    assert events_of(never_waits, one())[1] == []


def test_it_may_be_served_by_a_follower_that_lagged_when_it_came():
    """What was written before it came is not yet to be seen."""

    def writes():
        yield from Create("/l/x")
        yield from Say("written")

    def comes():
        yield from Say("comes")
        yield from Say("sees", 0 if (yield from Exists("/l/x")) is None else 1)

    def stale(facts, view):
        words = [(fact.what, fact.outcome) for fact in facts]
        return "stale" if words == [("written", 0), ("comes", 0), ("sees", 0)] else None

    asked = [History("fresh", stale, "said")]
    assert explore(world_of(writes, comes), asked, faults=NO_FAULTS).holds
    assert explore(world_of(writes, comes), asked, faults=one("lag")).holds is False


def test_coming_is_no_preemption():
    """Whoever comes leaves nobody: it has not been there."""
    verdict = explore(world_of(never_waits, never_waits), MEETING, preemptions=0)
    assert verdict.holds is False
