"""Measuring peers in turn, on the same servers, cell by cell."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar

from zkkit.bench.kit.machine import cpu_between, cpu_used
from zkkit.bench.kit.pool import SessionPool
from zkkit.bench.peers.cells import CellT, ComparedSpeeds, ComparisonPlan, PeerTurn, RowT
from zkkit.bench.peers.libraries import Peer
from zkkit.errors import ZkkitError
from zkkit.hosts import parse_hosts

T = TypeVar("T")
SpeedsT = TypeVar("SpeedsT", bound=ComparedSpeeds[Any, Any])


@dataclass
class PeerBench(ABC, Generic[SpeedsT, RowT, CellT]):
    """Peers, servers, and nodes to work on."""

    patience: ClassVar[float] = 60.0
    """Seconds for a peer to come to the end of what it does."""

    speeds: SpeedsT
    """What was measured so far."""
    hosts: str
    peers: Sequence[Peer]
    warm_up_cells: int = field(default=2, kw_only=True)
    """How many cells of each peer at each row are measured before anything counts."""
    pool: SessionPool = field(init=False)
    _nodes: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.members = len(parse_hosts(self.hosts).servers)
        self.plan: ComparisonPlan[RowT] = self.speeds.plan
        self._by_name = {peer.name: peer for peer in self.peers}

    def measure(self, on_cell: Callable[[CellT], object] = lambda cell: None) -> SpeedsT:
        """Measure all cells. One that fails stops it: then the verdict is unknown at best. Raises
        ConnectFailed if the servers give no session."""
        with SessionPool(self.hosts, 0) as self.pool:
            try:
                for rows in self.parts():
                    self._measure(rows, on_cell)
            except ZkkitError as error:
                self.speeds.stopped = f"the measuring was stopped: {error}"
        self.speeds.versions = {peer.name: peer.version for peer in self.peers}
        return self.speeds

    def _measure(self, rows: Sequence[RowT], on_cell: Callable[[CellT], object]) -> None:
        sessions = max(self.members, *(row.sessions for row in rows), 0)
        for peer in self.peers:
            peer.open(sessions, self.patience)
        self.warm_up(rows)
        for turn in self.plan.turns(rows):
            self.speeds.cells.append(self.cell(turn))
            on_cell(self.speeds.cells[-1])

    def parts(self) -> Sequence[Sequence[RowT]]:
        """The rows, part by part: each has its own sessions, its own warm-up and its repeats."""
        return [self.plan.rows]

    def warm_up(self, rows: Sequence[RowT]) -> None:
        """Run all peers at all rows before anything counts."""
        for row in rows:
            for name in self.plan.peers_at(row):
                for _ in range(self.warm_up_cells):
                    self.cell(PeerTurn(row, name, 0))

    @abstractmethod
    def cell(self, turn: PeerTurn[RowT]) -> CellT:
        """Measure one cell."""

    def peer(self, turn: PeerTurn[RowT]) -> Peer:
        """The peer whose turn it is."""
        return self._by_name[turn.peer]

    def metered(self, peer: Peer, act: Callable[[], T]) -> tuple[T, float, float | None]:
        """What an act of a peer gives, and the seconds and the CPU seconds that it took; None if
        the system does not tell these."""
        before, began = cpu_used({peer.name: peer.pid}), time.monotonic()
        found = act()
        seconds = time.monotonic() - began
        cpu = cpu_between(before, cpu_used({peer.name: peer.pid})).servers
        return found, seconds, cpu.get(peer.name)

    def fresh_node(self) -> str:
        """The path of a node that was created just now."""
        self._nodes += 1
        path = f"{self.pool.root}/{self._nodes}"
        self.pool.gate.create(path)
        return path
