"""`zkkit.recipe`, the door for those who write recipes."""

from __future__ import annotations

import inspect
import textwrap
from typing import Any

from zkkit import recipe, steps
from zkkit.recipes import shared
from zkkit.sim import World, explore
from zkkit.sim.faults import one
from zkkit.sim.properties import EndsWell, NoLostWakeup
from zkkit.steps import Delete, Request, Script, Step


def test_every_step_is_there() -> None:
    """All that a script can yield can be had from one place."""
    every = {
        name
        for name, each in vars(steps).items()
        if inspect.isclass(each) and issubclass(each, Step) and each not in (Step, Request)
    }
    assert every <= set(recipe.__all__)


def test_every_name_is_there_once() -> None:
    assert len(set(recipe.__all__)) == len(recipe.__all__)
    assert all(hasattr(recipe, name) for name in recipe.__all__)


def test_every_shared_script_that_is_listed_can_be_had() -> None:
    """What the list at the head of the shared scripts names, the door has."""
    listed = [line.split("(")[0] for line in (shared.__doc__ or "").splitlines() if "    " in line]
    names = {name.strip() for line in listed for name in line.split("   ")[1:2]}
    assert "until_answered" in names
    assert {name for name in names if name.isidentifier()} <= set(recipe.__all__)


def test_the_example_runs() -> None:
    """The recipe of the docstring, as it stands there: nobody waits for ever at an open gate."""
    lines = (recipe.__doc__ or "").splitlines()
    code = [line for line in lines if line.startswith("    ") or not line]
    names: dict[str, Any] = {}
    exec(textwrap.dedent("\n".join(code)), names)
    world = World("/gate")
    waiting = world.connect()
    gate = names["Gate"](waiting, "/gate")

    def wait() -> Script[None]:
        assert (yield from gate.wait.of())

    def open_it() -> Script[None]:
        yield from recipe.until_answered(Delete("/gate"))

    world.actor("A", waiting, wait)
    world.actor("B", world.connect(), open_it)
    verdict = explore(world, faults=one("lag"), properties=[NoLostWakeup(), EndsWell()])
    assert verdict.holds, str(verdict)
