"""The examination of the explorer: right answers of every family hold under every fault, wrong ones
are caught by their own property, and vacuous ones never hold.

The gallery's mistakes are examined in test_gallery, in the same way.
"""

from __future__ import annotations

import statistics
import time

import pytest

from tests.sim.answers import ANSWERS, VACUOUS
from zkkit.sim import NO_FAULTS, explore, one
from zkkit.sim.gallery import ALL, BY_FAMILY, RIGHT

WRONG = (*ALL, *ANSWERS)

# Whose right answer has so many states that exploring them all takes its time.
LARGE = {"Semaphore", "Claims", "WatchesOneNode", "TakesASlot", "FencedWrites"}
FAMILIES_WITH_TWO_STYLES = {
    "lock", "read-write lock", "barrier", "double barrier", "election", "counter", "queue", "cache",
}  # fmt: skip
MOST_SECONDS = 10.0
SPENT: dict[tuple[str, str], float] = {}
"""The processor time of each."""


def ids(answers):
    return [f"{each.family}-{each.name}".replace(" ", "_") for each in answers]


def slow_if(answers, large):
    marks = [pytest.mark.slow]
    return [pytest.param(each, marks=marks if each.name in large else []) for each in answers]


def told(verdict):
    """By what it was caught: the gravest property, or the goal that was never reached."""
    if verdict.story is not None:
        return verdict.story.breaks
    return verdict.unmet[0] if verdict.unmet else ""


def test_there_are_enough_of_them():
    """At least a hundred wrong answers, at least two right ones of every family."""
    assert len(WRONG) >= 100
    families = [right.family for right in RIGHT]
    assert all(families.count(family) >= 2 for family in FAMILIES_WITH_TWO_STYLES)
    wrong = [each.family for each in WRONG]
    assert all(wrong.count(family) >= 10 for family in {*wrong} - {"write under a lock"})
    assert {*wrong} == {*BY_FAMILY}


@pytest.mark.parametrize("answer", ANSWERS, ids=ids(ANSWERS))
def test_a_wrong_answer_is_caught(answer):
    """By its own property, within ten seconds, with a story of at most fifteen steps that says the
    line of the script at every step it took."""
    began = time.process_time()
    verdict = explore(answer.broken(), answer.properties(), faults=answer.faults)
    assert verdict.holds is False, verdict
    assert told(verdict) == answer.breaks, verdict
    for story in verdict.stories:
        assert story.length <= 15
        deeds = [deed for scene in story.scenes for deed in scene.deeds]
        # A fire that nobody hears yet is no step.
        assert all(deed.where for deed in deeds if deed.who and deed.kind != "fire"), str(story)
    SPENT[answer.name, answer.family] = spent = time.process_time() - began
    assert spent < MOST_SECONDS


def test_they_are_caught_in_no_time():
    """Those that were examined just now: seldom does one take long."""
    if SPENT:
        assert statistics.median(SPENT.values()) < 3.0
        assert sum(SPENT.values()) < 360.0


def the_same(answer):
    """What a right answer's world is made of: it is explored once for all who made a mistake in
    it."""
    right = answer.right
    made = tuple((type(each).__name__, repr(each)) for each in (*right.args, right.func))
    return made, repr(right.keywords), answer.faults, answer.properties


RIGHTS = list({the_same(answer): answer for answer in ANSWERS}.values())


@pytest.mark.slow
@pytest.mark.parametrize("answer", RIGHTS, ids=ids(RIGHTS))
def test_the_right_answer_holds_there(answer):
    """In the same world, under the same faults."""
    verdict = explore(answer.right(), answer.properties(), faults=answer.faults)
    assert verdict.holds is True, verdict


@pytest.mark.parametrize("right", slow_if(RIGHT, LARGE), ids=ids(RIGHT))
def test_a_right_answer_holds_under_every_fault(right):
    """Two actors, and at most one fault of any kind: nothing that is shipped accuses it."""
    verdict = explore(right.build(2), right.properties(), faults=one())
    assert verdict.holds is True and verdict.complete == "all explored", verdict


@pytest.mark.slow
@pytest.mark.parametrize("right", RIGHT, ids=ids(RIGHT))
def test_a_right_answer_holds_with_three(right):
    """Three actors, and no fault."""
    verdict = explore(right.build(3), right.properties(), faults=NO_FAULTS)
    assert verdict.holds is True and verdict.complete == "all explored", verdict


@pytest.mark.parametrize("answer", VACUOUS, ids=ids(VACUOUS))
def test_a_vacuous_answer_never_holds(answer):
    """Nothing done, nothing marked, all for itself: that is not to hold."""
    verdict = explore(answer.broken(), answer.properties(), faults=answer.faults)
    assert verdict.holds is False, verdict
    assert verdict.outcome == ("vacuous" if verdict.story is None else "broken")
    assert told(verdict) == answer.breaks, verdict
