"""What was measured, cell by cell, and whether it can be trusted."""

from __future__ import annotations

from dataclasses import dataclass

from zkkit.bench.kit.judgement import Judgement
from zkkit.bench.peers.cells import ComparedSpeeds, MeasuredCell, PeerTurn
from zkkit.bench.peers.comparison import doubted
from zkkit.bench.recipes.plan import RecipePlan, RecipeRow


@dataclass(frozen=True)
class RecipeCell(MeasuredCell):
    """What one peer did at one row in one repeat."""

    turn: PeerTurn[RecipeRow]
    samples: int
    """How many failovers, increments, rounds, loads or events it is made of."""


RecipeSpeeds = ComparedSpeeds[RecipePlan, RecipeCell]


def judge(speeds: RecipeSpeeds) -> Judgement:
    """Whether the figures can be trusted: not whether they please."""
    return doubted(speeds, "recipe") or Judgement(
        "holds",
        f"The figures count: in all {len(speeds.cells)} cells there was one leader at a time, "
        "every increment was counted once, nobody passed a barrier before all had come, and the "
        "caches told every node.",
    )
