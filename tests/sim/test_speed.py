"""The explorer's speed, and the commands that tell it."""

from __future__ import annotations

import pytest

from zkkit.sim import speed
from zkkit.sim.speed import TRIALS, measure, tell_speed

LOOSELY = 4
"""So many times the limit may a test take: what else this machine does is not its business."""


def test_three_contenders_in_time():
    """Three contenders without faults take no more than the limit."""
    verdict, spent = measure(TRIALS[0].actors, TRIALS[0].faults)
    assert verdict.holds and spent <= LOOSELY * TRIALS[0].limit


@pytest.mark.slow
def test_the_trials():
    """The command prints a line for each trial and says whether all keep to their limits."""
    lines: list[str] = []
    code = tell_speed(lines.append)
    trials, growth = lines[1 : 1 + len(TRIALS)], lines[-3:]
    assert all("holds" in line for line in trials)
    spent = [float(line.split()[-4]) for line in trials]
    limits = [trial.limit for trial in TRIALS]
    assert all(s <= LOOSELY * limit for s, limit in zip(spent, limits, strict=True))
    kept = all(s <= limit for s, limit in zip(spent, limits, strict=True))
    assert code == (0 if kept else 1)
    assert [line.split()[0] for line in growth] == ["2", "3", "4"]


def test_a_limit_that_is_not_kept(monkeypatch):
    """The command says so by its exit code."""
    monkeypatch.setattr(speed, "TRIALS", (TRIALS[0]._replace(limit=0.0),))
    monkeypatch.setattr(speed, "ENOUGH", 10)
    assert tell_speed(lambda line: None) == 1
