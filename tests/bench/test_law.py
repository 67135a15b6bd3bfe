"""The herd law, on real servers, by two witnesses; and that what breaks it is found out."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

import pytest

import zkkit
from zkkit.bench.designs import HERD, SEQUENTIAL, Design
from zkkit.bench.gate.gate_run import GateRun
from zkkit.bench.gate.plan import GatePlan
from zkkit.bench.gate.run import GateOutcome, compare
from zkkit.bench.kit import witness
from zkkit.bench.kit.witness import COUNTERS, Reading, Witness
from zkkit.ensemble import LocalEnsemble
from zkkit.paths import split
from zkkit.recipes.locks.hold import Hold
from zkkit.recipes.locks.owned import OwnedLock
from zkkit.recipes.shared import delete_surely
from zkkit.scripting import S
from zkkit.sim.gallery.locks import stand_in_line, turn_of
from zkkit.steps import Children, Guid, Script, Wait

NUMBERS = (2, 5)  # greater ones, and the other designs, in test_law_of_each.py


class ParentWatchLock(OwnedLock[S]):
    """A broken twin of the queue: everybody watches the whole line instead of the one before."""

    reentrant: ClassVar[bool] = False
    unique_names: ClassVar[bool] = True

    def _contend(self, blocking: bool) -> Script[Hold[S] | None]:
        guid = yield from Guid()
        node, _ = yield from stand_in_line(self.path, guid)
        while True:
            queue = yield from Children(self.path, watch=True)
            turn = turn_of(queue, split(node.path)[1])
            if turn is not None and turn.mine:
                return Hold(self, node)
            yield from Wait()

    def _let_go(self, hold: Hold[S]) -> Script[None]:
        return delete_surely(hold.path)


class DeafLock(OwnedLock[S]):
    """A broken twin that watches, and then never looks again."""

    reentrant: ClassVar[bool] = False
    unique_names: ClassVar[bool] = True

    def _contend(self, blocking: bool) -> Script[Hold[S] | None]:
        guid = yield from Guid()
        node, queue = yield from stand_in_line(self.path, guid)
        if len(queue) > 1:
            yield from Children(self.path, watch=True)
            while True:
                yield from Wait()
        return Hold(self, node)

    def _let_go(self, hold: Hold[S]) -> Script[None]:
        return delete_surely(hold.path)


def twin(lock: type[OwnedLock[zkkit.Session]]) -> Design:
    return Design("twin", lock, SEQUENTIAL.laws, "a broken twin of the sequential design")


@pytest.fixture(scope="module")
def outcome(zk_ensemble: LocalEnsemble) -> GateOutcome:
    pids = {f"node{node}": pid for node, pid in zk_ensemble.pids.items()}
    return compare(
        GatePlan((HERD, SEQUENTIAL), NUMBERS, 2, 7), zk_ensemble.hosts, pids=pids, warm_up=0
    )


def of(outcome: GateOutcome, design: Design, contenders: int) -> list[GateRun]:
    return [r for r in outcome.runs if (r.design, r.contenders) == (design.name, contenders)]


@pytest.mark.parametrize("contenders", NUMBERS)
def test_the_sequential_law_is_exact(outcome: GateOutcome, contenders: int) -> None:
    """N contenders cost the sequential design N fires by both witnesses, and N creates."""
    for run in of(outcome, SEQUENTIAL, contenders):
        assert (run.fires, run.server_fires, run.creates) == (contenders,) * 3
        assert (run.wakeups, run.useful_wakeups) == (contenders,) * 2


@pytest.mark.parametrize("contenders", NUMBERS)
def test_the_herd_keeps_within_its_law(outcome: GateOutcome, contenders: int) -> None:
    """The herd never fires or creates more than its law, and both witnesses say the same."""
    for run in of(outcome, HERD, contenders):
        assert run.fires == run.server_fires
        assert run.fires <= contenders * (contenders + 1) // 2
        assert run.creates <= contenders * (contenders + 3) // 2
        if contenders >= 5:
            assert run.fires > contenders


def test_a_lawful_comparison_holds(outcome: GateOutcome) -> None:
    """All planned runs are made, in ABBA order, and the verdict is that the law holds."""
    assert outcome.judgement.verdict == "holds", outcome.judgement.why
    order = [run.design for run in outcome.runs if run.contenders == 5]
    assert order == ["herd", "sequential", "sequential", "herd"]


def test_the_queue_is_fair(outcome: GateOutcome) -> None:
    """Nobody overtakes in the sequential design; every handoff is timed, the gate's included."""
    for run in outcome.runs:
        if run.design == "sequential":
            assert run.overtakings == 0
        assert len(run.handoffs_ms) == run.contenders
        assert min(run.handoffs_ms) > 0


def test_cpu_is_noted(outcome: GateOutcome) -> None:
    """Each run tells the CPU seconds of the client and of all three servers."""
    for run in outcome.runs:
        assert run.cpu.client > 0
        assert set(run.cpu.servers) == {"node1", "node2", "node3"}


def test_nothing_is_left_on_the_servers(outcome: GateOutcome, zk_hosts: str) -> None:
    """After a comparison none of its nodes is there any more."""
    assert outcome.runs
    with zkkit.connect(zk_hosts) as session:
        assert not [name for name in session.children("/") if name.startswith("zkkit-bench")]


def test_a_lock_that_watches_the_parent_is_found_out(zk_hosts: str) -> None:
    """A queue in which everybody watches the whole line breaks the law, by both witnesses."""
    outcome = compare(GatePlan((twin(ParentWatchLock),), (6,), 1, 1), zk_hosts, warm_up=0)
    (run,) = outcome.runs
    assert run.fires == run.server_fires
    assert run.fires > 6
    assert outcome.judgement.verdict == "broken"
    assert "exactly 6" in outcome.judgement.why


def test_a_herd_that_is_none_is_found_out(zk_hosts: str) -> None:
    """A queue sold as a herd obeys the herd's bound, and is broken all the same."""
    fake = Design("herd", SEQUENTIAL.lock, HERD.laws, "a queue in disguise")
    outcome = compare(GatePlan((fake, SEQUENTIAL), (5,), 1, 1), zk_hosts, warm_up=0)
    assert outcome.judgement.verdict == "broken"
    assert "no more than the 5" in outcome.judgement.why


def test_a_contender_that_is_never_granted_leaves_it_unknown(zk_hosts: str) -> None:
    """A run that does not end stops the comparison with a reason, and cleans up."""
    outcome = compare(GatePlan((twin(DeafLock),), (2,), 1, 1), zk_hosts, patience=0.5, warm_up=0)
    assert outcome.judgement.verdict == "unknown"
    assert "stopped after 0 of 1 runs" in outcome.judgement.why
    with zkkit.connect(zk_hosts) as session:
        assert not [name for name in session.children("/") if name.startswith("zkkit-bench")]


class Braggart(Witness):
    """Counts one fire more each time it is asked."""

    asked = 0

    def read(self) -> Reading:
        reading = super().read()
        self.asked += 1
        first = next(iter(reading.values()))
        first[COUNTERS[0]] = str(float(first[COUNTERS[0]]) + self.asked)
        return reading


def test_witnesses_that_disagree_leave_it_unknown(
    zk_hosts: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the servers count other fires than the clients the run is void, not broken."""
    monkeypatch.setattr(witness, "_PATIENCE", 0.2)
    plan = GatePlan((SEQUENTIAL,), (3,), 1, 1)
    outcome = compare(plan, zk_hosts, witness=Braggart(zk_hosts), warm_up=0)
    assert outcome.judgement.verdict == "unknown"
    assert "the clients counted" in outcome.judgement.why


@contextmanager
def server_saying(answer: bytes) -> Iterator[str]:
    """A server that gives this answer to everybody."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(4)
                connection.sendall(answer)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)


@pytest.mark.parametrize(
    ("answer", "way_out"),
    [
        (b"mntr is not executed because it is not in the whitelist.\n", "4lw.commands.whitelist"),
        (b"", "4lw.commands.whitelist"),
        (b"zk_version\t3.5.9\nzk_packets_sent\t7\n", "3.6 or newer"),
    ],
    ids=["not allowed", "nothing", "too old"],
)
def test_a_silent_witness_leaves_it_unknown(zk_hosts: str, answer: bytes, way_out: str) -> None:
    """Where servers do not tell their counts the verdict is unknown and says what to do."""
    with server_saying(answer) as silent:
        plan = GatePlan((SEQUENTIAL,), (2,), 2, 1)
        outcome = compare(plan, zk_hosts, witness=Witness(silent), warm_up=0)
    assert [run.fires for run in outcome.runs] == [2, 2]
    assert outcome.judgement.verdict == "unknown"
    assert way_out in outcome.judgement.why
