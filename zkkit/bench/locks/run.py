"""How fast locks are: zkkit, kazoo and Java Curator in turn, on the same servers.

A cell lets one peer's sessions acquire and release one path, each as often as it can, for some
seconds. It has settled when every session has acquired once: then the line is full. Its rate is the
grants from then on until its time is over. Everything the peer's process and each server used, from
the first acquire to the last release, counts as CPU.

Each cell has a path of its own, and two witnesses. The servers count the nodes that were created
below it: one for each acquisition, and none is left. And all holds are laid on one clock: none
overlaps another.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle

from zkkit.bench.kit.machine import cpu_between, cpu_used
from zkkit.bench.locks.judge import LockCell, LockSpeeds
from zkkit.bench.locks.plan import LockKind, LockRow
from zkkit.bench.peers.cells import PeerTurn
from zkkit.bench.peers.libraries import JavaPeer, Rounds
from zkkit.bench.peers.measuring import PeerBench
from zkkit.bench.peers.rounds import RoundsPlan
from zkkit.check.overlap import HoldInterval, overlaps
from zkkit.steps import Exists, Script, Sync

_LEAD = (0.05, 0.002)  # seconds to start all threads: for all, and for each session
_SETTLING = 0.01  # seconds for each session, in the first cell of a row
_LONGER = 1.5  # than what the slowest peer took to settle in the warm-up; all cells get that
_LEAST = 0.5  # of a cell's time must be left when it has settled
_WARM_UP = 2  # how much longer than a cell each peer runs each row before anything counts
_COMPILED = 10_000  # acquisitions of a JVM before anything counts, alone and again under contention


@dataclass
class LockBench(PeerBench[LockSpeeds, LockRow, LockCell]):
    """Peers, servers, and paths to contend for."""

    pids: Mapping[str, int]
    """The servers whose CPU time counts."""
    compiled: int = _COMPILED
    """How often a peer in Java has acquired uncontended, and under contention, before that is
    measured. Its compiler optimises what has run some thousand times; the other peers have none."""
    settling: dict[str, float] = field(default_factory=dict)

    def parts(self) -> Sequence[Sequence[LockRow]]:
        plan = self.speeds.plan
        return plan.uncontended, plan.contended

    def warm_up(self, rows: Sequence[LockRow]) -> None:
        """Run all peers at all rows; so it is known also how long a row takes to settle. A JVM goes
        on until all it runs is compiled."""
        plan, warmed = self.plan, self.speeds.warmed
        done = dict.fromkeys(plan.peers, 0)
        seconds = plan.seconds * _WARM_UP
        for row in rows:
            cells = [self._cell(PeerTurn(row, p, 0), seconds) for p in plan.peers_at(row)]
            self.settling[row.name] = _LONGER * max(cell.settled for cell in cells)
            for cell in cells:
                done[cell.turn.peer] += cell.acquisitions
        again = cycle(rows)
        for peer in self.peers:
            while rows and isinstance(peer, JavaPeer) and done[peer.name] < self.compiled:
                turn = PeerTurn(next(again), peer.name, 0)
                done[peer.name] += self._cell(turn, seconds).acquisitions
            warmed[peer.name] = warmed.get(peer.name, 0) + done[peer.name]

    def cell(self, turn: PeerTurn[LockRow]) -> LockCell:
        return self._cell(turn, self.plan.seconds)

    def _cell(self, turn: PeerTurn[LockRow], seconds: float) -> LockCell:
        row, peer = turn.row, self.peer(turn)
        path, holds_in = self._place(row.kind, peer.name)
        pids = {**self.pids, peer.name: peer.pid}
        before = cpu_used(pids)
        plan = self._plan(row, seconds)
        patience = (plan.until_ns - time.monotonic_ns()) / 1e9 + self.patience
        contended = peer.contend(row.kind.name, path, turn.who(self.members), plan, patience)
        rounds = contended.rounds
        ended_ns = time.monotonic_ns()
        cpu = cpu_between(before, cpu_used(pids)).servers
        client_cpu = cpu.pop(peer.name, None)
        settled_ns = max(mine[0].acquired_ns if mine else ended_ns for mine in rounds)
        rate, unsettled = _rate(rounds, settled_ns, plan.until_ns, least=seconds * _LEAST)
        all_rounds = [each for mine in rounds for each in mine]
        created, left = self.pool.gate.run(_count(holds_in))
        return LockCell(
            turn,
            rate,
            (ended_ns - plan.start_ns) / 1e9,
            client_cpu,
            len(all_rounds),
            (settled_ns - plan.start_ns) / 1e9,
            cpu,
            longest_acquire=max((r.acquired_ns - r.asked_ns for r in all_rounds), default=0) / 1e9,
            longest_release=max((r.done_ns - r.released_ns for r in all_rounds), default=0) / 1e9,
            broken=_overlap(rounds, path),
            void=unsettled or _disagreement(len(all_rounds), created, left),
            thread_cpu=contended.thread_cpu,
        )

    def _place(self, kind: LockKind, peer: str) -> tuple[str, str]:
        """A fresh node for a lock, and the one below which each acquisition creates one."""
        nodes = kind.nodes(self.fresh_node(), peer)
        for node in nodes[1:]:
            self.pool.gate.create(node)
        return nodes[0], nodes[-1]

    def _plan(self, row: LockRow, seconds: float) -> RoundsPlan:
        """When to begin and when to end: soon, and so many seconds after it has settled."""
        settling = self.settling.get(row.name, _SETTLING * row.sessions)
        start = time.monotonic_ns() + int((_LEAD[0] + _LEAD[1] * row.sessions) * 1e9)
        return RoundsPlan(start, until_ns=start + int((seconds + settling) * 1e9))


def _rate(rounds: Rounds, settled_ns: int, until_ns: int, *, least: float) -> tuple[float, str]:
    """Grants in a second once it had settled, or why there is nothing to say."""
    seconds = (until_ns - settled_ns) / 1e9
    grants = sum(settled_ns < one.acquired_ns < until_ns for mine in rounds for one in mine)
    if seconds < least or not grants:
        return 0.0, "not all sessions acquired early enough: give it more --seconds"
    return grants / seconds, ""


def _count(path: str) -> Script[tuple[int, int]]:
    """How many children were ever created below this node, and how many are left."""
    yield from Sync(path)
    stat = yield from Exists(path)
    assert stat is not None
    # The server counts creates and deletes in one number.
    return (stat.cversion + stat.children) // 2, stat.children


def _overlap(rounds: Rounds, path: str) -> str:
    holds = [
        HoldInterval(f"session {number}", path, one.acquired_ns, one.released_ns)
        for number, mine in enumerate(rounds)
        for one in mine
    ]
    found = overlaps(holds)
    return str(found[0]) if found else ""


def _disagreement(acquisitions: int, created: int, left: int) -> str:
    if created != acquisitions:
        return f"the clients acquired {acquisitions} times, the servers created {created} nodes"
    return f"{left} nodes are left behind" if left else ""
