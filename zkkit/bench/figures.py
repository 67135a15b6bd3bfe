"""From runs to figures: one for each design and number of contenders, over all repeats."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from zkkit.bench.designs import Design
from zkkit.bench.laws import Law
from zkkit.bench.run import Run, percentile


class Spread(NamedTuple):
    """The median over the repeats, with the smallest and the greatest value beside it."""

    median: float
    low: float
    high: float


def spread(values: Iterable[float | None]) -> Spread | None:
    """The spread of the values that are there; None if none is."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return Spread(*(round(v, 4) for v in (statistics.median(known), min(known), max(known))))


def figures(
    designs: Sequence[Design], runs: Sequence[Run], population: str = "own"
) -> list[dict[str, Any]]:
    """What the runs that count say, beside what the law says; by contenders, then by design."""
    found = []
    for contenders in sorted({run.contenders for run in runs}):
        for design in designs:
            mine = [r for r in runs if (r.design, r.contenders) == (design.name, contenders)]
            if mine:
                found.append(_figure(design, design.law_of(population), contenders, mine))
    return found


def _figure(design: Design, law: Law, contenders: int, runs: Sequence[Run]) -> dict[str, Any]:
    counts = {
        "fires": spread(run.fires for run in runs),
        "server_fires": spread(run.server_fires for run in runs),
        "creates": spread(run.creates for run in runs),
        "wakeups": spread(run.wakeups for run in runs),
        "useful_share": spread(run.useful_share for run in runs),
        "queueing_fires": spread(run.queueing_fires for run in runs),
        "requests_each": spread(run.requests_each for run in runs),
        "overtakings": spread(run.overtakings for run in runs),
        "handoff_ms": spread(percentile(run.handoffs_ms, 50) for run in runs),
        "handoff_p90_ms": spread(percentile(run.handoffs_ms, 90) for run in runs),
        "total_ms": spread(run.seconds * 1e3 for run in runs),
    }
    return {
        "design": design.name,
        "contenders": contenders,
        "runs": len(runs),
        "void": sum(bool(run.void) for run in runs),
        "law": {
            what: {"relation": term.relation, "count": term.of(contenders)}
            for what, term in law.terms().items()
        },
        **{name: value and value._asdict() for name, value in counts.items()},
        "saturated": sum(run.saturated for run in runs),
    }
