"""Scripts that do odd things: errors that cannot be shown, cancels that are swallowed, code behind
a clock or chance."""

from __future__ import annotations

import gc
import sys

import pytest

from zkkit.recipes.shared import pause
from zkkit.sim import NO_FAULTS, Work, World, explore, one
from zkkit.sim.properties import EndsWell, History, NoLostWakeup
from zkkit.steps import Create, Exists, Get, Now, Random, Within


def world_of(*scripts):
    world = World("/l")
    for name, script in zip("ABC", scripts, strict=False):
        world.actor(name, world.connect(f"{name}'s session"), script)
    return world


class Odd(Exception):
    def __str__(self):
        raise RuntimeError("no words")

    __repr__ = __str__


def test_an_error_that_cannot_be_shown_is_a_story():
    """With its name and its line, not a traceback through the engine."""

    def script():
        yield from Create("/l/x")
        raise Odd

    verdict = explore(world_of(script), [EndsWell()], faults=NO_FAULTS)
    found = {story.breaks: story.headline for story in verdict.stories}
    assert len(found) == 1  # one error, one story
    for headline in found.values():
        assert "Odd" in headline and "it cannot be shown: RuntimeError" in headline
        assert "test_odd_scripts.py:" in headline
    assert "A ends with Odd" in str(verdict.story)


def test_it_is_the_same_error_in_every_state():
    """One that cannot be shown is shown in the same way each time: no state is there twice."""

    def states(error):
        def fails():
            yield from Exists("/l")
            raise error

        def never(facts, view):
            return None

        asked = [History("all", never, "ended")]
        return explore(world_of(fails, fails), asked, faults=one("cancel")).states

    assert states(Odd) == states(ValueError)


# --- letting go -----------------------------------------------------------------------------


def swallows_everything():
    while True:
        try:
            yield from Exists("/l")
            yield from Within(1.0, swallows_within())
            yield from Get("/l")
            return
        except:  # noqa: E722
            continue


def swallows_within():
    while True:
        try:
            yield from Work()
            return
        except:  # noqa: E722
            continue


def cleans_up():
    """Closed in the midst of this it would yield once more."""
    try:
        yield from Work()
    finally:
        yield from Exists("/l")


def stands_in_another():
    yield from Exists("/l")
    yield from cleans_up()


@pytest.fixture
def complaints(monkeypatch):
    heard = []
    monkeypatch.setattr(sys, "unraisablehook", heard.append)
    return heard


def test_python_does_not_complain_of_scripts_that_do_not_let_go(complaints):
    """One that catches whatever is thrown into it is let go without a sound."""
    hook = sys.unraisablehook
    assert explore(world_of(stands_in_another), [EndsWell()], faults=one("cancel")).holds
    gc.collect()
    assert complaints == []
    verdict = explore(
        world_of(swallows_everything, swallows_everything), [EndsWell()], faults=one()
    )
    assert verdict.holds is False and "SwallowedCancel" in verdict.story.wrong
    del verdict
    gc.collect()
    assert complaints == []
    assert sys.unraisablehook is hook


# --- clocks and chance ----------------------------------------------------------------------


def backs_off():
    if (yield from Random()) > 0.5:
        yield from Create("/never")
    yield from Exists("/l")


def times_out():
    began = yield from Now()
    yield from Exists("/l")
    if (yield from Now()) - began > 10:
        yield from Create("/never")


def neither():
    yield from Exists("/l")
    yield from pause(1.0)


@pytest.mark.parametrize(
    ("scripts", "steps"),
    [
        ((neither, neither), ()),
        ((backs_off, neither), ("Random",)),
        ((neither, times_out, backs_off), ("Now", "Random")),
    ],
)
def test_the_verdict_says_that_a_clock_stood_still(scripts, steps):
    """What scripts do with another number was not explored."""
    verdict = explore(world_of(*scripts), [NoLostWakeup()], faults=NO_FAULTS)
    assert verdict.holds and verdict.stood_still == steps
    said = f"gave 0 each time, and nothing else was tried: {', '.join(steps)}"
    assert (said in str(verdict)) is bool(steps)
