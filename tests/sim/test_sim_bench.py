"""The explorer's speed, and the commands that tell it."""

from __future__ import annotations

import pytest

from zkkit.sim.bench import TRIALS, main, measure


def test_three_contenders_in_time():
    """Three contenders without faults take no more than the limit."""
    verdict, spent = measure(TRIALS[0].actors, TRIALS[0].faults)
    assert verdict.holds and spent <= TRIALS[0].limit


@pytest.mark.slow
def test_the_trials():
    """The command prints a line for each trial and says whether all keep to their limits."""
    lines: list[str] = []
    assert main(lines.append) == 0
    trials, growth = lines[1 : 1 + len(TRIALS)], lines[-3:]
    assert all("holds" in line for line in trials)
    assert [line.split()[0] for line in growth] == ["2", "3", "4"]
