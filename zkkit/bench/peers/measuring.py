"""Measuring peers in turn, on the same servers, cell by cell."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar

from zkkit.bench.kit.pool import SessionPool
from zkkit.bench.peers.cells import CellT, ComparedSpeeds, ComparisonPlan, PeerTurn, RowT
from zkkit.bench.peers.libraries import Peer
from zkkit.errors import ZkkitError
from zkkit.hosts import parse_hosts

WARM_UP = 2
"""How many cells of each peer at each row are measured before anything counts."""

SpeedsT = TypeVar("SpeedsT", bound=ComparedSpeeds[Any, Any])


@dataclass(kw_only=True)
class PeerBench(ABC, Generic[SpeedsT, RowT, CellT]):
    """Peers, servers, and nodes to work on."""

    patience: ClassVar[float] = 60.0
    """Seconds for a peer to come to the end of what it does."""

    speeds: SpeedsT
    hosts: str
    pool: SessionPool
    peers: Mapping[str, Peer]
    warm_up_cells: int = WARM_UP
    _paths: int = 0

    @property
    def plan(self) -> ComparisonPlan[RowT]:
        """What is measured."""
        plan: ComparisonPlan[RowT] = self.speeds.plan
        return plan

    @cached_property
    def members(self) -> int:
        """How many servers there are."""
        return len(parse_hosts(self.hosts).servers)

    def measured(self, on_cell: Callable[[CellT], object]) -> SpeedsT:
        """Measure all cells. One that fails stops it: then the verdict is unknown at best."""
        speeds = self.speeds
        try:
            for rows in self.parts():
                most = max((row.sessions for row in rows), default=0)
                for peer in self.peers.values():
                    peer.open(max(most, self.members), self.patience)
                self.warm_up(rows)
                for turn in self.plan.turns(rows):
                    speeds.cells.append(self.cell(turn))
                    on_cell(speeds.cells[-1])
        except ZkkitError as error:
            speeds.stopped = f"the measuring was stopped: {error}"
        speeds.versions = {peer.name: peer.version for peer in self.peers.values()}
        return speeds

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

    def fresh_node(self) -> str:
        """The path of a node that was created just now."""
        self._paths += 1
        path = f"{self.pool.root}/{self._paths}"
        self.pool.gate.create(path)
        return path
