"""The law of every design in both populations, on real servers, by two witnesses; and that what
breaks it is found out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from zkkit.bench.designs import (
    CHILDREN_WATCH,
    ELECTION_HERD,
    ELECTION_LATCH,
    EXCLUSIVE,
    HERD,
    RW,
    RW_FIRST,
    RW_HERD,
    SEQUENTIAL,
    Design,
)
from zkkit.bench.gate.gate_run import GateRun
from zkkit.bench.gate.plan import GatePlan, MixedDesigns
from zkkit.bench.gate.run import GateOutcome, compare

FEW, MANY = (2, 5), (10, 30)
KINDS = {"exclusive": tuple(EXCLUSIVE.values()), "readers and writers": (RW_HERD, RW_FIRST, RW)}


@pytest.fixture(scope="module", params=["own", pytest.param("shared", marks=pytest.mark.slow)])
def population(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module", params=[FEW, pytest.param(MANY, marks=pytest.mark.slow)], ids=str)
def numbers(request: pytest.FixtureRequest) -> tuple[int, ...]:
    """How many contend. What a law says of five it says of thirty; that takes longer, not more."""
    counts: tuple[int, ...] = request.param
    return counts


@pytest.fixture(scope="module", params=KINDS)
def outcome(
    request: pytest.FixtureRequest, population: str, numbers: tuple[int, ...], zk_hosts: str
) -> GateOutcome:
    plan = GatePlan(KINDS[request.param], numbers, 1, 7, hold=0.005, population=population)
    return compare(plan, zk_hosts, warm_up=0)


def of(outcome: GateOutcome, *designs: Design) -> list[GateRun]:
    return [run for run in outcome.runs if run.design in {design.name for design in designs}]


def test_the_law_holds(outcome: GateOutcome) -> None:
    """All runs are made, both witnesses count the same, and no count breaks its law."""
    assert outcome.judgement.verdict == "holds", outcome.judgement.why
    assert len(outcome.runs) == 3 * len(outcome.plan.contenders)
    assert all(run.fires == run.server_fires for run in outcome.runs)


def test_queues_wake_each_actor_once(outcome: GateOutcome) -> None:
    """In the sequential design and with readers behind the last writer each contender is woken
    once, for something. It sends five requests; in the sequential line four if the one before it
    was of another session, as the gate always is. Threads on one lock object are no herd."""
    for run in of(outcome, SEQUENTIAL, RW):
        number = run.contenders
        assert (run.wakeups, run.useful_wakeups, run.creates) == (number,) * 3
        shared = outcome.plan.population == "shared"
        known = 0 if run.design == "rw" else 1 if shared else number
        assert run.requests == 5 * number - known
        together = run.design == "rw" and shared
        # The readers of one session wait for the same node: one fire for all of them.
        assert run.fires == (number // 2 + 1 if together else number)


def test_herds_show(outcome: GateOutcome) -> None:
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


def test_waking_all_readers_is_useful(outcome: GateOutcome) -> None:
    """Everybody's last wakeup is useful, also that of readers who are all woken by one release."""
    assert all(run.useful_wakeups == run.contenders for run in outcome.runs)


def test_what_arrivals_cost(outcome: GateOutcome) -> None:
    """Newcomers wake those who watch the whole line, and nobody in the other designs."""
    for run in of(outcome, SEQUENTIAL, HERD, RW, RW_FIRST):
        assert run.queueing_fires == 0
    for run in of(outcome, CHILDREN_WATCH, RW_HERD):
        assert run.queueing_fires >= run.contenders - 1


def test_lines_are_fair(outcome: GateOutcome) -> None:
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
    plan = GatePlan((fake,), (6,), 1, 1, hold=0.02, population=population)
    outcome = compare(plan, zk_hosts, warm_up=0)
    assert outcome.judgement.verdict == "broken"
    assert says in outcome.judgement.why


@pytest.mark.parametrize("herd", [RW_HERD, RW_FIRST], ids=lambda design: design.name)
def test_a_herd_that_is_none_is_found_out(zk_hosts: str, herd: Design) -> None:
    """Readers behind the last writer, sold as a herd, keep its bound and are found out."""
    fake = replace(herd, lock=RW.lock)
    outcome = compare(GatePlan((fake, RW), (5,), 1, 1), zk_hosts, warm_up=0)
    assert outcome.judgement.verdict == "broken"
    assert "no more than the 5 and 25 of the rw design" in outcome.judgement.why


# --- elections: a line of contenders that lead and leave ------------------------------------------


@pytest.fixture(scope="module", params=[FEW, pytest.param((20,), marks=pytest.mark.slow)], ids=str)
def election(request: pytest.FixtureRequest, zk_hosts: str) -> GateOutcome:
    plan = GatePlan((ELECTION_HERD, ELECTION_LATCH), request.param, 1, 7, hold=0.01)
    return compare(plan, zk_hosts, warm_up=0)


def test_the_law_of_elections_holds(election: GateOutcome) -> None:
    """Both witnesses count the same; a leader that leaves wakes one of a latch, all of a herd."""
    assert election.judgement.verdict == "holds", election.judgement.why
    assert all(run.fires == run.server_fires for run in election.runs)
    for run in of(election, ELECTION_LATCH):
        number = run.contenders
        assert (run.fires, run.wakeups, run.creates) == (number,) * 3
        assert run.requests == 5 * run.contenders and run.overtakings == 0
    for run in of(election, ELECTION_HERD):
        assert run.wakeups > run.contenders
        assert run.useful_wakeups == run.contenders
        assert len(run.handoffs_ms) == run.contenders


@pytest.mark.parametrize(
    ("honest", "twin", "says"),
    [
        (ELECTION_LATCH, ELECTION_HERD, "fires, where exactly 6"),
        (ELECTION_HERD, ELECTION_LATCH, "no more than the 6 and 30 of the election-latch design"),
    ],
    ids=["a herd as a latch", "a latch as a herd"],
)
def test_an_election_that_is_another_is_found_out(
    zk_hosts: str, honest: Design, twin: Design, says: str
) -> None:
    """A herd breaks the law of the latch, and a latch is no herd."""
    fake = replace(honest, lock=twin.lock)
    designs = (fake,) if honest is ELECTION_LATCH else (fake, ELECTION_LATCH)
    outcome = compare(GatePlan(designs, (6,), 1, 1, hold=0.01), zk_hosts, warm_up=0)
    assert outcome.judgement.verdict == "broken"
    assert says in outcome.judgement.why


def test_who_wants_to_lead_is_not_compared_with_who_wants_a_lock() -> None:
    """Nor do candidates share one object."""
    with pytest.raises(MixedDesigns, match="want to lead"):
        GatePlan((ELECTION_LATCH, SEQUENTIAL), (2,), 1, 1)
    with pytest.raises(MixedDesigns, match="stands for itself"):
        GatePlan((ELECTION_LATCH,), (2,), 1, 1, population="shared")
