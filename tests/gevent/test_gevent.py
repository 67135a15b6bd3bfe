"""The tests of recipes on gevent, in a process that is patched from its first line."""

from __future__ import annotations

import re
from typing import Any

import pytest


@pytest.mark.timeout(480)
@pytest.mark.parametrize(
    ("suite", "at_least"),
    [("not slow", 200), pytest.param("slow", 1, marks=pytest.mark.slow)],
    indirect=["suite"],
    ids=["everyday", "slow"],
)
def test_the_recipes_pass_on_gevent(suite: Any, at_least: int) -> None:
    """Every test of a recipe that is not for another front passes on greenlets."""
    code = suite.wait()
    print(suite.said[-12000:])
    assert code == 0
    passed = re.search(r"(\d+) passed", suite.said)
    assert passed and int(passed[1]) >= at_least
