"""How fast the connection is: plan, figures, verdict, and small runs on real servers."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

import zkkit
from zkkit.bench.connection.cells import ConnectionCell, ConnectionSpeeds
from zkkit.bench.connection.experiment import EXPERIMENT, IDLE, MODULES
from zkkit.bench.connection.figures import ConnectionResults, figures
from zkkit.bench.connection.idle import IdleFootprint, idle_footprints
from zkkit.bench.connection.judge import judge
from zkkit.bench.connection.plan import (
    AT_ONCE,
    PIPELINED,
    ROUND_TRIP,
    SET,
    ConnectionPlan,
    ConnectionRow,
)
from zkkit.bench.connection.run import ConnectionBench
from zkkit.bench.experiment import head_of
from zkkit.bench.kit.data import as_json
from zkkit.bench.kit.machine import Footprint, footprint
from zkkit.bench.kit.statistics import Interval
from zkkit.bench.peers.cells import KAZOO, ZKKIT, PeerTurn
from zkkit.bench.peers.libraries import Contended, python_peers
from zkkit.bench.peers.rounds import Round, RoundsPlan


def plan_of(*peers: str, sessions: tuple[int, ...] = (4,), seconds: float = 0.1) -> ConnectionPlan:
    return ConnectionPlan(peers, sessions, repeats=1, seconds=seconds, idle=3, seed=1)


def cell(
    row: ConnectionRow = PIPELINED, peer: str = ZKKIT, value: float = 100.0, repeat: int = 0
) -> ConnectionCell:
    turn = PeerTurn(row, peer, repeat)
    return ConnectionCell(turn, value, seconds=2.0, client_cpu=1.0, operations=1000)


def speeds_of(pipelined: float, round_trip: float) -> ConnectionSpeeds:
    """Everything that is planned; zkkit has these figures, kazoo 100 of each."""
    speeds = ConnectionSpeeds(plan_of(ZKKIT, KAZOO), {ZKKIT: "1", KAZOO: "2"})
    ours = {PIPELINED: pipelined, ROUND_TRIP: round_trip}
    for turn in speeds.plan.turns():
        value = ours.get(turn.row, 100.0) if turn.peer == ZKKIT else 100.0
        speeds.cells.append(cell(turn.row, turn.peer, value))
    return speeds


class TestFigures:
    def test_above_one_is_faster_of_rates_and_of_times(self) -> None:
        """Twice the rate and half the time are the same."""
        found = {figure.row: figure for figure in figures(speeds_of(200.0, 50.0))}
        for row in (PIPELINED, ROUND_TRIP):
            assert found[row].ratios == {ZKKIT: Interval(2.0, 2.0, 2.0, 0.0)}
        assert found[SET].client_us == {ZKKIT: 1000.0, KAZOO: 1000.0}

    def test_unknown_cpu_is_none(self) -> None:
        speeds = speeds_of(200.0, 50.0)
        speeds.cells = [replace(each, client_cpu=None) for each in speeds.cells]
        assert figures(speeds)[0].client_us == {ZKKIT: None, KAZOO: None}

    def test_results_are_read_back_as_they_were(self) -> None:
        """From JSON they come back typed, and equal."""
        speeds = speeds_of(200.0, 50.0)
        speeds.idle = (
            IdleFootprint(ZKKIT, 3, Footprint(4, 5, 6000)),
            IdleFootprint(KAZOO, 3, None, "no thread is left"),
        )
        written = EXPERIMENT.figures(
            speeds, head_of("x", judge(speeds), "command", datetime.now(UTC), None)
        )
        assert ConnectionResults.from_data(json.loads(as_json(written))) == written

    @pytest.mark.parametrize(
        "bad", [{"repeats": 0}, {"seconds": 0.0}, {"idle": 0}, {"sessions": (0,)}]
    )
    def test_no_plan(self, bad: dict[str, object]) -> None:
        with pytest.raises(ValueError):
            replace(plan_of("a"), **bad)  # type: ignore[arg-type]


class TestVerdict:
    @pytest.mark.parametrize(
        ("pipelined", "round_trip", "verdict"),
        [(200.0, 75.0, "holds"), (199.0, 75.0, "broken"), (200.0, 76.0, "broken")],
    )
    def test_what_is_asked(self, pipelined: float, round_trip: float, verdict: str) -> None:
        """Twice as many, and three quarters of the time."""
        judgement = judge(speeds_of(pipelined, round_trip))
        assert judgement.verdict == verdict, judgement.why

    def test_the_upper_end_of_the_interval_counts(self) -> None:
        """One repeat that reaches it leaves room for doubt."""
        speeds = speeds_of(100.0, 50.0)
        speeds.plan = replace(speeds.plan, repeats=2)
        again = speeds_of(300.0, 50.0).cells
        speeds.cells += [replace(c, turn=replace(c.turn, repeat=1)) for c in again]
        assert judge(speeds).verdict == "holds"

    @pytest.mark.parametrize("bad", [{"void": "no"}, None])
    def test_one_bad_cell_is_enough(self, bad: dict[str, str] | None) -> None:
        """Void or missing."""
        speeds = speeds_of(200.0, 50.0)
        last = speeds.cells.pop()
        if bad is not None:
            speeds.cells.append(replace(last, **bad))  # type: ignore[arg-type]
        assert judge(speeds).verdict == "unknown"


# --- on real servers --------------------------------------------------------------------


@pytest.mark.slow
def test_all_peers(zk_hosts: str) -> None:
    """All rows are measured, the servers bear them out, no node and no process is left."""
    with python_peers(zk_hosts, MODULES) as peers:
        plan = plan_of(*MODULES, sessions=(2,))
        speeds = ConnectionBench(ConnectionSpeeds(plan), zk_hosts, peers, warm_up_cells=0).measure()
    assert not speeds.stopped and not [c.void for c in speeds.cells if c.void]
    assert len(speeds.cells) == len(plan)
    assert set(speeds.versions) == set(MODULES)
    for found in figures(speeds):
        assert all(number >= found.row.operations for number in found.operations.values())
        assert set(found.ratios) == set(MODULES) - {KAZOO}
    with zkkit.connect(zk_hosts) as session:
        assert not [name for name in session.children("/") if name.startswith("zkkit-bench")]
    for peer in peers:
        with pytest.raises(ProcessLookupError):
            os.kill(peer.pid, 0)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells what another process has")
def test_what_idle_sessions_take(zk_hosts: str) -> None:
    """Each of kazoo's has a socket and a thread at least; zkkit's have a socket."""
    two = {name: IDLE[name] for name in (ZKKIT, KAZOO)}
    found = {one.peer: one for one in idle_footprints(zk_hosts, two, 6)}
    assert set(found) == set(two) and not [one.failed for one in found.values() if one.failed]
    assert all(one.took is not None and one.took.files >= 6 for one in found.values())
    kazoo = found[KAZOO].took
    assert kazoo is not None and kazoo.threads >= 6


def test_idle_sessions_that_cannot_be_had() -> None:
    """Nobody is there: it is said, and the others can still be told."""
    modules = {KAZOO: "zkkit.bench.connection.no_such_client"}
    (found,) = idle_footprints("127.0.0.1:1", modules, 2)
    assert found.took is None and "no_such_client" in found.failed


def test_no_footprint_of_nobody() -> None:
    """What is gone, or a system that does not tell, is unknown, not zero."""
    assert footprint(2**22 + 1) is None


class ConnectionLiar:
    """A peer that touches no server, and tells a million operations."""

    name = "liar"
    version = "0"
    pid = os.getpid()

    def open(self, sessions: int, patience: float) -> None: ...

    def contend(
        self, kind: str, path: str, who: Sequence[int], plan: RoundsPlan, patience: float
    ) -> Contended:
        at = plan.start_ns
        rounds = [Round(at, at + 1000, at + 1000, at + 1000)] * (1_000_000 // AT_ONCE)
        return Contended([rounds for _ in who], {})

    def close(self) -> None: ...


def test_invented_operations_are_noticed(zk_hosts: str) -> None:
    """The node was never set, and the servers received no such number of packets."""
    liar = ConnectionLiar()
    speeds = ConnectionSpeeds(plan_of("liar", sessions=(100,)))
    ConnectionBench(speeds, zk_hosts, [liar], warm_up_cells=0).measure()  # type: ignore[list-item]
    void = {one.turn.row.name: one.void for one in speeds.cells}
    assert void[SET.name] == "10000 operations were told, and the node was set 0 times"
    for name in (PIPELINED.name, "exists, 100 sessions"):
        assert "1000000 operations were told, and the servers received" in void[name]
    assert judge(speeds).verdict == "unknown"
