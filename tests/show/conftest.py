from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import product

import pytest

from zkkit.bench.designs import HERD, SEQUENTIAL, Design
from zkkit.bench.experiment import head_of
from zkkit.bench.gate.experiment import EXPERIMENT
from zkkit.bench.gate.figures import GateResults
from zkkit.bench.gate.gate_run import GateRun
from zkkit.bench.gate.plan import GatePlan
from zkkit.bench.gate.run import GateOutcome
from zkkit.bench.kit.machine import Cpu
from zkkit.bench.kit.servers import ServerFacts


def run_of(design: str, contenders: int, fires: int, repeat: int, cpu: float) -> GateRun:
    return GateRun(
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
def make_document() -> Callable[..., GateResults]:
    """Results of a comparison that never was: herds fire as given, queues as the law says."""

    def make(
        herd: dict[int, int],
        *,
        cpu: float = 0.5,
        designs: Sequence[Design] = (HERD, SEQUENTIAL),
        population: str = "own",
        repeats: int = 2,
    ) -> GateResults:
        plan = GatePlan(tuple(designs), tuple(herd), repeats, 42, population=population)
        outcome = GateOutcome(plan)
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
        facts = ServerFacts("local", 3, "3.8.0", "memory")
        command = "zkkit compare --seed 42 & more"
        head = head_of("compare", outcome.judgement, command, datetime.now(UTC), facts)
        return EXPERIMENT.figures(outcome, head)

    return make
