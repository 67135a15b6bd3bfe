"""What was measured, cell by cell, and whether it can be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from zkkit.bench.kit.judgement import Judgement, first_of
from zkkit.bench.peers.comparison import doubted, is_saturated
from zkkit.bench.recipes.plan import RecipePlan, RecipeTurn


@dataclass(frozen=True)
class RecipeCell:
    """What one peer did at one row in one repeat."""

    turn: RecipeTurn
    value: float
    """In the unit of its row; of times it is the median."""
    samples: int
    """How many failovers, increments, rounds, loads or events it is made of."""
    seconds: float
    client_cpu: float | None
    """Seconds; None if the system does not tell."""
    broken: str = ""
    """Which promise of the recipe was not kept."""
    void: str = ""
    """Why it counts for nothing."""

    @property
    def saturated(self) -> bool:
        """Whether the client's interpreter was at its limit."""
        return is_saturated(self.turn.peer, self.client_cpu, self.seconds)

    @property
    def name(self) -> str:
        return f"{self.turn.row.name}, {self.turn.peer}, repeat {self.turn.repeat + 1}"


@dataclass
class RecipeSpeeds:
    """Everything that was measured, also if it was stopped half-way."""

    plan: RecipePlan
    versions: Mapping[str, str] = field(default_factory=dict)
    cells: list[RecipeCell] = field(default_factory=list)
    stopped: str = ""
    left_out: str = ""
    """Which peer this machine does not have, and how to get it."""


def judge(speeds: RecipeSpeeds) -> Judgement:
    """Whether the figures can be trusted: not whether they please."""
    cells = speeds.cells
    broken = [f"{cell.name}: {cell.broken}" for cell in cells if cell.broken]
    if broken:
        return Judgement("broken", f"A recipe is broken: {first_of(broken)}.")
    doubt = doubted(cells, len(speeds.plan), speeds.stopped)
    if doubt is not None:
        return doubt
    return Judgement(
        "holds",
        f"The figures count: in all {len(cells)} cells there was one leader at a time, every "
        "increment was counted once, nobody passed a barrier before all had come, and the caches "
        "told every node.",
    )
