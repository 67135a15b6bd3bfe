"""From runs to figures: one for each design and number of contenders, over all repeats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from zkkit.bench.designs import Design
from zkkit.bench.gate.gate_run import GateRun
from zkkit.bench.gate.plan import GatePlan
from zkkit.bench.kit.results import Results
from zkkit.bench.kit.statistics import Spread, percentile, spread, spread_of
from zkkit.bench.laws import Law


@dataclass(frozen=True)
class Bound:
    """What the law says about one count."""

    relation: str
    count: int


@dataclass(frozen=True)
class GateFigure:
    """What all runs of one design with one number of contenders say, beside what the law says."""

    design: str
    contenders: int
    runs: int
    void: int
    law: Mapping[str, Bound]
    fires: Spread
    server_fires: Spread | None
    creates: Spread
    wakeups: Spread
    useful_share: Spread | None
    queueing_fires: Spread
    requests_each: Spread
    overtakings: Spread
    handoff_ms: Spread | None
    handoff_p90_ms: Spread | None
    total_ms: Spread
    saturated: int

    def count(self, what: str) -> Spread:
        """One of the counts that a law predicts, by its name."""
        found: Spread = getattr(self, what)
        return found


@dataclass(frozen=True)
class GateResults(Results):
    """What results.json says about a comparison."""

    experiment: ClassVar[str] = "gate"
    plan: GatePlan
    figures: tuple[GateFigure, ...]
    runs: tuple[GateRun, ...]

    def of_design(self, name: str) -> list[GateFigure]:
        """The figures of one design, by contenders."""
        return [figure for figure in self.figures if figure.design == name]

    def of_most(self) -> list[GateFigure]:
        """The figures of all designs with the most contenders."""
        return [f for f in self.figures if f.contenders == self.figures[-1].contenders]


def figures(plan: GatePlan, runs: Sequence[GateRun]) -> tuple[GateFigure, ...]:
    """What the runs say, beside what the law says; by contenders, then by design."""
    found = []
    for contenders in sorted({run.contenders for run in runs}):
        for design in plan.designs:
            mine = [r for r in runs if (r.design, r.contenders) == (design.name, contenders)]
            if mine:
                found.append(_figure(design, design.law_of(plan.population), contenders, mine))
    return tuple(found)


def _figure(design: Design, law: Law, contenders: int, runs: Sequence[GateRun]) -> GateFigure:
    return GateFigure(
        design=design.name,
        contenders=contenders,
        runs=len(runs),
        void=sum(bool(run.void) for run in runs),
        law={w: Bound(term.relation, term.of(contenders)) for w, term in law.terms().items()},
        fires=spread_of(run.fires for run in runs),
        server_fires=spread(run.server_fires for run in runs),
        creates=spread_of(run.creates for run in runs),
        wakeups=spread_of(run.wakeups for run in runs),
        useful_share=spread(run.useful_share for run in runs),
        queueing_fires=spread_of(run.queueing_fires for run in runs),
        requests_each=spread_of(run.requests_each for run in runs),
        overtakings=spread_of(run.overtakings for run in runs),
        handoff_ms=spread(percentile(run.handoffs_ms, 50) for run in runs),
        handoff_p90_ms=spread(percentile(run.handoffs_ms, 90) for run in runs),
        total_ms=spread_of(run.seconds * 1e3 for run in runs),
        saturated=sum(run.saturated for run in runs),
    )
