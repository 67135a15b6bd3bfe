"""Round trips, flights and many sessions: kazoo's connection and zkkit's in turn.

In a cell every session of a peer does the same operation on one node, again and again, for some
seconds. Of a round trip the figure is the median time; of the others the sum of what each caller
did in a second. Everything the peer's process used meanwhile counts as CPU.

Each cell has witnesses: the version of the node says how often it was set; every exists must give
the node's stat; and the servers received at least as many packets as the client says it did
operations.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from zkkit.bench.connection.cells import ConnectionCell, ConnectionSpeeds
from zkkit.bench.connection.plan import ConnectionPlan, ConnectionRow, ConnectionTurn
from zkkit.bench.kit.machine import cpu_between, cpu_used
from zkkit.bench.kit.pool import SessionPool, wait_for_servers
from zkkit.bench.kit.witness import Reading, Witness
from zkkit.bench.peers.libraries import Peer, Rounds
from zkkit.bench.peers.rounds import RoundsPlan
from zkkit.errors import ZkkitError
from zkkit.hosts import parse_hosts
from zkkit.steps import Exists, Script, Sync

_LEAD = (0.05, 0.002)  # seconds to start all threads: for all, and for each session
_PATIENCE = 60.0  # seconds for a peer to come to the end of a cell whose time is over
_WARM_UP = 2  # cells of each peer at each row before anything counts
_PACKETS = "zk_packets_received"


def measure(
    plan: ConnectionPlan,
    hosts: str,
    peers: Sequence[Peer],
    *,
    warm_up: int = _WARM_UP,
    on_cell: Callable[[ConnectionCell], object] = lambda cell: None,
) -> ConnectionSpeeds:
    """Measure all cells. One that fails stops it: then the verdict is unknown at best. Raises
    ConnectFailed if the servers give no session."""
    speeds = ConnectionSpeeds(plan)
    members = len(parse_hosts(hosts).servers)
    with SessionPool(hosts, 0) as pool:
        path = f"{pool.root}/node"
        pool.gate.create(path)
        wait_for_servers(hosts, path)
        by_name = {peer.name: peer for peer in peers}
        bench = _Bench(pool, by_name, plan, members, Witness(hosts), path)
        try:
            for peer in peers:
                peer.open(max(members, *(row.sessions for row in plan.rows)), _PATIENCE)
            for row in plan.rows:
                for peer in peers:
                    for _ in range(warm_up):
                        bench.cell(ConnectionTurn(row, peer.name, 0))
            for turn in plan.turns():
                speeds.cells.append(bench.cell(turn))
                on_cell(speeds.cells[-1])
        except ZkkitError as error:
            speeds.stopped = f"the measuring was stopped: {error}"
    speeds.versions = {peer.name: peer.version for peer in peers}
    return speeds


@dataclass
class _Bench:
    """Peers, servers, and nodes to work on."""

    pool: SessionPool
    peers: Mapping[str, Peer]
    plan: ConnectionPlan
    members: int
    """How many servers there are."""
    witness: Witness
    path: str

    def cell(self, turn: ConnectionTurn) -> ConnectionCell:
        """Measure one cell."""
        row, peer = turn.row, self.peers[turn.peer]
        sets, packets = self._version(), self.witness.read_if_told()
        before, began = cpu_used({peer.name: peer.pid}), time.monotonic()
        lead = _LEAD[0] + _LEAD[1] * row.sessions
        start = time.monotonic_ns() + int(lead * 1e9)
        plan = RoundsPlan(start, until_ns=start + int(self.plan.seconds * 1e9))
        patience = lead + self.plan.seconds + _PATIENCE
        rounds = peer.contend(row.kind, self.path, self._who(turn), plan, patience).rounds
        seconds = time.monotonic() - began
        cpu = cpu_between(before, cpu_used({peer.name: peer.pid})).servers.get(peer.name)
        operations = sum(len(mine) for mine in rounds) * row.operations
        void = self._disagreement(row, operations, sets, packets)
        value = _value(row, rounds, plan.start_ns)
        return ConnectionCell(turn, value, operations, seconds, cpu, void if value else "no answer")

    def _who(self, turn: ConnectionTurn) -> Sequence[int]:
        """Alone it is at one server after the other: clients of the leader are served faster."""
        if turn.row.sessions == 1:
            return [turn.repeat % self.members]
        return range(turn.row.sessions)

    def _version(self) -> int:
        """How often the node was set."""
        return self.pool.gate.run(_version(self.path))

    def _disagreement(
        self, row: ConnectionRow, operations: int, version: int, before: Reading
    ) -> str:
        """What speaks against the client's own count."""
        sets = self._version() - version
        if sets != (operations if row.kind == "set" else 0):
            return f"{operations} operations were told, and the node was set {sets} times"
        after = self.witness.read_if_told()
        if not (before and after):
            return ""  # servers that tell nothing
        packets = sum(int(after[m][_PACKETS]) - int(before[m][_PACKETS]) for m in after)
        return (
            ""
            if packets >= operations
            else (f"{operations} operations were told, and the servers received {packets} packets")
        )


def _value(row: ConnectionRow, rounds: Rounds, start_ns: int) -> float:
    """In the row's unit; 0 if nothing was answered."""
    answered = [mine for mine in rounds if mine]
    if row.is_rate:
        # Each caller's own rate until its last answer: the last flight of each counts as a whole.
        return sum(
            len(mine) * row.operations / (mine[-1].acquired_ns - start_ns) * 1e9
            for mine in answered
        )
    times = [(one.acquired_ns - one.asked_ns) / 1e3 for mine in answered for one in mine]
    return statistics.median(times) if times else 0.0


def _version(path: str) -> Script[int]:
    """How often a node was set."""
    yield from Sync(path)
    stat = yield from Exists(path)
    assert stat is not None
    return stat.version
