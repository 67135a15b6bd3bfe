from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import product
from typing import Any

import pytest

from zkkit.bench.compare import Outcome, Plan
from zkkit.bench.designs import HERD, SEQUENTIAL, Design
from zkkit.bench.machine import Cpu
from zkkit.bench.results import results
from zkkit.bench.run import Run

Document = dict[str, Any]


def run_of(design: str, contenders: int, fires: int, repeat: int, cpu: float) -> Run:
    return Run(
        design=design,
        contenders=contenders,
        repeat=repeat,
        fires=fires,
        creates=fires,
        wakeups=fires,
        useful_wakeups=contenders,
        queueing_fires=0,
        requests=5 * contenders,
        overtakings=0,
        handoffs_ms=tuple(1.0 + fires / 10 + i for i in range(contenders)),
        server_fires=fires,
        seconds=1.0,
        cpu=Cpu(cpu, {}),
    )


@pytest.fixture
def make_document() -> Callable[..., Document]:
    """Results of a comparison that never was: herds fire as given, queues as the law says."""

    def make(
        herd: dict[int, int],
        *,
        cpu: float = 0.5,
        designs: Sequence[Design] = (HERD, SEQUENTIAL),
        population: str = "own",
        repeats: int = 2,
    ) -> Document:
        plan = Plan(tuple(designs), tuple(herd), repeats, 42, population=population)
        outcome = Outcome(plan)
        for contenders, fires in herd.items():
            for repeat, design in product(range(repeats), designs):
                queue = design.law.wakeups.exact
                outcome.runs.append(
                    run_of(
                        design.name,
                        contenders,
                        contenders if queue else fires,
                        repeat,
                        cpu / 2 if queue else cpu,
                    )
                )
        return results(
            outcome,
            name="compare",
            command="zkkit compare --seed 42 & more",
            started=datetime.now(UTC),
            ensemble={
                "backend": "local",
                "size": 3,
                "zookeeper": "3.8.0",
                "medium": "memory",
            },
        )

    return make
