"""A start that reads before it returns, closed by somebody else meanwhile: every interleaving."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.caches.lives import BUILT
from zkkit import NodeCache
from zkkit.errors import NotStarted, SessionLost
from zkkit.sim import NO_FAULTS, World, explore, one
from zkkit.sim.coverage.cast import LOST
from zkkit.sim.properties import EndsWell, NoLostWakeup
from zkkit.steps import Recall, Script, Wait


def world_of(make: Callable[[Any, str], Any]) -> World:
    """One who starts it and closes it, and one who closes it at any time."""
    world = World("/l")
    session = world.connect()
    recipe = make(session, "/l")

    def starts() -> Script[None]:
        try:
            yield from recipe.start.of()
        except (NotStarted, SessionLost):
            pass
        finally:
            yield from recipe.close.of()

    world.actor("A", session, starts)
    world.actor("B", session, lambda: recipe.close.of())
    return world


PROPERTIES = [NoLostWakeup(), EndsWell(*LOST)]


@pytest.mark.parametrize("fault", ["", "reply lost", "request lost", "expire", "cancel"])
@pytest.mark.parametrize("name", BUILT)
def test_explored(name, fault):
    """Whoever starts it is never left waiting, and both end."""
    faults = one(fault) if fault else NO_FAULTS
    verdict = explore(world_of(BUILT[name]), PROPERTIES, faults=faults)
    assert verdict.holds, str(verdict)


class WaitsOn(NodeCache):
    """Does not heed that it is closed while it is starting."""

    def __init__(self, session: Any, path: str) -> None:
        super().__init__(session, path, build_initial=True)

    def _until_prepared(self) -> Script[None]:
        while (yield from Recall(self)).starting:
            yield from Wait()


def test_a_broken_twin_is_caught():
    assert explore(world_of(WaitsOn), PROPERTIES, faults=NO_FAULTS).holds is False
