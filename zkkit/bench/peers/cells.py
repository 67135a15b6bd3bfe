"""What is measured where peers are compared: rows, whose turn it is, cells.

In a repeat the peers of a row run one after the other, and in the next repeat the other way round,
the rows too (ABBA); every two repeats begin another order, until each order has been. So neither a
machine that grows warmer nor a JVM that grows faster favours a peer, and the peers of one repeat
can be compared as a pair.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from zkkit.bench.kit.machine import SATURATED

ZKKIT, KAZOO, CURATOR = "zkkit", "kazoo", "Curator"
ASYNCIO = "zkkit on asyncio"
"""The same recipes and operations of zkkit, awaited: all sessions of the process on one loop."""
OURS = (ZKKIT, ASYNCIO)
"""The peers that are compared with the others."""


class ComparedRow(Protocol):
    """One line of a comparison: so many sessions of a peer do something."""

    @property
    def name(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def is_rate(self) -> bool: ...
    @property
    def sessions(self) -> int: ...


RowT = TypeVar("RowT", bound=ComparedRow)


@dataclass(frozen=True)
class PeerTurn(Generic[RowT]):
    """One cell to be measured."""

    row: RowT
    peer: str
    repeat: int

    def who(self, members: int) -> Sequence[int]:
        """The numbers of the sessions that take part. One that is alone is at one of the `members`
        servers after the other: clients of the leader are served faster."""
        return [self.repeat % members] if self.row.sessions == 1 else range(self.row.sessions)


class ComparisonPlan(Generic[RowT]):
    """What to measure: dataclasses with these fields, and what their experiments add. The seed
    decides in which order the peers' orders come."""

    peers: tuple[str, ...]
    repeats: int
    seconds: float
    """How long a cell of a rate takes."""
    seed: int

    if TYPE_CHECKING:  # else a dataclass would take it for the default of its field

        @property
        def rows(self) -> tuple[RowT, ...]: ...

    def peers_at(self, row: RowT) -> tuple[str, ...]:
        """The peers that are measured at this row."""
        return self.peers

    def turns(self, rows: Sequence[RowT] | None = None) -> Iterator[PeerTurn[RowT]]:
        """All cells, or those of these rows, in their order."""
        orders = [order for order in permutations(self.peers) if order <= order[::-1]]
        random.Random(self.seed).shuffle(orders)
        for repeat in range(self.repeats):
            order = orders[repeat // 2 % len(orders)]
            forwards = [
                PeerTurn(row, peer, repeat)
                for row in (self.rows if rows is None else rows)
                for peer in order
                if peer in self.peers_at(row)
            ]
            yield from forwards if repeat % 2 == 0 else reversed(forwards)

    def __len__(self) -> int:
        return sum(len(self.peers_at(row)) for row in self.rows) * self.repeats


@dataclass(frozen=True)
class MeasuredCell:
    """What one peer did at one row in one repeat."""

    turn: PeerTurn[Any]
    value: float
    """What it measured, in the unit of its row: a rate, or the median of times."""
    seconds: float
    client_cpu: float | None
    """The CPU seconds of its process; None if the system does not tell."""
    broken: str = field(default="", kw_only=True)
    """Which promise was not kept."""
    void: str = field(default="", kw_only=True)
    """Why it counts for nothing."""

    @property
    def name(self) -> str:
        return f"{self.turn.row.name}, {self.turn.peer}, repeat {self.turn.repeat + 1}"

    @property
    def speed(self) -> float:
        """How fast it was: the more, the faster."""
        return self.value if self.turn.row.is_rate else 1 / self.value

    @property
    def saturated(self) -> bool:
        """Whether the client was at the limit of one interpreter; no if the system does not tell.
        Java has no such limit."""
        return self.turn.peer != CURATOR and (self.client_cpu or 0.0) / self.seconds > SATURATED


PlanT = TypeVar("PlanT", bound=ComparisonPlan[Any])
CellT = TypeVar("CellT", bound=MeasuredCell)


@dataclass
class ComparedSpeeds(Generic[PlanT, CellT]):
    """Everything that was measured, also if it was stopped half-way."""

    plan: PlanT
    versions: Mapping[str, str] = field(default_factory=dict)
    cells: list[CellT] = field(default_factory=list)
    stopped: str = ""
    left_out: str = ""
    """Which peer this machine does not have, and how to get it."""
