"""The plan, the verdict and the figures: pure, so tested without servers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from zkkit.bench.designs import (
    CHILDREN_WATCH,
    DESIGNS,
    EXCLUSIVE,
    HERD,
    RW,
    RW_FIRST,
    RW_HERD,
    SEQUENTIAL,
    UnknownDesign,
    named,
)
from zkkit.bench.gate.figures import Bound, figures
from zkkit.bench.gate.gate_run import GateRun
from zkkit.bench.gate.judge import judge
from zkkit.bench.gate.plan import GatePlan, MixedDesigns
from zkkit.bench.kit.data import plain
from zkkit.bench.kit.judgement import Judgement, VerdictWord
from zkkit.bench.kit.machine import Cpu, cpu_between, cpu_used, this_machine
from zkkit.bench.kit.statistics import Spread, percentile
from zkkit.bench.kit.witness import COUNTERS, fires_between

BOTH = (HERD, SEQUENTIAL)
PLAN = GatePlan(BOTH, (5,), 3, 1)


def run_of(design: str, contenders: int, fires: int, creates: int, **more: object) -> GateRun:
    base = GateRun(
        design=design,
        contenders=contenders,
        repeat=0,
        fires=fires,
        creates=creates,
        wakeups=fires,
        useful_wakeups=contenders,
        queueing_fires=0,
        requests=DESIGNS[design].law.requests.of(contenders),
        overtakings=0,
        handoffs_ms=(1.0, 2.0, 9.0),
        server_fires=fires,
        seconds=1.0,
        cpu=Cpu(0.5, {}),
    )
    return replace(base, **more)


GOOD = [run_of("herd", 5, 15, 20), run_of("sequential", 5, 5, 5)]


def test_the_law_of_a_hundred() -> None:
    """With 100 contenders the laws say 100 against 5,050."""
    assert SEQUENTIAL.law.fires.of(100) == SEQUENTIAL.law.creates.of(100) == 100
    assert HERD.law.fires.of(100) == 5_050
    assert HERD.law.creates.of(100) == 5_150
    assert CHILDREN_WATCH.law.fires.of(100) == 5_050
    assert CHILDREN_WATCH.law.queueing_fires.of(100) == 4_950


@pytest.mark.parametrize("contenders", [1, 2, 5, 10, 30])
def test_the_laws_of_readers_and_writers_are_sums_over_releases(contenders: int) -> None:
    """The formulas say the same as counting release by release who can be woken by it."""
    writers, readers = contenders // 2, contenders - contenders // 2
    releases = range(writers + 1)  # the gate's, then the writers'
    waiting = [contenders - release for release in releases]
    assert RW.law.fires.of(contenders) == writers + readers == contenders
    assert RW_FIRST.law.fires.of(contenders) == writers + sum(readers for _ in releases)
    assert RW_HERD.law.wakeups.of(contenders) == sum(waiting)
    assert RW_HERD.law.fires.of(contenders) == sum(waiting) + readers - 1
    looks = 3 * contenders + sum(range(contenders)) + sum(waiting)
    assert RW_HERD.law.requests.of(contenders) == looks


def test_one_session_fires_once_a_release() -> None:
    """On one lock object a release is one fire at most, but the wakeups are the same."""
    for design in DESIGNS.values():
        if design.elects:
            continue  # a candidate stands for itself
        own, shared = design.law_of("own"), design.law_of("shared")
        assert shared.fires.of(30) <= 30
        for what in ("wakeups", "creates"):
            assert getattr(own, what) == getattr(shared, what)
        more = 29 if design is SEQUENTIAL else 0  # all but the first list again
        assert shared.requests.of(30) == own.requests.of(30) + more
    assert RW.law_of("shared").fires.of(30) == 16


def test_creates_may_be_exact_where_fires_are_not() -> None:
    """Each count of a law has a relation of its own, and the law is told with it."""
    law = CHILDREN_WATCH.law
    assert law.told() == (
        "at most N(N+1)/2 fires, exactly N creates, at most N(N-1)/2 fires while queueing"
    )
    assert law.fires.allows(14, 5) and not law.fires.allows(16, 5)
    assert law.creates.allows(5, 5) and not law.creates.allows(4, 5)
    assert "at most N fires" in HERD.law_of("shared").told()
    assert "at most N(N+1)/2 wakeups" in HERD.law_of("shared").told()


def test_an_unknown_design_names_the_known() -> None:
    """A misspelt design is answered with the names there are."""
    with pytest.raises(UnknownDesign, match="herd, children-watch, sequential, rw-herd"):
        named("hurd")
    with pytest.raises(UnknownDesign, match=r"'rw'\s.* herd, children-watch, sequential$"):
        named("rw", EXCLUSIVE)
    assert [named(name) for name in DESIGNS] == list(DESIGNS.values())


def test_what_cannot_be_compared_is_refused() -> None:
    """Exclusive designs beside those with readers would count two different things as one."""
    with pytest.raises(
        MixedDesigns, match="herd,children-watch,sequential, or rw-herd,rw-first,rw"
    ):
        GatePlan((SEQUENTIAL, RW), (2,), 1, 1)
    with pytest.raises(ValueError, match="no population 'crowd': use one of own, shared"):
        GatePlan(BOTH, (2,), 1, 1, population="crowd")


def test_forwards_and_backwards() -> None:
    """The plan is run forwards, then backwards: ABBA in designs and in numbers of contenders."""
    plan = GatePlan(BOTH, (2, 4), 2, 1)
    order = [(p.contenders, p.design.name, p.repeat) for p in plan.runs()]
    assert order[:4] == [(2, "herd", 0), (2, "sequential", 0), (4, "herd", 0), (4, "sequential", 0)]
    assert [run[:2] for run in order[4:]] == [run[:2] for run in reversed(order[:4])]
    assert len(plan) == len(order)


def test_the_seed_decides_the_order_of_arrival() -> None:
    """One seed gives one order, the same for both designs; another seed gives another."""
    plan, other = GatePlan(BOTH, (30,), 1, 1), GatePlan(BOTH, (30,), 1, 2)
    first, second = [plan.order(planned) for planned in plan.runs()]
    assert first == second
    assert sorted(first) == list(range(30))
    assert first != other.order(next(other.runs()))


@pytest.mark.parametrize("bad", [((), (2,), 1), (BOTH, (), 1), (BOTH, (0,), 1), (BOTH, (2,), 0)])
def test_an_empty_plan_is_refused(bad: tuple[tuple[()], tuple[int, ...], int]) -> None:
    """A plan that would run nothing raises at once."""
    with pytest.raises(ValueError, match="at least one"):
        GatePlan(*bad, 1)


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ([], "holds"),
        ([run_of("sequential", 5, 6, 5)], "broken"),
        ([run_of("sequential", 5, 4, 5)], "broken"),
        ([run_of("sequential", 5, 5, 6)], "broken"),
        ([run_of("herd", 5, 16, 20)], "broken"),
        ([run_of("herd", 5, 15, 21)], "broken"),
        ([run_of("herd", 5, 5, 10, requests=20)], "broken"),
        ([run_of("herd", 5, 5, 10, requests=21)], "holds"),
        ([run_of("herd", 5, 15, 20, requests=41)], "broken"),
        ([run_of("herd", 5, 15, 20, queueing_fires=1)], "broken"),
        ([run_of("sequential", 5, 5, 5, wakeups=6)], "broken"),
        ([run_of("herd", 4, 4, 8)], "holds"),
        ([run_of("sequential", 5, 6, 5, void="disagree")], "unknown"),
        ([run_of("sequential", 5, 5, 5, void="x"), run_of("herd", 5, 16, 20)], "broken"),
    ],
)
def test_verdicts(change: list[GateRun], verdict: str) -> None:
    """A breach breaks, a void run leaves it open, luck with few contenders is allowed."""
    assert judge(BOTH, GOOD + change).verdict == verdict


def test_a_herd_in_one_session_is_judged_by_its_own_law() -> None:
    """On one lock object 5 contenders of a herd may have 15 wakeups, but not 6 fires."""
    fine = run_of("herd", 5, 5, 20, wakeups=15)
    verdicts = [
        judge(BOTH, [run], population="shared").verdict for run in (fine, replace(fine, fires=6))
    ]
    assert verdicts == ["holds", "broken"]


def test_nothing_proves_nothing() -> None:
    """Without runs, or with fewer than planned, the verdict is unknown and never a pass."""
    assert judge(BOTH, []).verdict == "unknown"
    stopped = judge(BOTH, GOOD, stopped="stopped after 2 of 4 runs: the servers are gone")
    assert stopped.verdict == "unknown"
    assert "the servers are gone" in stopped.why


def test_one_reason_is_told_once() -> None:
    """Forty runs that are void for one reason give one sentence."""
    why = judge(BOTH, [run_of("herd", 5, 15, 20, void="no mntr")] * 40).why
    assert why.count("no mntr") == 1
    assert "39 more" in why


def test_exit_codes() -> None:
    """0, 1, 2: holds, broken, unknown."""
    words: tuple[VerdictWord, ...] = ("holds", "broken", "unknown")
    assert [Judgement(word, "").exit_code for word in words] == [0, 1, 2]


@pytest.mark.parametrize(
    ("word", "value"), [("holds", True), ("broken", False), ("unknown", "unknown")]
)
def test_a_verdict_is_encoded_in_one_way(word: VerdictWord, value: object) -> None:
    """true, false, "unknown" in results.json; and back."""
    judgement = Judgement(word, "because")
    assert judgement.as_data() == {"verdict": value, "why": "because"}
    assert Judgement.from_data(judgement.as_data()) == judgement


def test_figures_are_medians_with_an_interval() -> None:
    """Repeats become a median with the smallest and greatest value, beside the law."""
    runs = [run_of("herd", 5, fires, 20) for fires in (15, 9, 12)]
    (figure,) = figures(PLAN, runs)
    assert figure.fires == Spread(12, low=9, high=15)
    assert figure.law["fires"] == Bound("at most", 15)
    assert figure.law["queueing_fires"] == Bound("exactly", 0)
    assert figure.requests_each.median == 8
    assert figure.handoff_ms is not None and figure.handoff_ms.median == 2.0


def test_a_busy_client_is_marked() -> None:
    """From 90 % of one core on a run is marked as saturated."""
    busy = run_of("herd", 5, 15, 20, cpu=Cpu(0.95, {}))
    assert busy.saturated and not GOOD[0].saturated
    assert figures(PLAN, [busy, GOOD[0]])[0].saturated == 1


def test_percentiles() -> None:
    """Of no values none, of one that one, else in proportion between two."""
    assert percentile((), 50) is None
    assert percentile((3.0,), 90) == 3.0
    assert percentile((1.0, 2.0, 3.0), 50) == 2.0
    assert percentile(tuple(map(float, range(11))), 90) == 9.0


def test_servers_are_summed() -> None:
    """Fires between two readings are summed over members and kinds."""
    before = {"a": dict.fromkeys(COUNTERS, "1"), "b": dict.fromkeys(COUNTERS, "5.0")}
    after = {"a": dict.fromkeys(COUNTERS, "2.0"), "b": dict.fromkeys(COUNTERS, "5")}
    assert fires_between(before, after) == len(COUNTERS)


def test_a_process_that_is_gone_uses_no_cpu() -> None:
    """A server that cannot be asked is left out instead of guessed."""
    before = cpu_used({"gone": 2**22 + 1})
    assert before.servers == {}
    assert cpu_between(before, cpu_used({})).client >= 0


def test_the_machine_is_described() -> None:
    """Python, CPU, system and versions are all there, as plain data."""
    facts = plain(this_machine())
    assert facts["python"].startswith(("CPython", "PyPy"))
    assert facts["cpu_count"] >= 1
    assert all(facts[name] for name in ("os", "cpu_model", "zkkit", "kazoo"))
