"""By rank: whoever tries again and again has an end of states, and stories are true."""

from __future__ import annotations

import pytest

from zkkit import ReentrantLock
from zkkit.errors import NodeExists
from zkkit.recipes.herd import HerdLock
from zkkit.recipes.shared import pause
from zkkit.sim import (
    NO_FAULTS,
    StartNode,
    Work,
    World,
    contenders,
    explore,
    one,
    replay,
)
from zkkit.sim.explore import _Search
from zkkit.sim.gallery.locks import LosesAWakeup
from zkkit.sim.properties import (
    NoLostWakeup,
    Property,
    mutual_exclusion,
    of_a_fair_lock,
    of_a_lock,
)
from zkkit.sim.ranks import BY_RANK
from zkkit.sim.state import MEMOS
from zkkit.steps import Children, Create, Delete, Exists, Mark, Mode

FEW = 3000


def retreats(path, *, alone):
    """A lock that never waits in line: whoever is not first deletes its node and tries again. With
    `alone` it goes back for anybody, also for one behind it."""
    while True:
        node = yield from Create(f"{path}/n-", mode=Mode.EPHEMERAL_SEQUENTIAL)
        names = yield from Children(path)
        mine = node.path.rpartition("/")[2]
        if names == (mine,) or (not alone and min(names) == mine):
            break
        yield from Delete(node.path)
    yield from Mark("acquired", node.path, node.stat.czxid)
    yield from Work()
    yield from Mark("released", node.path, node.stat.czxid)
    yield from Delete(node.path)


def never_first(path):
    """A try-lock that can never be first: a node that nobody owns stands before it."""
    while True:
        node = yield from Create(f"{path}/n-", mode=Mode.EPHEMERAL_SEQUENTIAL)
        names = yield from Children(path)
        if min(names) == node.path.rpartition("/")[2]:
            return
        yield from Delete(node.path)


def counts(path):
    """Breaks the assumption: it computes with numbers."""
    for _ in range(4):
        node = yield from Create(f"{path}/n-", mode=Mode.EPHEMERAL_SEQUENTIAL)
        yield from Delete(node.path)
        if int(node.path[-10:]) > 1000:
            yield from Mark("acquired", node.path, 1)
            yield from Mark("acquired", "/l/x", 1)


def world_of(count, script, *args, nodes=("/l",), **kwargs):
    world = World(*nodes)
    for name in "ABC"[:count]:
        world.actor(name, world.connect(f"{name}'s session"), script, *args, **kwargs)
    return world


def test_retries_come_to_an_end_by_rank():
    """Exactly there is no end of states; by rank there is, and the verdict says how."""
    world = world_of(2, retreats, "/l", alone=False)
    asked = [mutual_exclusion(), NoLostWakeup()]
    exact = explore(world, asked, faults=NO_FAULTS, states=FEW, by_rank=False)
    assert exact.holds is None and BY_RANK not in exact.bounds
    by_rank = explore(world, asked, faults=NO_FAULTS, states=FEW, by_rank=True)
    assert by_rank.holds and by_rank.states < FEW and BY_RANK in by_rank.bounds


def test_the_second_search_comes_by_itself():
    """Where the budget is used up, all is explored again by rank."""
    heard = []
    verdict = explore(
        world_of(2, retreats, "/l", alone=False),
        [mutual_exclusion(), NoLostWakeup()],
        faults=NO_FAULTS,
        states=FEW,
        progress=heard.append,
    )
    assert verdict.holds and BY_RANK in verdict.bounds
    assert [each.over for each in heard].count(True) == 1 and heard[-1].over


def test_it_does_not_come_where_the_exact_one_ends():
    assert BY_RANK not in explore(contenders(ReentrantLock, 2), of_a_lock()).bounds


def test_a_livelock_is_found_and_told():
    """It used to end as unknown. Its story has the true numbers, and replays."""
    world = world_of(1, never_first, "/l", nodes=("/l", StartNode("/l/n-0000000000")))
    asked = [NoLostWakeup()]
    assert explore(world, asked, states=FEW, by_rank=False).holds is None
    verdict = explore(world, asked, faults=NO_FAULTS, states=FEW)
    assert verdict.holds is False and "goes round for ever" in verdict.story.wrong
    assert BY_RANK in verdict.story.bounds
    assert len(verdict.story.events) <= 15
    assert "1000000" not in str(verdict.story) and "n-1" in str(verdict.story)
    assert replay(verdict.story, world, asked) == verdict.story.wrong


def test_what_is_found_by_rank_is_found_exactly():
    """The shortest story is the same, and it replays to the same end."""
    world = contenders(LosesAWakeup, 2)
    found = [explore(world, of_a_lock(), by_rank=by_rank) for by_rank in (False, True)]
    assert found[0].story.events == found[1].story.events
    assert found[0].story.wrong == found[1].story.wrong
    assert found[0].story.scenes == found[1].story.scenes
    assert replay(found[1].story, world, of_a_lock()) == found[1].story.wrong


@pytest.mark.parametrize("fault", ["cancel", "expire", "reply lost", "lag", "deadline", "reap"])
@pytest.mark.parametrize("lock", [ReentrantLock, HerdLock])
def test_right_locks_hold_by_rank(lock, fault):
    """Each fault, and no more states than exactly."""
    families = {ReentrantLock: of_a_fair_lock, HerdLock: of_a_lock}
    asked = families[lock]()
    exact = explore(contenders(lock, 2), asked, faults=one(fault))
    by_rank = explore(contenders(lock, 2), asked, faults=one(fault), by_rank=True)
    assert exact.holds and by_rank.holds and by_rank.states <= exact.states


def classes(world, asked, faults, *, merging):
    """How many states there are that differ by rank: all states visited, or one of each class."""
    search = _Search(world, faults, asked, by_rank=True)
    with search.running():
        start, _ = search.start()
        keys, ahead, seen = {search.ranks.key(start)}, [start], {start}
        for state in ahead:
            for event in search.machine.moves(state) + search.machine.misfortunes(state):
                after, _ = search.judge(search.machine.after(state, event), state[MEMOS])
                key = search.ranks.key(after)
                if (key not in keys) if merging else (after not in seen):
                    ahead.append(after)
                    seen.add(after)
                keys.add(key)
        return len(keys)


@pytest.mark.parametrize(
    "fault",
    ["cancel", *[pytest.param(f, marks=pytest.mark.slow) for f in ("give up", "reply lost")]],
)
@pytest.mark.parametrize("lock", [ReentrantLock, HerdLock, LosesAWakeup])
def test_one_of_each_class_leads_to_all_classes(lock, fault):
    """Nothing is left out: from the states that stand for others all classes are reached."""
    worlds = contenders(lock, 2, times=2), of_a_lock(), one(fault)
    assert classes(*worlds, merging=True) == classes(*worlds, merging=False)


def test_a_story_that_is_not_true_does_not_count():
    """A script that computes with numbers is broken only where they are large: unknown, and why."""
    world = world_of(1, counts, "/l")
    asked = [mutual_exclusion_by_belief()]
    assert explore(world, asked, faults=NO_FAULTS, by_rank=False).holds
    verdict = explore(world, asked, faults=NO_FAULTS, by_rank=True)
    assert verdict.holds is None and verdict.story is None
    assert "compute with numbers" in verdict.bounds


def mutual_exclusion_by_belief():
    class Belief(Property):
        name = "belief"
        wants = frozenset({"acquired"})

        def after(self, memo, facts, view):
            return memo, "two at once" if len(view.grants) > 1 else None

    return Belief()


def test_order_matters_and_size_does_not():
    """What is first, second and third in line is told apart: the wrong one is found."""

    def takes_the_last(path):
        for _ in range(3):  # so that numbers of others are in between
            node = yield from Create(f"{path}/n-", mode=Mode.EPHEMERAL_SEQUENTIAL)
            names = yield from Children(path)
            if node.path.endswith(max(names)):
                yield from Mark("acquired", node.path, node.stat.czxid)
                yield from Work()
                yield from Mark("released", node.path, node.stat.czxid)
            yield from Delete(node.path)

    verdict = explore(
        world_of(2, takes_the_last, "/l"), [mutual_exclusion()], faults=NO_FAULTS, by_rank=True
    )
    assert verdict.holds is False and verdict.story.breaks == "mutual exclusion"


@pytest.mark.parametrize("listing", ["shuffled"])
def test_names_that_decide_an_order_are_left_alone(listing):
    """Where an order is made of names, numbers in them are not compared by rank: no end, no lie."""
    world = World("/l", listing=listing)
    for name in "AB":
        world.actor(name, world.connect(name), retreats, "/l", alone=False)
    verdict = explore(world, [NoLostWakeup()], faults=NO_FAULTS, states=FEW, by_rank=True)
    assert verdict.holds is None


def test_a_counter_near_its_end_is_left_alone():
    """Its numbers are not what they seem to be when they are larger."""
    world = contenders(ReentrantLock, 2, next_sequence=2**31 - 2)
    exact = explore(world, of_a_lock(), faults=NO_FAULTS, by_rank=False)
    by_rank = explore(world, of_a_lock(), faults=NO_FAULTS, by_rank=True)
    assert (exact.holds, exact.story is None) == (by_rank.holds, by_rank.story is None)


def test_no_ranks_under_a_bound_on_preemptions():
    with pytest.raises(ValueError, match="preemptions"):
        explore(contenders(ReentrantLock, 2), of_a_lock(), preemptions=1, by_rank=True)


def polls(path):
    while True:
        try:
            yield from Create(f"{path}/x", mode=Mode.EPHEMERAL)
        except NodeExists:
            yield from pause(1.0)
            yield from Exists(f"{path}/x")
        else:
            yield from Delete(f"{path}/x")


def test_lives_without_an_end_that_get_something_done_are_no_livelock():
    """Whoever is granted something again and again goes on for ever, rightly."""
    verdict = explore(
        contenders(ReentrantLock, 2, times=None), of_a_lock(), faults=NO_FAULTS, by_rank=True
    )
    assert verdict.holds
    # Without a grant it is one.
    verdict = explore(world_of(2, polls, "/l"), [NoLostWakeup()], faults=NO_FAULTS, by_rank=True)
    assert verdict.holds is False
