"""The explorer's speed, and the command that tells it."""

from __future__ import annotations

import pytest

from zkkit.sim.bench import TRIALS, main, measure


def test_three_contenders_in_time():
    """Three contenders without faults take no more than the limit."""
    verdict, spent = measure(TRIALS[0])
    assert verdict.holds and spent <= TRIALS[0].limit


@pytest.mark.slow
def test_the_table():
    """The command prints a line for each trial and says whether all keep to their limits."""
    lines: list[str] = []
    assert main(lines.append) == 0
    assert len(lines) == 1 + len(TRIALS)
    assert all("holds" in line for line in lines[1:])
