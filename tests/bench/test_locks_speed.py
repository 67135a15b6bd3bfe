"""How fast locks are: the plan, the figures, the verdict, and small runs on real servers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pytest

import zkkit
from zkkit.bench import locks_profile
from zkkit.bench.locks_cells import Cell, Speeds, judge
from zkkit.bench.locks_figures import figures, median_interval
from zkkit.bench.locks_peers import JavaPeer, Peer, PeerSilent, PythonPeer, Rounds, members_of
from zkkit.bench.locks_profile import OTHER, part_of, samples_in, stacks
from zkkit.bench.locks_rows import KAZOO, MUTEX, ZKKIT, Planned, Row, SpeedPlan
from zkkit.bench.locks_speed import measure
from zkkit.bench.peers.curator_jars import CuratorMissing, find_curator
from zkkit.bench.peers.rounds import Plan, Round
from zkkit.bench.verdict import Verdict
from zkkit.ensemble import FAST_START

PATIENCE = 30.0
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
BUSY = """
import sys, time
from zkkit.bench.locks_profile import sampling
from zkkit.paths import validate
with open(sys.argv[1], "w") as file, sampling(file):
    until = time.process_time() + 0.3
    while time.process_time() < until:
        for _ in range(1000):
            validate("/a/path/of/some/length")
"""


def plan_of(*peers: str, repeats: int = 1, seconds: float = 0.1, seed: int = 1) -> SpeedPlan:
    return SpeedPlan(peers, (2,), repeats, seconds, seed)


def cell(peer: str = ZKKIT, repeat: int = 0, rate: float = 100.0, sessions: int = 1) -> Cell:
    planned = Planned(Row(MUTEX, sessions), peer, repeat)
    return Cell(planned, 200, rate, 0.01, 2.0, 1.0, {"node1": 0.5, "node2": 0.25})


class TestPlan:
    def test_every_order_of_the_peers_has_its_turn(self) -> None:
        """Six repeats of three peers see all six orders, in every row alike."""
        plan = plan_of("a", "b", "c", repeats=6)
        cells = list(plan.cells(plan.rows))
        assert len(cells) == len(plan) == 6 * 3 * 6
        orders = [
            tuple(planned.peer for planned in group)
            for (_, row), group in groupby(cells, key=lambda one: (one.repeat, one.row))
            if row == plan.rows[0]
        ]
        assert len(set(orders)) == 6

    def test_rows_go_forwards_then_backwards(self) -> None:
        plan = plan_of("a", repeats=2)
        rows = [planned.row for planned in plan.cells(plan.rows)]
        assert rows == [*plan.rows, *reversed(plan.rows)]

    def test_the_seed_decides(self) -> None:
        def order(seed: int) -> list[Planned]:
            plan = plan_of("a", "b", "c", repeats=6, seed=seed)
            return list(plan.cells(plan.rows))

        assert order(1) == order(1)
        assert any(order(1) != order(seed) for seed in range(2, 9))

    @pytest.mark.parametrize("bad", [{"repeats": 0}, {"seconds": 0.0}, {"sessions": (1, 2)}])
    def test_no_plan(self, bad: dict[str, object]) -> None:
        with pytest.raises(ValueError):
            replace(plan_of("a"), **bad)  # type: ignore[arg-type]


class TestFigures:
    @pytest.mark.parametrize(
        ("number", "low", "high", "confidence"),
        [(1, 1, 1, 0.0), (2, 1, 2, 0.5), (6, 1, 6, 0.969), (8, 1, 8, 0.992), (9, 2, 8, 0.961)],
    )
    def test_an_interval_of_the_median(
        self, number: int, low: int, high: int, confidence: float
    ) -> None:
        """Nothing is cut off that 95 % need."""
        found = median_interval([float(n) for n in range(number, 0, -1)])
        assert (found.low, found.high) == (low, high)
        assert found.confidence == pytest.approx(confidence, abs=0.001)

    def test_ratios_are_made_repeat_by_repeat(self) -> None:
        """A machine that is twice as fast in the second repeat does not blur the ratio."""
        speeds = Speeds(plan_of(ZKKIT, KAZOO, repeats=2))
        speeds.cells = [cell(ZKKIT, 0, 150.0), cell(KAZOO, 0, 100.0),
                        cell(KAZOO, 1, 200.0), cell(ZKKIT, 1, 300.0)]  # fmt: skip
        (found,) = figures(speeds)
        assert found["ratios"] == {
            KAZOO: {"median": 1.5, "low": 1.5, "high": 1.5, "confidence": 0.5}
        }
        assert found["peers"][ZKKIT]["client_us"] == pytest.approx(5000)
        assert found["peers"][ZKKIT]["server_us"] == pytest.approx({"node1": 2500, "node2": 1250})

    def test_unknown_cpu_is_none(self) -> None:
        """No zero where nobody knows."""
        speeds = Speeds(plan_of(ZKKIT))
        speeds.cells = [replace(cell(), client_cpu=None, server_cpu={})]
        (found,) = figures(speeds)
        peer = found["peers"][ZKKIT]
        assert (peer["client_us"], peer["client_share"], peer["machine_share"]) == (None,) * 3

    def test_a_saturated_client_is_marked(self) -> None:
        assert not cell().saturated
        assert replace(cell(), client_cpu=1.95).saturated
        assert not replace(cell("Curator"), client_cpu=3.0).saturated


class TestVerdict:
    def test_all_is_well(self) -> None:
        speeds = Speeds(plan_of(ZKKIT))
        speeds.cells = [cell()] * len(speeds.plan)
        assert judge(speeds).verdict is Verdict.HOLDS

    @pytest.mark.parametrize(
        ("bad", "verdict"),
        [
            ({"overlap": "a and b both held /x for 1.000 ms"}, Verdict.BROKEN),
            ({"void": "3 nodes are left behind"}, Verdict.UNKNOWN),
        ],
    )
    def test_one_bad_cell_is_enough(self, bad: dict[str, str], verdict: Verdict) -> None:
        speeds = Speeds(plan_of(ZKKIT))
        speeds.cells = [cell()] * (len(speeds.plan) - 1) + [replace(cell(), **bad)]  # type: ignore[arg-type]
        assert judge(speeds).verdict is verdict

    def test_too_few_cells_are_no_proof(self) -> None:
        speeds = Speeds(plan_of(ZKKIT), cells=[cell()])
        assert judge(speeds).verdict is Verdict.UNKNOWN


class TestProfile:
    def test_parts(self) -> None:
        """The innermost frame that belongs to a part decides; the library counts for its caller."""
        said = [
            "Stack (most recent call first):\n",
            '  File "/usr/lib/python3.11/selectors.py", line 416 in select\n',
            '  File "/v/site-packages/kazoo/handlers/utils.py", line 9 in select\n',
            '  File "/v/site-packages/kazoo/protocol/connection.py", line 9 in _connect\n',
            "Stack (most recent call first):\n",
            '  File "/x/zkkit/recipes/locks/line.py", line 9 in enter\n',
            "Stack (most recent call first):\n",
            '  File "/usr/lib/python3.11/threading.py", line 9 in wait\n',
            '  File "/x/zkkit/bench/locks_child.py", line 9 in _contend\n',
            "Stack (most recent call first):\n",
        ]
        assert [part_of(one) for one in stacks(said)] == [
            "kazoo: select, its threads", "zkkit: recipe", "threads: locks, waiting, waking", OTHER
        ]  # fmt: skip

    @pytest.mark.skipif(not locks_profile.POSSIBLE, reason="Linux only")
    def test_samples_fall_where_the_time_goes(self, tmp_path: Path) -> None:
        """In a process of its own: a sampler may crash the one it samples."""
        file = tmp_path / "samples"
        subprocess.run([sys.executable, "-c", BUSY, str(file)], env=ENVIRONMENT, timeout=PATIENCE)
        found = samples_in(file.read_text().splitlines())
        assert found.total() >= 5
        assert found.most_common(1)[0][0] == "zkkit: engine"


@pytest.mark.parametrize(
    ("hosts", "members"),
    [("a:1", ["a:1"]), ("a:1, b:2", ["a:1", "b:2"]), ("a:1,b:2/x/y", ["a:1/x/y", "b:2/x/y"])],
)
def test_each_session_has_its_server(hosts: str, members: list[str]) -> None:
    assert members_of(hosts) == members


# --- on real servers --------------------------------------------------------------------


def run(hosts: str, peers: Sequence[Peer], seconds: float = 0.1) -> Speeds:
    plan = plan_of(*(peer.name for peer in peers), seconds=seconds)
    return measure(plan, hosts, peers, pids={"us": os.getpid()})


def trusted(speeds: Speeds) -> bool:
    """Whether all cells were measured and every count agrees. A cell of a tenth of a second may
    fail to settle on a busy machine: that is no defect."""
    whys = {one.void for one in speeds.cells} | {one.overlap for one in speeds.cells}
    whole = not speeds.stopped and len(speeds.cells) == len(speeds.plan)
    return whole and all(not why or "give it more --seconds" in why for why in whys)


def no_nodes_of_ours(hosts: str) -> bool:
    with zkkit.connect(hosts) as session:
        return not [name for name in session.children("/") if name.startswith("zkkit-bench")]


@pytest.mark.slow
def test_zkkit_and_kazoo(zk_hosts: str) -> None:
    """All rows are measured, the servers' counts agree, no node and no process is left."""
    peers = [PythonPeer(ZKKIT, zk_hosts), PythonPeer(KAZOO, zk_hosts)]
    try:
        speeds = run(zk_hosts, peers)
    finally:
        for peer in peers:
            peer.close()
    assert trusted(speeds), speeds.judgement.why
    assert set(speeds.versions) == {ZKKIT, KAZOO}
    assert [(c.planned.row.kind.name, c.planned.row.sessions) for c in speeds.cells[::2]] == [
        ("mutex", 1), ("lock", 1), ("semaphore", 1), ("read", 1), ("write", 1), ("mutex", 2)
    ]  # fmt: skip
    assert all(set(one.server_cpu) == {"us"} for one in speeds.cells)
    if locks_profile.POSSIBLE:
        assert [(p.row.sessions, p.peer) for p in speeds.profiles] == [
            (1, ZKKIT), (1, KAZOO), (2, ZKKIT), (2, KAZOO)
        ]  # fmt: skip
        assert all(p.samples and "kazoo: recipe" not in p.samples for p in speeds.profiles[::2])
    assert no_nodes_of_ours(zk_hosts)
    for peer in peers:
        with pytest.raises(ProcessLookupError):
            os.kill(peer.pid, 0)


@pytest.mark.slow
@pytest.mark.interop
def test_java_curator(zk_hosts: str) -> None:
    """Java's column is measured and counted in the same way."""
    try:
        find_curator()
    except CuratorMissing as missing:
        pytest.skip(str(missing))
    java = JavaPeer(zk_hosts, FAST_START)
    peers = [PythonPeer(ZKKIT, zk_hosts), java]
    try:
        speeds = run(zk_hosts, peers)
    finally:
        for peer in peers:
            peer.close()
    assert trusted(speeds), speeds.judgement.why
    # The first byte of a session's id is its server's number.
    assert [session >> 56 for session in java.session_ids] == [1, 2, 3]
    assert all(f["ratios"]["Curator"]["median"] > 0 for f in figures(speeds))
    assert no_nodes_of_ours(zk_hosts)


class Liar:
    """A peer that touches no server and tells what it likes. Times are milliseconds from the start
    of a cell, or before its end."""

    name = "liar"
    version = "0"
    pid = os.getpid()

    def __init__(self, *holds_ms: tuple[float, float]) -> None:
        self._holds = holds_ms

    def open(self, sessions: int, patience: float) -> None: ...

    def contend(
        self, kind: str, path: str, who: Sequence[int], plan: Plan, patience: float
    ) -> Rounds:
        def ns(ms: float) -> int:
            return (plan.start_ns if ms >= 0 else plan.until_ns) + int(ms * 1e6)

        return [[Round(ns(0), ns(a), ns(b), ns(b)) for a, b in self._holds] for _ in who]

    def close(self) -> None: ...


def test_an_invented_acquisition_voids(zk_hosts: str) -> None:
    """The servers know of no node for it."""
    cells = run(zk_hosts, [Liar((1, 2), (3, 4))]).cells
    why = "the clients acquired 2 times, the servers created 0 nodes"
    assert [one.void for one in cells if one.planned.row.sessions == 1] == [why] * 5


def test_overlapping_holds_break(zk_hosts: str) -> None:
    """Both sessions say that they held at the same time."""
    judgement = run(zk_hosts, [Liar((1, 2), (3, 4))]).judgement
    assert judgement.verdict is Verdict.BROKEN
    assert "session 0 and session 1 both held" in judgement.why


def test_a_cell_that_never_settles_is_void(zk_hosts: str) -> None:
    """A first grant at the very end says nothing about a rate."""
    speeds = run(zk_hosts, [Liar((-20, -10), (-9, -8))])
    assert all("give it more --seconds" in one.void for one in speeds.cells)


def test_a_peer_that_hangs_is_ended(zk_hosts: str, zk_path: str) -> None:
    """Nobody waits for ever, and the process is gone."""
    with zkkit.connect(zk_hosts) as session:
        peer = PythonPeer(ZKKIT, zk_hosts)
        try:
            peer.open(1, PATIENCE)
            with zkkit.ReentrantLock(session, zk_path):
                with pytest.raises(PeerSilent, match="zkkit ended or hung"):
                    peer.contend("mutex", zk_path, [0], Plan(0), 0.3)
        finally:
            peer.close()
    with pytest.raises(ProcessLookupError):
        os.kill(peer.pid, 0)


def test_a_peer_that_fails_says_why(zk_hosts: str) -> None:
    peer = PythonPeer(KAZOO, zk_hosts)
    try:
        with pytest.raises(PeerSilent, match="kazoo failed: IndexError"):
            peer.contend("mutex", "/none", [0], Plan(0, 1), PATIENCE)
    finally:
        peer.close()


def test_a_failing_peer_leaves_the_verdict_open(zk_hosts: str) -> None:
    """Nobody knows what was not measured; the nodes are removed all the same."""
    peer = PythonPeer(ZKKIT, zk_hosts)
    os.kill(peer.pid, signal.SIGKILL)
    try:
        speeds = run(zk_hosts, [peer])
    finally:
        peer.close()
    assert speeds.judgement.verdict is Verdict.UNKNOWN
    assert "the measuring was stopped" in speeds.judgement.why
    assert no_nodes_of_ours(zk_hosts)
