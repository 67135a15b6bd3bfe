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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from zkkit.bench.connection.cells import ConnectionCell, ConnectionSpeeds
from zkkit.bench.connection.plan import ConnectionPlan, ConnectionRow
from zkkit.bench.kit.machine import cpu_between, cpu_used
from zkkit.bench.kit.pool import SessionPool, wait_for_servers
from zkkit.bench.kit.witness import Reading, Witness
from zkkit.bench.peers.cells import PeerTurn
from zkkit.bench.peers.libraries import Peer, Rounds
from zkkit.bench.peers.measuring import WARM_UP, PeerBench
from zkkit.bench.peers.rounds import RoundsPlan
from zkkit.steps import Exists, Script, Sync

_LEAD = (0.05, 0.002)  # seconds to start all threads: for all, and for each session
_PACKETS = "zk_packets_received"


def measure(
    plan: ConnectionPlan,
    hosts: str,
    peers: Sequence[Peer],
    *,
    warm_up: int = WARM_UP,
    on_cell: Callable[[ConnectionCell], object] = lambda cell: None,
) -> ConnectionSpeeds:
    """Measure all cells. One that fails stops it: then the verdict is unknown at best. Raises
    ConnectFailed if the servers give no session."""
    with SessionPool(hosts, 0) as pool:
        bench = ConnectionBench(
            speeds=ConnectionSpeeds(plan),
            hosts=hosts,
            pool=pool,
            peers={peer.name: peer for peer in peers},
            warm_up_cells=warm_up,
            witness=Witness(hosts),
        )
        wait_for_servers(hosts, bench.path)
        return bench.measured(on_cell)


@dataclass(kw_only=True)
class ConnectionBench(PeerBench[ConnectionSpeeds, ConnectionRow, ConnectionCell]):
    """Peers, servers, and a node to work on."""

    witness: Witness

    @cached_property
    def path(self) -> str:
        """The node that all peers work on."""
        return self.fresh_node()

    def cell(self, turn: PeerTurn[ConnectionRow]) -> ConnectionCell:
        """Measure one cell."""
        row, peer = turn.row, self.peers[turn.peer]
        sets, packets = self._version(), self.witness.read_if_told()
        before, began = cpu_used({peer.name: peer.pid}), time.monotonic()
        lead = _LEAD[0] + _LEAD[1] * row.sessions
        start = time.monotonic_ns() + int(lead * 1e9)
        plan = RoundsPlan(start, until_ns=start + int(self.plan.seconds * 1e9))
        patience = lead + self.plan.seconds + self.patience
        rounds = peer.contend(row.kind, self.path, turn.who(self.members), plan, patience).rounds
        seconds = time.monotonic() - began
        cpu = cpu_between(before, cpu_used({peer.name: peer.pid})).servers.get(peer.name)
        operations = sum(len(mine) for mine in rounds) * row.operations
        void = self._disagreement(row, operations, sets, packets)
        value = _value(row, rounds, plan.start_ns)
        return ConnectionCell(
            turn=turn,
            value=value,
            operations=operations,
            seconds=seconds,
            client_cpu=cpu,
            void=void if value else "no answer",
        )

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
