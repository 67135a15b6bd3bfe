"""What is compared: a row for each figure, with the class of every peer, and the plan of the cells.

A cell is one peer at one row. The peers take turns as `peers.cells` says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from zkkit.bench.peers.cells import CURATOR, KAZOO, ZKKIT, ComparisonPlan

CANDIDATES = 6
"""How many candidates an election has; the sessions of all leaders but the last are ended."""
CONTENDERS = 5
"""Sessions that increment one number, and members of a barrier."""


@dataclass(frozen=True)
class RecipeRow:
    """One line of the comparison, and what each peer calls the recipe."""

    name: str
    unit: str
    """ "ms" of a time, "/s" of a rate."""
    sessions: int
    classes: Mapping[str, str]

    @property
    def is_rate(self) -> bool:
        return self.unit == "/s"

    def as_data(self) -> str:
        """In results.json a row is its name."""
        return self.name

    @classmethod
    def from_data(cls, name: str) -> RecipeRow:
        return ROWS[name]


_COUNTERS = {ZKKIT: "AtomicLong", KAZOO: "Counter", CURATOR: "DistributedAtomicLong"}
_CACHES = {ZKKIT: "Cache", KAZOO: "TreeCache", CURATOR: "CuratorCache"}

FAILOVER = RecipeRow(
    "failover", "ms", CANDIDATES,
    {ZKKIT: "LeaderLatch", KAZOO: "Election", CURATOR: "LeaderLatch"},
)  # fmt: skip
INCREMENTS = RecipeRow("increments", "/s", 1, _COUNTERS)
INCREMENTS_TOGETHER = RecipeRow(f"increments, {CONTENDERS} sessions", "/s", CONTENDERS, _COUNTERS)
BARRIER = RecipeRow(
    "barrier rounds", "/s", CONTENDERS,
    {ZKKIT: "DoubleBarrier", KAZOO: "DoubleBarrier", CURATOR: "DistributedDoubleBarrier"},
)  # fmt: skip
CACHE_LOAD = RecipeRow("cache load", "ms", 1, _CACHES)
CACHE_EVENT = RecipeRow("cache event", "ms", 1, _CACHES)

ROWS = {
    row.name: row
    for row in (FAILOVER, INCREMENTS, INCREMENTS_TOGETHER, BARRIER, CACHE_LOAD, CACHE_EVENT)
}


@dataclass(frozen=True)
class RecipePlan(ComparisonPlan[RecipeRow]):
    """What to measure. Raises ValueError if that is nothing."""

    peers: tuple[str, ...]
    rows: tuple[RecipeRow, ...]
    repeats: int
    seconds: float
    """How long a cell with a rate takes."""
    nodes: int
    """How many the tree has that a cache loads."""
    seed: int

    def __post_init__(self) -> None:
        if self.repeats < 1 or self.seconds <= 0 or self.nodes < 1 or not self.rows:
            raise ValueError("a plan has rows, repeats, cells of some seconds, and a tree of nodes")
