"""Each broken twin is caught by the fault its description names; the right one passes the same."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from zkkit.sim import explore
from zkkit.sim.gallery import ALL, BY_FAMILY

MOST_SECONDS = 10.0
each_twin = pytest.mark.parametrize("twin", ALL, ids=[twin.name for twin in ALL])


# The sixteen that the gallery promises, and the faults that must bring them to light.
PROMISED = {
    "TrustsItsPredecessorsDeath": {"cancel"},
    "LeaksWatches": set(),
    "TakesAnyWakeForAGrant": {"request lost"},
    "CreatesAgain": {"reply lost"},
    "SearchesWithoutSync": {"lag", "reply lost"},
    "ListsBeforeItCreates": set(),
    "TakesAnOldNode": {"give up"},
    "LeavesAnOrphan": {"deadline"},
    "CleansOnlyWhatItKnows": {"cancel"},
    "CleansUpUnshielded": {"cancel"},
    "RemovesOthersWatches": {"cancel"},
    "ComparesAsText": set(),
    "DeletesByName": {"reply lost"},
    "LosesAWakeup": set(),
    "HoldsAfterExpiry": {"expire"},
    "SleepsBesideAFreeLease": set(),
}


def explored(world, faults, twin):
    return explore(world, faults=faults, properties=twin.properties())


def test_all_that_was_promised_is_there():
    """Sixteen mistakes, each with its faults."""
    there = {t.name: set(t.faults.kinds) if t.faults.at_most else set() for t in ALL}
    assert PROMISED.items() <= there.items()


def test_each_has_a_name_and_says_what_is_wrong():
    """Names are unique; the mistake is told in a sentence, and what it teaches in one line."""
    assert len({twin.name for twin in ALL}) == len(ALL)
    assert all(twin.mistake.endswith(".") and "\n" not in twin.mistake for twin in ALL)
    assert all(twin.teaches.endswith(".") and len(twin.teaches) <= 100 for twin in ALL)


def test_they_are_sorted_by_family():
    """Every family has some; all there are stand below their own."""
    assert tuple(twin for twins in BY_FAMILY.values() for twin in twins) == ALL
    assert all(twin.family == family for family, twins in BY_FAMILY.items() for twin in twins)
    assert all(len(twins) >= 3 for twins in BY_FAMILY.values())


@each_twin
def test_the_mistake_is_caught(twin):
    """By the property it breaks, within ten seconds, with a story of at most fifteen requests and
    faults, in which exactly the named faults happen."""
    began = time.process_time()
    verdict = explored(twin.broken(), twin.faults, twin)
    assert time.process_time() - began < MOST_SECONDS
    assert verdict.holds is False
    assert verdict.story.breaks == twin.breaks
    assert verdict.story.length <= 15
    deeds = [deed for scene in verdict.story.scenes for deed in scene.deeds]
    assert all(deed.where for deed in deeds if deed.who and deed.kind != "fire")
    named = twin.faults.kinds if twin.faults.at_most else ()
    assert set(verdict.story.faults) == set(named)
    assert len(verdict.story.faults) == twin.faults.at_most


@each_twin
def test_the_faults_bring_it_to_light(twin):
    """With one fault less the mistake does not show."""
    if not twin.faults.at_most:
        return  # it needs no fault
    verdict = explored(twin.broken(), replace(twin.faults, at_most=twin.faults.at_most - 1), twin)
    assert verdict.holds, verdict


@pytest.mark.slow
@pytest.mark.parametrize("twin", ALL, ids=[twin.name for twin in ALL])
def test_the_right_one_passes(twin):
    """The same world, faults and properties without the mistake."""
    verdict = explored(twin.right(), twin.faults, twin)
    assert verdict.holds, verdict
