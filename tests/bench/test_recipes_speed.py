"""How fast recipes are: the plan, the figures, the verdict, and small runs on real servers."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

import zkkit
from zkkit.bench.experiment import head_of
from zkkit.bench.kit.data import as_json
from zkkit.bench.kit.statistics import Interval
from zkkit.bench.peers.cells import CURATOR, KAZOO, ZKKIT, PeerTurn
from zkkit.bench.peers.comparison import times_as
from zkkit.bench.peers.curator_jars import CuratorMissing, find_curator
from zkkit.bench.peers.events import ToldEvent
from zkkit.bench.peers.libraries import Contended, JavaPeer, Peer, PythonPeer
from zkkit.bench.peers.rounds import Round, RoundsPlan
from zkkit.bench.recipes.curator_recipes import RACES, STAGES
from zkkit.bench.recipes.experiment import EXPERIMENT, MODULES
from zkkit.bench.recipes.figures import RecipeResults, figures
from zkkit.bench.recipes.judge import RecipeCell, RecipeSpeeds, judge
from zkkit.bench.recipes.plan import (
    BARRIER,
    CACHE_EVENT,
    CACHE_LOAD,
    CANDIDATES,
    FAILOVER,
    INCREMENTS,
    ROWS,
    RecipePlan,
    RecipeRow,
)
from zkkit.bench.recipes.run import RecipeBench
from zkkit.ensemble import FAST_START


def plan_of(*peers: str, rows: Sequence[RecipeRow] = tuple(ROWS.values())) -> RecipePlan:
    return RecipePlan(peers, tuple(rows), repeats=1, seconds=0.1, nodes=20, seed=1)


def cell(
    row: RecipeRow = INCREMENTS, peer: str = ZKKIT, value: float = 100.0, repeat: int = 0
) -> RecipeCell:
    turn = PeerTurn(row, peer, repeat)
    return RecipeCell(turn, value, seconds=2.0, client_cpu=1.0, samples=5)


class TestFigures:
    def test_above_one_is_faster_of_rates_and_of_times(self) -> None:
        """Twice the rate and half the time are the same."""
        speeds = RecipeSpeeds(plan_of(ZKKIT, KAZOO, rows=(INCREMENTS, FAILOVER)))
        speeds.cells = [
            cell(INCREMENTS, ZKKIT, 200), cell(INCREMENTS, KAZOO, 100),
            cell(FAILOVER, ZKKIT, 2), cell(FAILOVER, KAZOO, 4),
        ]  # fmt: skip
        for found in figures(speeds):
            assert found.ratios == {KAZOO: Interval(2.0, 2.0, 2.0, 0.0)}

    def test_ratios_are_made_repeat_by_repeat(self) -> None:
        """A machine that is twice as fast in the second repeat does not blur the ratio."""
        speeds = RecipeSpeeds(plan_of(ZKKIT, KAZOO, rows=(FAILOVER,)))
        speeds.cells = [
            cell(FAILOVER, peer, value, repeat)
            for repeat, values in enumerate([(2, 3), (1, 1.5)])
            for peer, value in zip((ZKKIT, KAZOO), values, strict=True)
        ]
        (found,) = figures(speeds)
        assert (found.ratios[KAZOO].low, found.ratios[KAZOO].high) == (1.5, 1.5)
        assert found.values[ZKKIT].median == 1.5

    def test_a_row_without_a_peer_is_left_out(self) -> None:
        speeds = RecipeSpeeds(plan_of(ZKKIT, KAZOO), cells=[cell(), replace(cell(), void="no")])
        assert figures(speeds) == ()

    def test_results_are_read_back_as_they_were(self) -> None:
        """From JSON they come back typed, and equal."""
        speeds = RecipeSpeeds(plan_of(ZKKIT, KAZOO), {ZKKIT: "1"}, [cell(), cell(peer=KAZOO)])
        written = EXPERIMENT.figures(
            speeds, head_of("x", judge(speeds), "command", datetime.now(UTC), None)
        )
        assert RecipeResults.from_data(json.loads(as_json(written))) == written

    @pytest.mark.parametrize("bad", [{"repeats": 0}, {"seconds": 0.0}, {"nodes": 0}, {"rows": ()}])
    def test_no_plan(self, bad: dict[str, object]) -> None:
        with pytest.raises(ValueError):
            replace(plan_of("a"), **bad)  # type: ignore[arg-type]


class TestVerdict:
    def test_all_is_well(self) -> None:
        speeds = RecipeSpeeds(plan_of(ZKKIT))
        speeds.cells = [cell()] * len(speeds.plan)
        assert judge(speeds).verdict == "holds"

    @pytest.mark.parametrize(
        ("bad", "verdict"),
        [({"broken": "two led at the same time"}, "broken"), ({"void": "no"}, "unknown")],
    )
    def test_one_bad_cell_is_enough(self, bad: dict[str, str], verdict: str) -> None:
        speeds = RecipeSpeeds(plan_of(ZKKIT))
        speeds.cells = [cell()] * (len(speeds.plan) - 1) + [replace(cell(), **bad)]  # type: ignore[arg-type]
        assert judge(speeds).verdict == verdict

    def test_too_few_cells_are_no_proof(self) -> None:
        assert judge(RecipeSpeeds(plan_of(ZKKIT), cells=[cell()])).verdict == "unknown"


# --- on real servers --------------------------------------------------------------------


def run(hosts: str, peers: Sequence[Peer], rows: Sequence[RecipeRow]) -> RecipeSpeeds:
    plan = plan_of(*(peer.name for peer in peers), rows=rows)
    try:
        return RecipeBench(RecipeSpeeds(plan), hosts, peers, warm_up_cells=0).measure()
    finally:
        for peer in peers:
            peer.close()


def check(speeds: RecipeSpeeds, hosts: str) -> None:
    assert judge(speeds).verdict == "holds", judge(speeds).why
    assert [one.samples > 0 and one.value > 0 for one in speeds.cells] == [True] * len(speeds.plan)
    with zkkit.connect(hosts) as session:
        assert not [name for name in session.children("/") if name.startswith("zkkit-bench")]


def python_peer(name: str, hosts: str) -> PythonPeer:
    return PythonPeer(name, hosts, MODULES[name])


def test_zkkit(zk_hosts: str) -> None:
    """All rows are measured, every witness agrees, no node and no process is left."""
    peer = python_peer(ZKKIT, zk_hosts)
    check(run(zk_hosts, [peer], tuple(ROWS.values())), zk_hosts)
    with pytest.raises(ProcessLookupError):
        os.kill(peer.pid, 0)


@pytest.mark.slow
def test_kazoo(zk_hosts: str) -> None:
    """kazoo's column is measured in the same way."""
    check(run(zk_hosts, [python_peer(KAZOO, zk_hosts)], tuple(ROWS.values())), zk_hosts)


@pytest.mark.slow
@pytest.mark.interop
def test_java_curator(zk_hosts: str) -> None:
    """Java's column, too; its ratios are there beside zkkit's."""
    try:
        find_curator()
    except CuratorMissing as missing:
        pytest.skip(str(missing))
    peers = [python_peer(ZKKIT, zk_hosts), JavaPeer(zk_hosts, FAST_START, RACES, STAGES)]
    speeds = run(zk_hosts, peers, tuple(ROWS.values()))
    check(speeds, zk_hosts)
    assert all(found.ratios[CURATOR].median > 0 for found in figures(speeds))


class RecipeLiar:
    """A peer that touches no server and tells what it likes."""

    name = "liar"
    version = "0"
    pid = os.getpid()

    def __init__(self, *told: ToldEvent) -> None:
        self._told = list(told)

    def open(self, sessions: int, patience: float) -> None: ...

    def contend(
        self, kind: str, path: str, who: Sequence[int], plan: RoundsPlan, patience: float
    ) -> Contended:
        """Each comes when the one before it is through, in every round."""

        def at(number: int, place: int) -> int:
            return plan.start_ns + int(number * 1e6) + place

        most = min(plan.rounds, 3)
        rounds = [
            [Round(at(n, 4 * w), at(n, 4 * w + 1), at(n, 4 * w + 2), at(n, 4 * w + 3))
             for n in range(most)]
            for w in who
        ]  # fmt: skip
        return Contended(rounds, {})

    def stage(self, kind: str, path: str, who: Sequence[int], patience: float) -> list[int]:
        return [time.monotonic_ns() for _ in who]

    def told(self, number: int, patience: float, *events: str) -> list[ToldEvent]:
        return [told for told in self._told if told.event in events]

    def unstage(self, patience: float) -> None: ...
    def renew(self, who: Sequence[int], patience: float) -> None: ...
    def close(self) -> None: ...


@pytest.mark.parametrize(
    ("row", "told", "why"),
    [
        (BARRIER, (), "a member was in before the last one came"),
        (CACHE_LOAD, (), "it was not told"),
        (CACHE_LOAD, (ToldEvent("initialized", 2**62, [0, 19]),), "19 of 20 nodes were told"),
        (
            CACHE_EVENT,
            (ToldEvent("changed", 2**62, [0, ["/x", ""]]),),
            "change 1 was not told once",
        ),
    ],
)
def test_what_is_not_true_is_noticed(
    zk_hosts: str, row: RecipeRow, told: tuple[ToldEvent, ...], why: str
) -> None:
    """Who tells what the servers and the others do not bear out is found out."""
    (found,) = run(zk_hosts, [RecipeLiar(*told)], [row]).cells  # type: ignore[list-item]
    assert why in found.broken + found.void


def test_invented_increments_are_noticed(zk_hosts: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says 3, and the node says 2."""
    with zkkit.connect(zk_hosts) as session:
        original = RecipeLiar.contend

        def contend(self: RecipeLiar, kind: str, path: str, *given: object) -> Contended:
            session.create(path, (2).to_bytes(8, "big"))
            return original(self, kind, path, *given)  # type: ignore[arg-type]

        monkeypatch.setattr(RecipeLiar, "contend", contend)
        (found,) = run(zk_hosts, [RecipeLiar()], [INCREMENTS]).cells  # type: ignore[list-item]
    assert found.broken == "3 increments were told, and it is 2"


class TwoLeaders(PythonPeer):
    """A peer whose second candidate is told that it leads while the first one does."""

    def told(self, number: int, patience: float, *events: str) -> list[ToldEvent]:
        first, *later = super().told(number, patience, *events)
        other = (first.value[0] + 1) % CANDIDATES
        return [first, ToldEvent("leader", first.at_ns + 1, [other, None]), *later]


def test_two_leaders_are_noticed(zk_hosts: str) -> None:
    peer = TwoLeaders(ZKKIT, zk_hosts, MODULES[ZKKIT])
    (found,) = run(zk_hosts, [peer], [FAILOVER]).cells
    assert found.broken == "two led at the same time"


def test_a_wide_interval_is_no_likeness():
    """What was not measured well enough to tell peers apart is told as the interval it is."""
    assert times_as("fast", "kazoo", Interval(1.0, 0.9, 1.1, 0.97)) == "about as fast as kazoo"
    wide = times_as("fast", "kazoo", Interval(0.42, 0.33, 1.48, 0.97))
    assert wide == "0.33 to 1.48 times as fast as kazoo"
