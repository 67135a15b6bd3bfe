"""The plan of the runs.

The whole plan is run forwards, then backwards, and so on (A B B A), so that a machine that grows
warmer, or a JVM that grows faster, favours neither a design nor a number of contenders.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from zkkit.bench.designs import DESIGNS, Design
from zkkit.bench.laws import POPULATIONS
from zkkit.errors import ZkkitError


class MixedDesigns(ZkkitError, ValueError):
    """Designs whose contenders do not want the same."""


@dataclass(frozen=True)
class PlannedRun:
    """One run to be made."""

    design: Design
    contenders: int
    repeat: int


@dataclass(frozen=True)
class GatePlan:
    """What to compare. The seed decides who contends and in which order they arrive; it is the
    same for all designs.

    Raises ValueError if there is nothing to run or no such population, MixedDesigns (a ValueError
    as well) if the contenders of these designs do not want the same.
    """

    designs: tuple[Design, ...]
    contenders: tuple[int, ...]
    repeats: int
    seed: int
    hold: float = 0.0
    """Seconds each contender holds the lock."""
    population: str = "own"
    """One of POPULATIONS: who the contenders are."""

    def __post_init__(self) -> None:
        if not self.designs or not self.contenders or self.repeats < 1:
            raise ValueError("a plan has at least one design, one number of contenders, one repeat")
        if min(self.contenders) < 1:
            raise ValueError(f"a run has at least one contender, not {min(self.contenders)}")
        if self.population not in POPULATIONS:
            raise ValueError(
                f"there is no population {self.population!r}: use one of {', '.join(POPULATIONS)}"
            )
        if len({design.kind for design in self.designs}) > 1:
            raise MixedDesigns(
                "these designs cannot be compared with each other: in some all contenders want "
                "the lock for themselves, in others half of them only read, or they want to lead",
                hint="compare designs of one kind: "
                + ", or ".join(
                    ",".join(design.name for design in DESIGNS.values() if design.kind == kind)
                    for kind in dict.fromkeys(design.kind for design in DESIGNS.values())
                ),
            )
        if self.elections and self.population == "shared":
            raise MixedDesigns(
                "elections are not measured on one object: a candidate stands for itself",
                hint="leave out --population shared",
            )

    def runs(self) -> Iterator[PlannedRun]:
        """All runs in their order: ABBA."""
        once = list(product(self.contenders, self.designs))
        for repeat in range(self.repeats):
            for contenders, design in once if repeat % 2 == 0 else reversed(once):
                yield PlannedRun(design, contenders, repeat)

    def __len__(self) -> int:
        return len(self.designs) * len(self.contenders) * self.repeats

    def order(self, planned: PlannedRun) -> list[int]:
        """The numbers of those who contend, as they shall arrive."""
        seed = f"{self.seed}/{planned.contenders}/{planned.repeat}"
        return random.Random(seed).sample(range(max(self.contenders)), planned.contenders)

    @property
    def readers(self) -> bool:
        """Whether some of the contenders read."""
        return self.designs[0].reads

    @property
    def elections(self) -> bool:
        """Whether the contenders want to lead."""
        return self.designs[0].elects
