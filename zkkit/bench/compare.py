"""Comparing designs: the plan of the runs, and running it.

The whole plan is run forwards, then backwards, and so on (A B B A), so that a machine that grows
warmer, or a JVM that grows faster, favours neither a design nor a number of contenders. Before
that each design runs a few times to warm up, and those runs are forgotten.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

from zkkit.bench.designs import DESIGNS, Design
from zkkit.bench.gate import PATIENCE, Gate
from zkkit.bench.laws import POPULATIONS
from zkkit.bench.pool import Pool
from zkkit.bench.run import Run
from zkkit.bench.verdict import Judgement, judge
from zkkit.bench.witness import Reading, Witness, WitnessSilent
from zkkit.errors import ZkkitError
from zkkit.record import Row

_WARM_UP = 16  # contenders


class MixedDesigns(ZkkitError, ValueError):
    """Designs whose contenders do not want the same."""


@dataclass(frozen=True)
class Planned:
    """One run to be made."""

    design: Design
    contenders: int
    repeat: int


@dataclass(frozen=True)
class Plan:
    """What to compare. The seed decides who contends and in which order they arrive; it is the
    same for all designs."""

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
        if len({design.reads for design in self.designs}) > 1:
            raise MixedDesigns(
                "these designs cannot be compared with each other: in some all contenders want "
                "the lock for themselves, in the others half of them only read",
                hint="compare designs of one kind: "
                + ", or ".join(
                    ",".join(design.name for design in DESIGNS.values() if design.reads is reads)
                    for reads in (False, True)
                ),
            )

    def runs(self) -> Iterator[Planned]:
        """All runs in their order: ABBA."""
        once = list(product(self.contenders, self.designs))
        for repeat in range(self.repeats):
            for contenders, design in once if repeat % 2 == 0 else reversed(once):
                yield Planned(design, contenders, repeat)

    def __len__(self) -> int:
        return len(self.designs) * len(self.contenders) * self.repeats

    def order(self, planned: Planned) -> list[int]:
        """The numbers of those who contend, as they shall arrive."""
        seed = f"{self.seed}/{planned.contenders}/{planned.repeat}"
        return random.Random(seed).sample(range(max(self.contenders)), planned.contenders)


@dataclass
class Outcome:
    """Everything a comparison gave, also one that was stopped half-way."""

    plan: Plan
    runs: list[Run] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    before: Reading = field(default_factory=dict)
    after: Reading = field(default_factory=dict)
    stopped: str = ""

    @property
    def judgement(self) -> Judgement:
        plan = self.plan
        return judge(plan.designs, self.runs, population=plan.population, stopped=self.stopped)


def compare(
    plan: Plan,
    hosts: str,
    *,
    witness: Witness | None = None,
    pids: Mapping[str, int] | None = None,
    on_run: Callable[[Run], object] = lambda run: None,
    patience: float = PATIENCE,
    warm_up: int = 2,
) -> Outcome:
    """Make all planned runs. A run that fails stops it: then the verdict is unknown at best.

    `pids` are the servers' process ids by name, where they are known: their CPU time is noted.
    `warm_up` is how often each design runs before it counts.
    """
    witness = witness or Witness(hosts)
    outcome = Outcome(plan)
    sessions = 1 if plan.population == "shared" else max(plan.contenders)
    with Pool(hosts, sessions) as pool:
        gate = Gate(
            pool,
            witness,
            population=plan.population,
            hold=plan.hold,
            pids=pids,
            patience=patience,
        )
        outcome.before = _all_metrics(witness)
        try:
            _warm_up(plan, gate, warm_up)
            for planned in plan.runs():
                run, rows = gate.run(planned.design, plan.order(planned), planned.repeat)
                outcome.runs.append(run)
                outcome.rows += rows
                on_run(run)
        except ZkkitError as error:
            done = f"stopped after {len(outcome.runs)} of {len(plan)} runs"
            outcome.stopped = f"{done}: {error}"
        outcome.after = _all_metrics(witness)
    return outcome


def _warm_up(plan: Plan, gate: Gate, rounds: int) -> None:
    contenders = min(_WARM_UP, max(plan.contenders))
    for design in plan.designs * rounds:
        gate.run(design, range(contenders), 0)


def _all_metrics(witness: Witness) -> Reading:
    try:
        return witness.read()
    except WitnessSilent:
        return {}  # each run says so itself
