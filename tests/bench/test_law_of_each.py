"""The law of every design in both populations, on real servers, by two witnesses; and that what
breaks it is found out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from zkkit.bench.compare import Outcome, Plan, compare
from zkkit.bench.designs import (
    CHILDREN_WATCH,
    EXCLUSIVE,
    HERD,
    RW,
    RW_FIRST,
    RW_HERD,
    SEQUENTIAL,
    Design,
)
from zkkit.bench.run import Run
from zkkit.bench.verdict import Verdict

FEW, MANY = (2, 5, 10), (30,)
KINDS = {"exclusive": tuple(EXCLUSIVE.values()), "readers and writers": (RW_HERD, RW_FIRST, RW)}


@pytest.fixture(scope="module", params=["own", "shared"])
def population(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module", params=[FEW, pytest.param(MANY, marks=pytest.mark.slow)], ids=str)
def numbers(request: pytest.FixtureRequest) -> tuple[int, ...]:
    """How many contend. What a law says of ten it says of thirty; that takes longer, not more."""
    counts: tuple[int, ...] = request.param
    return counts


@pytest.fixture(scope="module", params=KINDS)
def outcome(
    request: pytest.FixtureRequest, population: str, numbers: tuple[int, ...], zk_hosts: str
) -> Outcome:
    plan = Plan(KINDS[request.param], numbers, 1, 7, hold=0.005, population=population)
    return compare(plan, zk_hosts, warm_up=1)


def of(outcome: Outcome, *designs: Design) -> list[Run]:
    return [run for run in outcome.runs if run.design in {design.name for design in designs}]


def test_the_law_holds(outcome: Outcome) -> None:
    """All runs are made, both witnesses count the same, and no count breaks its law."""
    assert outcome.judgement.verdict is Verdict.HOLDS, outcome.judgement.why
    assert len(outcome.runs) == 3 * len(outcome.plan.contenders)
    assert all(run.fires == run.server_fires for run in outcome.runs)


def test_queues_wake_each_actor_once(outcome: Outcome) -> None:
    """In the sequential design and with readers behind the last writer each contender is woken
    once, for something, and sends five requests; threads on one lock object are no herd."""
    for run in of(outcome, SEQUENTIAL, RW):
        number = run.contenders
        assert (run.wakeups, run.useful_wakeups, run.creates) == (number,) * 3
        assert run.requests_each == 5
        together = run.design == "rw" and outcome.plan.population == "shared"
        # The readers of one session wait for the same node: one fire for all of them.
        assert run.fires == (number // 2 + 1 if together else number)


def test_herds_show(outcome: Outcome) -> None:
    """From five contenders on every herd works more than a queue does; on one lock object it has
    no more fires, and where everybody watches the whole line it still has the wakeups."""
    for run in of(outcome, HERD, CHILDREN_WATCH, RW_FIRST, RW_HERD):
        if run.contenders >= 5:
            assert run.requests_each > 5
        if run.contenders >= 5 and run.design in ("children-watch", "rw-herd"):
            assert run.wakeups > run.contenders
        if outcome.plan.population == "own":
            assert run.fires >= run.wakeups
        else:
            assert run.fires <= run.contenders


def test_waking_all_readers_is_useful(outcome: Outcome) -> None:
    """Everybody's last wakeup is useful, also that of readers who are all woken by one release."""
    assert all(run.useful_wakeups == run.contenders for run in outcome.runs)


def test_what_arrivals_cost(outcome: Outcome) -> None:
    """Newcomers wake those who watch the whole line, and nobody in the other designs."""
    for run in of(outcome, SEQUENTIAL, HERD, RW, RW_FIRST):
        assert run.queueing_fires == 0
    for run in of(outcome, CHILDREN_WATCH, RW_HERD):
        assert run.queueing_fires >= run.contenders - 1


def test_lines_are_fair(outcome: Outcome) -> None:
    """Nobody overtakes in a line, readers among themselves apart; every handoff is timed."""
    for run in outcome.runs:
        if run.design != "herd":
            assert run.overtakings == 0
        assert len(run.handoffs_ms) == run.contenders
        assert min(run.handoffs_ms) > 0


@pytest.mark.parametrize(
    ("honest", "twin", "population", "says"),
    [
        (CHILDREN_WATCH, HERD, "own", "creates, where exactly 6"),
        (SEQUENTIAL, CHILDREN_WATCH, "own", "fires, where exactly 6"),
        (SEQUENTIAL, CHILDREN_WATCH, "shared", "wakeups, where exactly 6"),
        (HERD, CHILDREN_WATCH, "shared", "fires while queueing, where exactly 0"),
        (RW, RW_FIRST, "own", "requests, where exactly 30"),
        (RW, RW_FIRST, "shared", "requests, where exactly 30"),
        (RW_FIRST, RW_HERD, "own", "fires while queueing, where exactly 0"),
    ],
    ids=lambda value: value.name if isinstance(value, Design) else None,
)
def test_a_twin_is_found_out(
    zk_hosts: str, honest: Design, twin: Design, population: str, says: str
) -> None:
    """A design that is sold under the law of a better one breaks it."""
    fake = replace(honest, lock=twin.lock)
    plan = Plan((fake,), (6,), 1, 1, hold=0.02, population=population)
    outcome = compare(plan, zk_hosts, warm_up=0)
    assert outcome.judgement.verdict is Verdict.BROKEN
    assert says in outcome.judgement.why


@pytest.mark.parametrize("herd", [RW_HERD, RW_FIRST], ids=lambda design: design.name)
def test_a_herd_that_is_none_is_found_out(zk_hosts: str, herd: Design) -> None:
    """Readers behind the last writer, sold as a herd, keep its bound and are found out."""
    fake = replace(herd, lock=RW.lock)
    outcome = compare(Plan((fake, RW), (5,), 1, 1), zk_hosts, warm_up=0)
    assert outcome.judgement.verdict is Verdict.BROKEN
    assert "no more than the 5 and 25 of the rw design" in outcome.judgement.why
