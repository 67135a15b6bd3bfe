"""Starvation: somebody asks for ever and is never served, though everybody who can move moves."""

from __future__ import annotations

import pytest

from zkkit import ReentrantLock
from zkkit.errors import NodeExists, NoNode
from zkkit.recipes.herd import HerdLock
from zkkit.recipes.shared import pause
from zkkit.sim import NO_FAULTS, Say, Work, World, contenders, explore, fairness, one, replay
from zkkit.sim.properties import NobodyStarves, of_a_fair_lock
from zkkit.steps import Children, Create, Delete, Exists, Mark, Mode, Wait

ENOUGH = 100_000


def hold(node):
    yield from Mark("acquired", node.path, node.stat.czxid)
    yield from Work()
    yield from Mark("released", node.path, node.stat.czxid)
    yield from Delete(node.path)


def takes_what_is_free(path):
    """A lock without a queue: whoever comes first when it is free has it."""
    while True:
        try:
            node = yield from Create(f"{path}/x", mode=Mode.EPHEMERAL)
        except NodeExists:
            if (yield from Exists(f"{path}/x", watch=True)) is not None:
                yield from Wait()
        else:
            yield from hold(node)
            del node


def polls(path):
    """The same with a pause in place of a watch."""
    while True:
        try:
            node = yield from Create(f"{path}/x", mode=Mode.EPHEMERAL)
        except NodeExists:
            yield from pause(1.0)
        else:
            yield from hold(node)
            del node


def goes_back_for_anybody(path):
    """A try-lock: whoever is not alone deletes its node and creates it again."""
    while True:
        node = yield from Create(f"{path}/n-", mode=Mode.EPHEMERAL_SEQUENTIAL)
        names = yield from Children(path)
        if len(names) == 1:
            yield from hold(node)
        else:
            yield from Delete(node.path)
        del node, names


def goes_back_when_not_first(path):
    """A try-lock: whoever is not first deletes its node and creates it again, at the end."""
    while True:
        node = yield from Create(f"{path}/n-", mode=Mode.EPHEMERAL_SEQUENTIAL)
        names = yield from Children(path)
        if node.path.endswith(min(names)):
            yield from hold(node)
        else:
            yield from Delete(node.path)
        del node, names


def queues(path):
    """A lock with a queue in another style: every change wakes everybody, the first one has it."""
    while True:
        node = yield from Create(f"{path}/n-", mode=Mode.EPHEMERAL_SEQUENTIAL)
        while True:
            names = yield from Children(path, watch=True)
            if node.path.endswith(min(names)):
                break
            yield from Wait()
        yield from hold(node)
        del node, names


def sleeps_through(path):
    """Looks whether there is something to wait for, and then watches a node that never changes."""
    try:
        node = yield from Create(f"{path}/x", mode=Mode.EPHEMERAL)
    except NodeExists:
        try:
            yield from Exists(f"{path}/y", watch=True)
            yield from Wait()
        except NoNode:
            pass
    else:
        yield from hold(node)


def world_of(*scripts):
    world = World("/l")
    for name, script in zip("ABC", scripts, strict=False):
        world.actor(name, world.connect(f"{name}'s session"), script, "/l")
    return world


def starving(world, *whom, **bounds):
    asked = [NobodyStarves(*whom)]
    verdict = explore(world, asked, faults=NO_FAULTS, states=ENOUGH, **bounds)
    if verdict.story is not None:
        # The story is the real way, and comes to the same end when it is told again.
        assert replay(verdict.story, world, asked) == verdict.story.wrong
    return verdict


@pytest.mark.parametrize("count", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_the_fair_lock_starves_nobody(count):
    """Used for ever, by two and by three."""
    verdict = explore(
        contenders(ReentrantLock, count, times=None),
        [*of_a_fair_lock(), NobodyStarves()],
        faults=NO_FAULTS,
        states=ENOUGH,
    )
    assert verdict.holds


@pytest.mark.parametrize("count", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_a_lock_in_another_style_starves_nobody(count):
    assert starving(world_of(*[queues] * count)).holds


def test_the_herd_lock_starves_somebody():
    """All wait for one node, and whoever is first has it."""
    assert starving(contenders(HerdLock, 2, times=None)).holds is False


@pytest.mark.parametrize("script", [takes_what_is_free, polls, goes_back_when_not_first])
def test_without_a_queue_somebody_is_overtaken_for_ever(script):
    verdict = starving(world_of(script, script))
    assert verdict.holds is False
    assert "asks again and again and is never granted anything, while" in verdict.story.wrong
    assert len(verdict.story.events) <= 15


def test_a_livelock_is_a_starvation_of_all():
    """Both go back for each other; that they could also be lucky is no excuse."""
    verdict = starving(world_of(goes_back_for_anybody, goes_back_for_anybody))
    assert verdict.holds is False
    assert "is never granted anything, and neither is anybody else" in verdict.story.wrong
    assert len(verdict.story.events) <= 15


def test_a_sleeper_is_not_hidden_by_those_who_go_on():
    """All is never quiet, so only the long run can tell that A waits for nothing."""
    verdict = starving(world_of(sleeps_through, takes_what_is_free), "A")
    assert verdict.holds is False
    assert "A waits for ever and is never granted anything, while B is" in verdict.story.wrong


def test_one_alone_is_served():
    """Whoever has no rival is served again and again."""
    assert starving(world_of(takes_what_is_free)).holds
    assert starving(world_of(goes_back_for_anybody)).holds


@pytest.mark.slow  # the rounds of test_without_a_queue_... once more
def test_whom_it_is_asked_about():
    """Of two who use a lock without a queue each can starve; one who has ended cannot."""
    verdict = starving(world_of(takes_what_is_free, takes_what_is_free), "B")
    assert verdict.story.wrong.startswith("B asks")
    with pytest.raises(ValueError, match="no such actor"):
        starving(world_of(takes_what_is_free, takes_what_is_free), "Z")


def test_being_slow_is_no_excuse():
    """Nobody starves by not being answered: a round in which a request waits for ever is unfair."""

    def once(path):
        node = yield from Create(f"{path}/y-", mode=Mode.EPHEMERAL_SEQUENTIAL)
        yield from hold(node)

    assert starving(world_of(once, takes_what_is_free), "A").holds


def test_being_served_can_be_a_word():
    """A consumer is served when it says so."""

    def consumer(path, *, luckless):
        while True:
            names = yield from Children(path)
            if not luckless:
                yield from Say("took", len(names))

    def world(luckless):
        here = World("/q")
        for name in "AB":
            unlucky = luckless and name == "B"
            here.actor(name, here.connect(name), consumer, "/q", luckless=unlucky)
        return here

    asked = [NobodyStarves(word="took")]
    assert explore(world(False), asked, faults=NO_FAULTS, states=ENOUGH).holds
    verdict = explore(world(True), asked, faults=NO_FAULTS, states=ENOUGH)
    assert "B asks again and again and never says took, while A does" in verdict.story.wrong


def test_faults_do_not_starve_a_fair_lock():
    """Neither a cancel nor the loss of a session leaves anybody behind for ever."""
    world = contenders(ReentrantLock, 2, times=None)
    for fault in ("cancel", "crash"):
        verdict = explore(world, [NobodyStarves()], faults=one(fault), states=ENOUGH)
        assert verdict.holds, (fault, str(verdict))


def test_an_unfair_round_does_not_count(monkeypatch):
    """If fairness were not asked for, a holder that works for ever would starve everybody."""
    world = contenders(ReentrantLock, 2, times=None)
    assert explore(world, [NobodyStarves()], faults=NO_FAULTS).holds
    monkeypatch.setattr(fairness, "_is_fair", lambda *args: True)
    monkeypatch.setattr(fairness, "group", lambda event: "any")
    assert explore(world, [NobodyStarves()], faults=NO_FAULTS).holds is False


def test_beyond_its_budget_it_is_unknown():
    verdict = explore(
        contenders(ReentrantLock, 3, times=None), [NobodyStarves()], faults=NO_FAULTS, states=50
    )
    assert verdict.holds is None and "given up" in verdict.bounds


def test_out_of_time_it_is_unknown(monkeypatch):
    """Also where all states are known, but not yet whether there is a round."""
    monkeypatch.setattr(fairness.time, "perf_counter", lambda: float("inf"))
    with pytest.raises(fairness.OutOfTime):
        fairness.find_round(None, NobodyStarves(), {(): 0}, None, until=1.0)


@pytest.mark.parametrize("options", [{"by_rank": True}, {}], ids=["ranks", "starving"])
def test_what_a_bound_on_preemptions_cannot_answer(options):
    """It is refused: rounds that leave somebody often enough would not be looked at."""
    asked = [] if options else [NobodyStarves()]
    with pytest.raises(ValueError, match="a bound on preemptions leaves no rounds to look for"):
        explore(contenders(ReentrantLock, 2), asked, preemptions=2, **options)
