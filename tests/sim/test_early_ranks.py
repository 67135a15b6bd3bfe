"""Comparing by rank is tried early: whoever polls or retries is judged in seconds, and whatever has
an end exactly is explored exactly."""

from __future__ import annotations

import pytest

from zkkit import ReentrantLock
from zkkit.recipes.shared import pause
from zkkit.sim import NO_FAULTS, World, contenders, explore, one
from zkkit.sim.explore import _Budget, _Limit, _Search
from zkkit.sim.properties import Always, NoLostWakeup, of_a_fair_lock
from zkkit.sim.ranks import BY_RANK
from zkkit.steps import Children, Create, Delete, Exists, Guid, Mode

LITTLE = _Budget(300, 600.0)


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """It is tried after 300 states."""
    monkeypatch.setattr(_Limit, "LATE", LITTLE)


@pytest.fixture
def searches(monkeypatch):
    """How each search was made: by rank?"""
    made = []
    begin = _Search.__init__

    def noted(self, *args, by_rank=False):
        made.append(by_rank)
        begin(self, *args, by_rank=by_rank)

    monkeypatch.setattr(_Search, "__init__", noted)
    return made


def world_of(*scripts):
    world = World("/l")
    for name, script in zip("ABC", scripts, strict=False):
        world.actor(name, world.connect(f"{name}'s session"), script)
    return world


def gives():
    yield from Create("/l/x")


def polls():
    """A fresh guid each time it looks: exactly, no state ever comes again."""
    while True:
        yield from Guid()
        if (yield from Exists("/l/x")) is not None:
            return
        yield from pause(1.0)


def retries():
    while True:
        node = yield from Create("/l/n-", mode=Mode.EPHEMERAL_SEQUENTIAL)
        if len((yield from Children("/l"))) == 1:
            return
        yield from Delete(node.path)


def never_ends():
    while True:
        node = yield from Create("/l/n-", mode=Mode.EPHEMERAL_SEQUENTIAL)
        yield from Delete(node.path)


@pytest.mark.parametrize("script", [polls, retries])
def test_who_polls_or_retries_is_judged_early(script, searches):
    """By rank after the first few states: the rest of the budget is not needed."""
    verdict = explore(world_of(script, script, gives), [NoLostWakeup()], faults=NO_FAULTS)
    assert verdict.holds is not None and verdict.complete == "all explored"
    assert BY_RANK in verdict.bounds and verdict.states < 10_000
    assert searches[:2] == [False, True]


def test_a_round_without_end_is_found_early():
    verdict = explore(world_of(never_ends, never_ends), [NoLostWakeup()], faults=NO_FAULTS)
    assert verdict.holds is False and "goes round for ever" in verdict.story.wrong


def test_what_has_an_end_is_explored_exactly(searches):
    """It is tried, and not believed: the same states, the same words."""
    world = contenders(ReentrantLock, 2)
    verdict = explore(world, of_a_fair_lock(), faults=one())
    assert True in searches
    exact = explore(world, of_a_fair_lock(), faults=one(), by_rank=False)
    assert verdict.holds and verdict.states == exact.states > LITTLE.states
    assert str(verdict).splitlines()[1:] == str(exact).splitlines()[1:]
    assert verdict.bounds == exact.bounds


def test_a_story_that_is_found_early_counts():
    """By rank it is found sooner; it has the true numbers."""

    def crowd(view):
        return "three" if len(view.tree.nodes["/l"].children) > 2 else None

    asked = [Always("at most two", crowd)]
    found = explore(world_of(retries, retries, retries), asked, faults=NO_FAULTS)
    exact = explore(world_of(retries, retries, retries), asked, faults=NO_FAULTS, by_rank=False)
    assert found.story.events == exact.story.events


def counts_on():
    """By rank its number is a large one, and it counts up to that."""
    while True:
        node = yield from Create("/l/n-", mode=Mode.EPHEMERAL_SEQUENTIAL)
        number = 0
        while number < int(node.path[-10:]):
            number += 1
        yield from Delete(node.path)


def test_who_computes_with_numbers_is_explored_exactly():
    """With those of ranks it would compute for ever: that is not held against it."""
    verdict = explore(world_of(counts_on), [NoLostWakeup()], faults=NO_FAULTS, states=600)
    assert verdict.outcome == "unknown" and BY_RANK not in verdict.bounds


def test_by_rank_it_is_explored_once(searches):
    """Where that gives nothing the exact search goes on, and is not followed by another one."""

    def marks_each():
        for each in range(3000):
            yield from Create(f"/l/{each}")

    def also_never_ends():
        yield from never_ends()

    verdict = explore(
        world_of(marks_each, also_never_ends), [NoLostWakeup()], faults=NO_FAULTS, states=800
    )
    assert verdict.outcome == "unknown" and verdict.bounds.endswith(", by rank as well")
    assert searches == [False, True]


def test_it_is_not_tried_where_it_is_not_wanted(searches):
    explore(world_of(polls, gives), [NoLostWakeup()], states=2000, by_rank=False)
    assert searches == [False]
