"""Each broken twin is caught by the fault its description names; the right one passes the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from zkkit.sim import explore
from zkkit.sim.gallery import OTHERS, TWINS

ALL = (*TWINS, *OTHERS)
each_twin = pytest.mark.parametrize("twin", ALL, ids=[twin.name for twin in ALL])

# Whose right one has so many states that exploring them all takes seconds.
LARGE = {"SleepsBesideAFreeLease", "CountsThenTakes"}

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
    there = {t.name: set(t.faults.kinds) if t.faults.at_most else set() for t in TWINS}
    assert PROMISED.items() <= there.items()


def test_each_has_a_name_and_says_what_is_wrong():
    """Names are unique; the mistake is told in a sentence."""
    assert len({twin.name for twin in ALL}) == len(ALL)
    assert all(twin.mistake.endswith(".") and "\n" not in twin.mistake for twin in ALL)


@each_twin
def test_the_mistake_is_caught(twin):
    """By the property it breaks, with a story of at most fifteen requests and faults, in which
    exactly the named faults happen."""
    verdict = explored(twin.broken(), twin.faults, twin)
    assert verdict.holds is False
    assert verdict.story.wrong.startswith(f"{twin.breaks}: ")
    assert verdict.story.length <= 15
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


@pytest.mark.parametrize(
    "twin",
    [pytest.param(twin, marks=[pytest.mark.slow] if twin.name in LARGE else []) for twin in ALL],
    ids=[twin.name for twin in ALL],
)
def test_the_right_one_passes(twin):
    """The same world, faults and properties without the mistake."""
    verdict = explored(twin.right(), twin.faults, twin)
    assert verdict.holds, verdict
