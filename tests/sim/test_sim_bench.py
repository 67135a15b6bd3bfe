"""The explorer's speed, and the commands that tell it."""

from __future__ import annotations

from pathlib import Path

import pytest

from zkkit.sim.bench import COLUMNS, FAULTS, TRIALS, main, measure, table

DOCUMENT = Path(__file__).parents[2] / "docs" / "simulator.md"


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


def documented(columns):
    """The table in the document, these columns of it."""
    found = [line for line in DOCUMENT.read_text().splitlines() if line.startswith("|")]
    start = next(n for n, line in enumerate(found) if line.startswith("| fault | Reentrant"))
    rows = [line.strip("|").split("|") for line in found[start : start + 2 + len(FAULTS)]]
    wanted = [0, *[1 + COLUMNS.index(column) for column in columns]]
    return ["|" + "|".join(row[n] for n in wanted) + "|" for row in rows]


def test_the_document_says_what_is_covered():
    """Two contenders: the states are those in docs/simulator.md, and all locks hold.
    (Otherwise: python -m zkkit.sim.bench --table, and put it there.)"""
    columns = [column for column in COLUMNS if column.actors == 2]
    assert list(table(columns)) == documented(columns)


@pytest.mark.slow
def test_the_document_says_all_that_is_covered():
    """The same for three contenders."""
    columns = [column for column in COLUMNS if column.actors == 3]
    assert list(table(columns)) == documented(columns)
