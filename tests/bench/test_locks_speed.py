"""How fast locks are: the plan, the figures, the verdict, and small runs on real servers."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib import import_module
from itertools import groupby
from pathlib import Path
from pkgutil import iter_modules

import pytest

import zkkit
import zkkit.session
from zkkit.bench.experiment import head_of
from zkkit.bench.kit.data import as_json
from zkkit.bench.kit.processes import ChildSilent
from zkkit.bench.kit.statistics import Interval, median_interval
from zkkit.bench.locks.curator_locks import RACES
from zkkit.bench.locks.experiment import EXPERIMENT, MODULES
from zkkit.bench.locks.figures import LocksResults, figures
from zkkit.bench.locks.judge import LockCell, LockSpeeds, judge
from zkkit.bench.locks.layers import layer_shares
from zkkit.bench.locks.plan import MUTEX, LockRow, LocksPlan
from zkkit.bench.locks.run import LockBench
from zkkit.bench.peers.cells import ASYNCIO, KAZOO, ZKKIT, PeerTurn
from zkkit.bench.peers.curator_jars import CuratorMissing, find_curator
from zkkit.bench.peers.fronts import thread_cpu
from zkkit.bench.peers.layers import (
    LAYERS,
    SESSION_LAYERS,
    LayerCosts,
    LayerProfile,
    layer_of,
)
from zkkit.bench.peers.libraries import Contended, JavaPeer, Peer, PythonPeer
from zkkit.bench.peers.rounds import Round, RoundsPlan
from zkkit.ensemble import FAST_START

PATIENCE = 30.0


def plan_of(*peers: str, repeats: int = 1, seconds: float = 0.1, seed: int = 1) -> LocksPlan:
    return LocksPlan(peers, (2,), repeats, seconds, seed)


def cell(peer: str = ZKKIT, repeat: int = 0, rate: float = 100.0, sessions: int = 1) -> LockCell:
    return LockCell(
        turn=PeerTurn(LockRow(MUTEX, sessions), peer, repeat),
        acquisitions=200,
        value=rate,
        settled=0.01,
        seconds=2.0,
        client_cpu=1.0,
        server_cpu={"node1": 0.5, "node2": 0.25},
    )


class TestPlan:
    def test_every_order_of_the_peers_has_its_turn(self) -> None:
        """Six repeats of three peers see all six orders, in every row alike."""
        plan = plan_of("a", "b", "c", repeats=6)
        cells = list(plan.turns(plan.rows))
        assert len(cells) == len(plan) == 6 * 3 * 6
        orders = [
            tuple(turn.peer for turn in group)
            for (_, row), group in groupby(cells, key=lambda one: (one.repeat, one.row))
            if row == plan.rows[0]
        ]
        assert len(set(orders)) == 6

    def test_each_order_is_followed_by_its_reverse(self) -> None:
        """ABBA: in every two repeats each peer has been before and after each other."""
        plan = plan_of("a", "b", "c", "d", repeats=6)
        cells = [(one.row, one.peer) for one in plan.turns(plan.rows)]
        half = len(cells) // 6
        for first in range(0, len(cells), 2 * half):
            there, back = cells[first : first + half], cells[first + half : first + 2 * half]
            assert back == there[::-1]

    def test_rows_go_forwards_then_backwards(self) -> None:
        plan = plan_of("a", repeats=2)
        rows = [turn.row for turn in plan.turns(plan.rows)]
        assert rows == [*plan.rows, *reversed(plan.rows)]

    def test_the_seed_decides(self) -> None:
        def order(seed: int) -> list[PeerTurn[LockRow]]:
            plan = plan_of("a", "b", "c", repeats=6, seed=seed)
            return list(plan.turns(plan.rows))

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
        speeds = LockSpeeds(plan_of(ZKKIT, KAZOO, repeats=2))
        speeds.cells = [cell(ZKKIT, 0, 150.0), cell(KAZOO, 0, 100.0),
                        cell(KAZOO, 1, 200.0), cell(ZKKIT, 1, 300.0)]  # fmt: skip
        (found,) = figures(speeds)
        assert found.ratios == {KAZOO: Interval(1.5, 1.5, 1.5, 0.5)}
        assert found.peers[ZKKIT].client_us == pytest.approx(5000)
        assert found.peers[ZKKIT].server_us == pytest.approx({"node1": 2500, "node2": 1250})

    def test_on_asyncio_it_is_a_row_of_its_own(self) -> None:
        """Beside the same cells of the others, and never beside zkkit on threads."""
        speeds = LockSpeeds(plan_of(ZKKIT, ASYNCIO, KAZOO))
        speeds.cells = [cell(ZKKIT, 0, 150.0), cell(ASYNCIO, 0, 300.0), cell(KAZOO, 0, 100.0)]
        on_threads, awaited = figures(speeds)
        assert (on_threads.subject, awaited.subject) == (ZKKIT, ASYNCIO)
        assert on_threads.ratios == {KAZOO: Interval(1.5, 1.5, 1.5, 0.0)}
        assert awaited.ratios == {KAZOO: Interval(3.0, 3.0, 3.0, 0.0)}
        assert set(awaited.peers) == {ASYNCIO, KAZOO}

    def test_unknown_cpu_is_none(self) -> None:
        """No zero where nobody knows."""
        speeds = LockSpeeds(plan_of(ZKKIT))
        speeds.cells = [replace(cell(), client_cpu=None, server_cpu={})]
        (found,) = figures(speeds)
        peer = found.peers[ZKKIT]
        assert (peer.client_us, peer.client_share, peer.machine_share) == (None,) * 3

    def test_results_are_read_back_as_they_were(self) -> None:
        """From JSON they come back typed, and equal."""
        speeds = LockSpeeds(plan_of(ZKKIT, KAZOO), {ZKKIT: "1"}, [cell(ZKKIT), cell(KAZOO)])
        written = EXPERIMENT.figures(
            speeds, head_of("x", judge(speeds), "command", datetime.now(UTC), None)
        )
        assert LocksResults.from_data(json.loads(as_json(written))) == written

    def test_a_saturated_client_is_marked(self) -> None:
        assert not cell().saturated
        assert replace(cell(), client_cpu=1.95).saturated
        assert not replace(cell("Curator"), client_cpu=3.0).saturated


class TestVerdict:
    def test_all_is_well(self) -> None:
        speeds = LockSpeeds(plan_of(ZKKIT))
        speeds.cells = [cell()] * len(speeds.plan)
        assert judge(speeds).verdict == "holds"

    @pytest.mark.parametrize(
        ("bad", "verdict"),
        [
            ({"broken": "a and b both held /x for 1.000 ms"}, "broken"),
            ({"void": "3 nodes are left behind"}, "unknown"),
        ],
    )
    def test_one_bad_cell_is_enough(self, bad: dict[str, str], verdict: str) -> None:
        speeds = LockSpeeds(plan_of(ZKKIT))
        speeds.cells = [cell()] * (len(speeds.plan) - 1) + [replace(cell(), **bad)]  # type: ignore[arg-type]
        assert judge(speeds).verdict == verdict

    def test_too_few_cells_are_no_proof(self) -> None:
        speeds = LockSpeeds(plan_of(ZKKIT), cells=[cell()])
        assert judge(speeds).verdict == "unknown"


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells the CPU time of a thread")
def test_the_cpu_of_each_kind_of_thread_is_told() -> None:
    """A thread that works shows under the name of what it does, with about the time it worked."""
    done, told = threading.Event(), threading.Event()

    def work_hard() -> None:
        until = time.thread_time() + 0.2
        while time.thread_time() < until:
            pass
        done.set()
        told.wait(PATIENCE)

    before = thread_cpu().get("work_hard", 0.0)
    thread = threading.Thread(target=work_hard)
    thread.start()
    assert done.wait(PATIENCE)
    used = thread_cpu()["work_hard"] - before
    told.set()
    thread.join()
    assert used == pytest.approx(0.2, abs=0.1)


# --- on real servers --------------------------------------------------------------------


def python_peer(name: str, hosts: str) -> PythonPeer:
    return PythonPeer(name, hosts, MODULES[name])


def run(hosts: str, peers: Sequence[Peer], seconds: float = 0.1) -> LockSpeeds:
    plan = plan_of(*(peer.name for peer in peers), seconds=seconds)
    return LockBench(LockSpeeds(plan), hosts, peers, {"us": os.getpid()}, 300).measure()


def trusted(speeds: LockSpeeds) -> bool:
    """Whether all cells were measured and every count agrees. A cell of a tenth of a second may
    fail to settle on a busy machine: that is no defect."""
    whys = {one.void for one in speeds.cells} | {one.broken for one in speeds.cells}
    whole = not speeds.stopped and len(speeds.cells) == len(speeds.plan)
    return whole and all(not why or "give it more --seconds" in why for why in whys)


def no_nodes_of_ours(hosts: str) -> bool:
    with zkkit.connect(hosts) as session:
        return not [name for name in session.children("/") if name.startswith("zkkit-bench")]


def test_a_library_that_is_awaited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its sessions, and what they acquire and release, are all on one loop."""
    (tmp_path / "awaited.py").write_text(
        "import asyncio, threading\n"
        "VERSION = '7'\n"
        "async def connect(hosts): return [asyncio.get_running_loop(), hosts]\n"
        "async def close(client): ...\n"
        "class Thing:\n"
        "    def __init__(self, client, path): self.loop = client[0]\n"
        "    async def acquire(self): assert asyncio.get_running_loop() is self.loop\n"
        "    async def release(self): await asyncio.sleep(0)\n"
        "RACES = {'thing': Thing}\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    peer = PythonPeer("awaited", "a:1,b:1", "awaited")
    try:
        peer.open(3, PATIENCE)
        told = peer.contend("thing", "/x", range(3), RoundsPlan(0, 2), PATIENCE)
    finally:
        peer.close()
    assert peer.version == "7"
    assert [len(mine) for mine in told.rounds] == [2, 2, 2]
    assert sys.platform != "linux" or "event loop" in told.thread_cpu


@pytest.mark.slow
def test_zkkit_and_kazoo(zk_hosts: str) -> None:
    """All rows are measured, the servers' counts agree, no node and no process is left."""
    peers = [python_peer(name, zk_hosts) for name in (ZKKIT, ASYNCIO, KAZOO)]
    try:
        speeds = run(zk_hosts, peers)
    finally:
        for peer in peers:
            peer.close()
    assert trusted(speeds), speeds.judgement.why
    assert set(speeds.versions) == {ZKKIT, ASYNCIO, KAZOO}
    rows = dict.fromkeys((c.turn.row.kind.name, c.turn.row.sessions) for c in speeds.cells)
    assert list(rows) == [
        ("mutex", 1), ("lock", 1), ("semaphore", 1), ("read", 1), ("write", 1), ("mutex", 2)
    ]  # fmt: skip
    awaited = [c.turn.row for c in speeds.cells if c.turn.peer == ASYNCIO]
    assert awaited == [LockRow(MUTEX, 1), LockRow(MUTEX, 2)]
    assert all(set(one.server_cpu) == {"us"} for one in speeds.cells)
    if sys.platform == "linux":
        for one in speeds.cells:
            who = "event loop" if one.turn.peer == ASYNCIO else "contenders"
            assert one.thread_cpu[who] > 0
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
    java = JavaPeer(zk_hosts, FAST_START, RACES)
    peers = [python_peer(ZKKIT, zk_hosts), java]
    try:
        speeds = run(zk_hosts, peers)
    finally:
        for peer in peers:
            peer.close()
    assert trusted(speeds), speeds.judgement.why
    # The first byte of a session's id is its server's number.
    assert [actor.session_id >> 56 for actor in java.actors] == [1, 2, 3]
    assert all(f.ratios["Curator"].median > 0 for f in figures(speeds))
    # Alone and again under contention; the others have nothing to compile.
    assert speeds.warmed["Curator"] >= 600 and set(speeds.warmed) == {ZKKIT, "Curator"}
    assert no_nodes_of_ours(zk_hosts)


def test_where_the_cpu_time_goes(zk_hosts: str) -> None:
    """Every layer of zkkit has a part in it, and the parts make the whole."""
    (alone,) = layer_shares(zk_hosts, {ZKKIT: MODULES[ZKKIT]}, (), 0.3)
    assert alone.acquisitions > 0 and alone.sessions == 1
    assert tuple(alone.layer_cpu) == LAYERS
    shares = alone.shares()
    assert sum(shares.values()) == pytest.approx(1.0)
    assert min(shares["recipe"], shares["engine"], shares["connection"]) > 0.01


def test_every_module_of_the_session_is_in_a_layer() -> None:
    """A new one is put into its layer by name: none counts as the engine because nobody thought of
    it."""
    found = [module.name for module in iter_modules(zkkit.session.__path__)]
    assert sorted(found) == sorted(name for names in SESSION_LAYERS.values() for name in names)
    layers = {name: layer for layer, names in SESSION_LAYERS.items() for name in names}
    assert {name: layer_of(f"zkkit.session.{name}") for name in found} == layers
    assert LAYERS[layers["event_loop"]] == "connection"


def test_what_following_costs_is_taken_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every call counts once, in the layer that makes it. What sleeps takes nothing."""
    (tmp_path / "zkkit_work.py").write_text(
        "import threading\n"
        "def work():\n"
        "    for _ in range(50_000): one()\n"
        "    threading.Event().wait(0.3)\n"
        "def one(): sum(range(400))\n"  # far more than following it costs, also on a busy machine
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    profile = LayerProfile()
    profile.begin()
    try:
        thread = threading.Thread(target=import_module("zkkit_work").work)
        thread.start()
        thread.join(PATIENCE)
    finally:
        profile.end()
    costs, found = profile.costs, profile.used()
    profile.costs = LayerCosts(0.0, 0.0, 0.0)
    seeming = profile.used()
    assert min(costs.call, costs.c_call, costs.crossing) > 0
    assert found["engine"] > 0 and found["waiting"] < 0.1
    taken_off = 50_000 * (costs.call + costs.c_call) / 1e9
    assert seeming["engine"] - found["engine"] == pytest.approx(taken_off, rel=0.05)


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
        self, kind: str, path: str, who: Sequence[int], plan: RoundsPlan, patience: float
    ) -> Contended:
        def ns(ms: float) -> int:
            return (plan.start_ns if ms >= 0 else plan.until_ns) + int(ms * 1e6)

        rounds = [Round(ns(0), ns(a), ns(b), ns(b)) for a, b in self._holds]
        return Contended([rounds for _ in who], {})

    def close(self) -> None: ...


def test_an_invented_acquisition_voids(zk_hosts: str) -> None:
    """The servers know of no node for it."""
    cells = run(zk_hosts, [Liar((1, 2), (3, 4))]).cells
    why = "the clients acquired 2 times, the servers created 0 nodes"
    assert [one.void for one in cells if one.turn.row.sessions == 1] == [why] * 5


def test_overlapping_holds_break(zk_hosts: str) -> None:
    """Both sessions say that they held at the same time."""
    judgement = run(zk_hosts, [Liar((1, 2), (3, 4))]).judgement
    assert judgement.verdict == "broken"
    assert "session 0 and session 1 both held" in judgement.why


def test_a_cell_that_never_settles_is_void(zk_hosts: str) -> None:
    """A first grant at the very end says nothing about a rate."""
    speeds = run(zk_hosts, [Liar((-20, -10), (-9, -8))])
    assert all("give it more --seconds" in one.void for one in speeds.cells)


def test_a_peer_that_hangs_is_ended(zk_hosts: str, zk_path: str) -> None:
    """Nobody waits for ever, and the process is gone."""
    with zkkit.connect(zk_hosts) as session:
        peer = python_peer(ZKKIT, zk_hosts)
        try:
            peer.open(1, PATIENCE)
            with zkkit.ReentrantLock(session, zk_path):
                with pytest.raises(ChildSilent, match="zkkit ended or hung"):
                    peer.contend("mutex", zk_path, [0], RoundsPlan(0), 0.3)
        finally:
            peer.close()
    with pytest.raises(ProcessLookupError):
        os.kill(peer.pid, 0)


def test_a_peer_that_fails_says_why(zk_hosts: str) -> None:
    peer = python_peer(KAZOO, zk_hosts)
    try:
        with pytest.raises(ChildSilent, match="kazoo failed: IndexError"):
            peer.contend("mutex", "/none", [0], RoundsPlan(0, 1), PATIENCE)
    finally:
        peer.close()


def test_a_failing_peer_leaves_the_verdict_open(zk_hosts: str) -> None:
    """Nobody knows what was not measured; the nodes are removed all the same."""
    peer = python_peer(ZKKIT, zk_hosts)
    os.kill(peer.pid, signal.SIGKILL)
    try:
        speeds = run(zk_hosts, [peer])
    finally:
        peer.close()
    assert speeds.judgement.verdict == "unknown"
    assert "the measuring was stopped" in speeds.judgement.why
    assert no_nodes_of_ours(zk_hosts)
