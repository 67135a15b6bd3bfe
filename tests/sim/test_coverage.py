"""Every recipe explored under every fault, and the document that lists them by family."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pytest

from zkkit.sim.coverage import CASTS, COVERED, FAULTS, widened

DOCUMENT = Path(__file__).parents[2] / "docs" / "simulator-models.md"

DAILY = {  # done in a moment, and one of each family
    "ReentrantLock: 2",
    "HerdLock: 2",
    "Lock, kazoo's layout: 2",
    "ReadWriteLock, reader and writer: 2",
    "LeaderLatch: 2",
    "HerdElection: 2",
    "Barrier, one opens it: 2",
    "AtomicLong: 2",
    "SharedCount, by version: 2",
    "DataWatch and a writer: 2",
    "PersistentWatcher and a writer: 2",
    "NodeCache, made anew: 2",
    "Cache, a child is made anew: 2",
}
FEW = [cast for cast in CASTS if str(cast) in DAILY]


def test_the_daily_ones_are_there():
    assert {str(cast) for cast in FEW} == DAILY


def check(cast) -> None:
    """All of it was explored and holds. With a fault there is all that there was without it."""
    without = cast.under("")
    assert without.holds, without
    for fault in FAULTS[1:]:
        verdict = cast.under(fault)
        assert verdict.holds, verdict
        assert verdict.states >= without.states, fault


@pytest.mark.parametrize("cast", FEW, ids=str)
def test_two_actors(cast):
    """Two actors, every interleaving, at most one fault of each kind."""
    check(cast)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("cast", [cast for cast in CASTS if cast not in FEW], ids=str)
def test_more(cast):
    """Three actors, and the recipes that take more steps."""
    check(cast)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("cast", [cast for cast in CASTS if cast.preemptions], ids=str)
def test_without_bounds(cast):
    """What is bounded otherwise with wider bounds: more states, and they hold. Here without a fault
    only: with every fault it takes half an hour (zkkit sim coverage --whole)."""
    (wider,) = widened([cast])
    verdict = wider.under("")
    assert verdict.holds, verdict
    assert verdict.states > cast.under("").states


def _actors(cast) -> str:
    return str(cast).removeprefix(f"{cast.name}: ")


def test_the_document_lists_them_all():
    """Family by family, with what is explored of each: no row too many, none missing."""
    rows = [
        f"| {family} | {name} | {'; '.join(_actors(cast) for cast in those)} | {bound} |"
        for family, casts in COVERED.items()
        for (name, bound), those in groupby(casts, key=lambda cast: (cast.name, cast.bound))
    ]
    document = DOCUMENT.read_text("utf-8").splitlines()
    first = document.index("| family | recipe | actors | explored |") + 2
    assert document[first : first + len(rows) + 1] == [*rows, ""]
