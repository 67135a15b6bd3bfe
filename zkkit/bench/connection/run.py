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
from functools import cached_property

from zkkit.bench.connection.cells import ConnectionCell, ConnectionSpeeds
from zkkit.bench.connection.plan import ConnectionRow
from zkkit.bench.kit.pool import wait_for_servers
from zkkit.bench.kit.witness import Reading, Witness
from zkkit.bench.peers.cells import PeerTurn
from zkkit.bench.peers.libraries import Rounds
from zkkit.bench.peers.measuring import PeerBench
from zkkit.bench.peers.rounds import RoundsPlan
from zkkit.steps import Exists, Script, Sync

_LEAD = (0.05, 0.002)  # seconds to start all threads: for all, and for each session
_PACKETS = "zk_packets_received"


class ConnectionBench(PeerBench[ConnectionSpeeds, ConnectionRow, ConnectionCell]):
    """Peers, servers, and a node to work on."""

    @cached_property
    def path(self) -> str:
        """The node that all peers work on."""
        path = self.fresh_node()
        wait_for_servers(self.hosts, path)
        return path

    @cached_property
    def witness(self) -> Witness:
        """What counts beside the peers."""
        return Witness(self.hosts)

    def cell(self, turn: PeerTurn[ConnectionRow]) -> ConnectionCell:
        row, peer = turn.row, self.peer(turn)
        sets, packets = self._version(), self.witness.read_if_told()
        lead = _LEAD[0] + _LEAD[1] * row.sessions
        start = time.monotonic_ns() + int(lead * 1e9)
        plan = RoundsPlan(start, until_ns=start + int(self.plan.seconds * 1e9))
        who, patience = turn.who(self.members), lead + self.plan.seconds + self.patience
        contended, seconds, cpu = self.metered(
            peer, lambda: peer.contend(row.kind, self.path, who, plan, patience)
        )
        rounds = contended.rounds
        operations = sum(len(mine) for mine in rounds) * row.operations
        void = self._disagreement(row, operations, sets, packets)
        value = _value(row, rounds, plan.start_ns)
        void = void if value else "no answer"
        return ConnectionCell(turn, value, seconds, cpu, operations, void=void)

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
        if packets >= operations:
            return ""
        return f"{operations} operations were told, and the servers received {packets} packets"


def _value(row: ConnectionRow, rounds: Rounds, start_ns: int) -> float:
    """What a cell measured, in the unit of its row; 0 if nothing was answered."""
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
