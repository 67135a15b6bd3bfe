"""Each broken twin is caught by the fault its description names; the right one passes the same."""

from __future__ import annotations

import pytest

from zkkit.sim import explore
from zkkit.sim.gallery import TWINS

NAMES = [twin.name for twin in TWINS]


@pytest.mark.parametrize("twin", TWINS, ids=NAMES)
def test_the_mistake_is_caught(twin):
    """With a story of at most fifteen requests and faults, and with exactly the named faults."""
    verdict = explore(twin.broken(), faults=twin.faults, properties=twin.properties())
    assert verdict.holds is False
    assert verdict.story.length <= 15
    named = twin.faults.kinds if twin.faults.at_most else ()
    assert set(verdict.story.faults) == set(named)


@pytest.mark.parametrize("twin", TWINS, ids=NAMES)
def test_the_right_one_passes(twin):
    """The same world, faults and properties without the mistake."""
    verdict = explore(twin.right(), faults=twin.faults, properties=twin.properties())
    assert verdict.holds, verdict
