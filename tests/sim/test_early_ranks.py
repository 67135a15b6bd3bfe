"""Comparing by rank is tried early: whoever polls or retries is judged in seconds, and whatever has
an end exactly is explored exactly."""

from __future__ import annotations

import pytest

from zkkit import ReentrantLock
from zkkit.errors import NodeExists
from zkkit.recipes.shared import pause
from zkkit.sim import NO_FAULTS, Say, Work, World, contenders, explore, one, replay
from zkkit.sim.explore import _Budget, _Limit, _Search
from zkkit.sim.properties import Always, History, NoLostWakeup, mutual_exclusion, of_a_fair_lock
from zkkit.sim.ranks import BY_RANK, NEAR
from zkkit.steps import Children, Create, Delete, Exists, Guid, Mark, Mode, Set

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


@pytest.mark.slow
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


# --- followers that lag ---------------------------------------------------------------------


def takes_for_ever():
    """A lock that is polled, again and again."""
    while True:
        while True:
            try:
                node = yield from Create("/l/lock", mode=Mode.EPHEMERAL)
                break
            except NodeExists:
                while (yield from Exists("/l/lock")) is not None:
                    yield from pause(1.0)
        yield from Mark("acquired", node.path, node.stat.czxid)
        yield from Work()
        yield from Mark("released", node.path, node.stat.czxid)
        yield from Delete(node.path)


def test_endless_lives_have_an_end_of_states_with_a_follower_that_lags():
    """What it has not seen would grow for ever: it is kept near, and the verdict says so."""
    world = world_of(takes_for_ever, takes_for_ever)
    asked = [mutual_exclusion(), NoLostWakeup()]
    verdict = explore(world, asked, faults=one("lag"))
    assert verdict.holds and verdict.complete == "all explored" and verdict.states < 2000
    assert verdict.bounds.endswith(f", {NEAR.format(4)}") and "lag" in verdict.could_strike
    without = explore(world, asked, faults=NO_FAULTS)
    assert "behind" not in without.bounds


def test_a_follower_is_kept_near_only_where_it_must_be(monkeypatch):
    """Few changes: nobody waits for a follower, and nothing is said."""
    world = contenders(ReentrantLock, 2)
    verdict = explore(world, of_a_fair_lock(), faults=one("lag"), by_rank=True)
    assert verdict.holds and "behind" not in verdict.bounds
    monkeypatch.setattr("zkkit.sim.ranks._FAR_BEHIND", 1)
    nearer = explore(world, of_a_fair_lock(), faults=one("lag"), by_rank=True)
    assert nearer.holds and nearer.states < verdict.states and "behind" in nearer.bounds


def test_what_a_follower_that_lags_brings_about_is_told_truly():
    """Whoever trusts what it shows holds beside another one: found by rank, told exactly."""

    def trusts():
        while True:
            if (yield from Exists("/l/lock")) is None:
                yield from Set("/l", b"")
                yield from Say("in")
                yield from Work()
                yield from Say("out")

    def owns():
        while True:
            yield from Create("/l/lock")
            yield from Say("in")
            yield from Work()
            yield from Say("out")
            yield from Delete("/l/lock")

    def crowd(facts, view):
        inside = sum({"in": 1, "out": -1}[fact.what] for fact in facts)
        return "both are in" if inside > 1 else None

    world = world_of(trusts, owns)
    asked = [History("one", crowd, "said")]
    verdict = explore(world, asked, faults=one("lag"), states=3000)
    assert verdict.story.wrong == "both are in"
    assert replay(verdict.story, world, asked) == "both are in"
