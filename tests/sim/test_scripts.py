"""Histories: shared, merged where that is right, and never where it is not."""

from __future__ import annotations

import itertools
import time

import pytest

import zkkit.sim.watchdog
from zkkit.errors import Cancelled, NoNode, NotAStep
from zkkit.sim import NO_FAULTS, Endless, Impure, SwallowedCancel, World, explore, one
from zkkit.sim.gallery import TWINS
from zkkit.sim.scripts import NotComparable, Root
from zkkit.sim.watchdog import Pulse
from zkkit.steps import Children, Delete, Exists, Get, Now, Wait


def root_of(script):
    return Root(script, Pulse())


def test_a_known_history_runs_no_code():
    """The second time the same results lead to the same moment, without running the script."""

    def script():
        seen = yield Exists("/a")
        yield Exists("/b" if seen else "/c")

    root = root_of(script)
    first = root.start.send(None).send(None)
    runs = root.runs
    assert root.start.send(None).send(None) is first
    assert root.runs == runs and first.step == Exists("/c")


def test_equal_variables_merge():
    """What was read and forgotten makes no difference."""

    def script():
        yield Children("/a")
        yield Children("/b")

    start = root_of(script).start.send(None)
    assert start.send(("x",)) is start.send(("y",))


def test_other_variables_do_not_merge():
    """What was read and kept does."""

    def script():
        names = yield Children("/a")
        yield Children("/b")
        yield Children("/" + names[0])

    start = root_of(script).start.send(None)
    x, y = start.send(("x",)), start.send(("y",))
    assert x is not y
    assert (x.send(()).step, y.send(()).step) == (Children("/x"), Children("/y"))


def test_the_place_in_a_loop_counts():
    """Two turns of a loop over equal things look alike, except for the iterator on the stack."""

    def script():
        for name in ("a", "a"):
            yield Exists("/" + name)
        yield Exists("/end")

    first = root_of(script).start.send(None)
    second = first.send(None)
    assert second is not first
    assert second.send(None).step == Exists("/end")


def test_the_exception_being_handled_counts():
    """Two errors lead to the same place with equal variables; what is raised afterwards differs."""

    def script():
        try:
            yield Get("/a")
        except BaseException:
            yield Delete("/mine")
            raise

    start = root_of(script).start.send(None)
    gone, cancelled = start.throw(NoNode("/a")), start.throw(Cancelled())
    assert gone is not cancelled
    assert isinstance(gone.send(None).error, NoNode)
    assert isinstance(cancelled.send(None).error, Cancelled)


def test_two_names_of_one_list_count():
    """One list under two names is not the same as two equal lists."""

    def script():
        shared = yield Now()
        one: list[int] = []
        two = one if shared else []
        del shared
        yield Children("/a")
        one.append(1)
        yield Exists("/" + str(len(two)))

    start = root_of(script).start.send(None)
    assert start.send(1.0).send(()).step == Exists("/1")
    assert start.send(0.0).send(()).step == Exists("/0")


def alone(script, **options):
    """Explore one actor."""
    world = World("/l")
    world.actor("A", world.connect(), script)
    return explore(world, properties=(), **options)


def test_a_clock_is_noticed():
    """A script that reads a clock does something else when it is run again: file and line."""

    def reads_a_clock():
        yield Exists(f"/l/{time.monotonic_ns()}")
        yield Exists("/l")

    with pytest.raises(Impure, match=r"reads_a_clock \(.*test_scripts.py:\d+\)"):
        alone(reads_a_clock, faults=NO_FAULTS)


def test_a_shared_object_is_noticed():
    """A script that counts its own runs is no function of its results."""
    runs = itertools.count()

    def counts_its_runs():
        yield Exists("/l")
        yield Exists(f"/l/{next(runs)}")
        yield Exists("/l")

    with pytest.raises(Impure, match="counts_its_runs"):
        alone(counts_its_runs)


def test_no_step_is_noticed():
    """A script that yields something else is told where."""

    def yields_a_number():
        yield Exists("/l")
        yield 42

    with pytest.raises(NotAStep, match=r"42.*yields_a_number \(.*test_scripts.py:\d+\)"):
        alone(yields_a_number)


def test_an_endless_computation_is_ended(monkeypatch):
    """A script that never yields again is interrupted, and the line named."""
    monkeypatch.setattr(zkkit.sim.watchdog, "PATIENCE", 0.1)

    def computes_for_ever():
        yield Exists("/l")
        while True:
            pass

    with pytest.raises(Endless, match=r"computes_for_ever \(.*test_scripts.py:\d+\)"):
        alone(computes_for_ever)


def test_an_endless_chain_of_small_steps_is_ended():
    """Steps that take no time, again and again: the script would never wait."""

    def asks_the_time():
        while True:
            yield Now()

    with pytest.raises(Endless, match=r"asks_the_time \(.*test_scripts.py:\d+\)"):
        alone(asks_the_time)


def test_a_swallowed_cancel_is_noticed():
    """A script that ends as if it had not been cancelled is named; one that re-raises is not."""

    def swallows_its_cancel():
        try:
            yield Exists("/l")
        except Cancelled:
            return

    def lets_it_pass():
        try:
            yield Exists("/l")
        finally:
            yield Children("/l")

    with pytest.raises(SwallowedCancel, match="swallows_its_cancel"):
        alone(swallows_its_cancel)
    assert alone(lets_it_pass, faults=one("cancel")).holds


def test_a_bug_in_a_script_is_raised():
    """A bug in a script is raised as it is, not taken for a verdict."""

    def fails():
        yield Exists("/l")
        raise ZeroDivisionError("a bug")

    with pytest.raises(ZeroDivisionError, match="a bug"):
        alone(fails)


def test_a_wait_for_nothing_is_told():
    """The default properties tell of a script that waits for ever."""

    def waits():
        yield Wait()

    world = World()
    world.actor("A", world.connect(), waits)
    verdict = explore(world, faults=NO_FAULTS)
    assert verdict.holds is False
    assert verdict.story.wrong == "no lost wakeup: A waits for ever"


@pytest.mark.parametrize("twin", TWINS, ids=[twin.name for twin in TWINS])
def test_merging_changes_no_verdict(twin, monkeypatch):
    """Where every history stands for itself the shortest stories have the same length and end."""

    def judge(world):
        verdict = explore(world, faults=twin.faults, properties=twin.properties(), states=20_000)
        story = verdict.story
        return verdict.holds, story and (story.wrong, len(story.events))

    merged = judge(twin.broken())

    def refuse(generator, seen):
        raise NotComparable(generator)

    monkeypatch.setattr("zkkit.sim.scripts.generator_value", refuse)
    assert judge(twin.broken()) == merged
