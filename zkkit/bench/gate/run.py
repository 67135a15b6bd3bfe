"""Comparing designs: making all the runs of a plan.

Before the first of them each design runs a few times to warm up, and those runs are forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from zkkit.bench.gate.gate import PATIENCE, Gate
from zkkit.bench.gate.gate_run import GateRun
from zkkit.bench.gate.judge import judge
from zkkit.bench.gate.plan import GatePlan
from zkkit.bench.kit.judgement import Judgement
from zkkit.bench.kit.pool import SessionPool
from zkkit.bench.kit.witness import Reading, Witness
from zkkit.errors import ZkkitError
from zkkit.record import Row

_WARM_UP = 16  # contenders


@dataclass
class GateOutcome:
    """Everything a comparison gave, also one that was stopped half-way."""

    plan: GatePlan
    runs: list[GateRun] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    before: Reading = field(default_factory=dict)
    after: Reading = field(default_factory=dict)
    stopped: str = ""

    @property
    def judgement(self) -> Judgement:
        plan = self.plan
        return judge(plan.designs, self.runs, population=plan.population, stopped=self.stopped)


def compare(
    plan: GatePlan,
    hosts: str,
    *,
    witness: Witness | None = None,
    pids: Mapping[str, int] | None = None,
    on_run: Callable[[GateRun], object] = lambda run: None,
    patience: float = PATIENCE,
    warm_up: int = 2,
) -> GateOutcome:
    """Make all planned runs. A run that fails stops it: then the verdict is unknown at best.

    `pids` are the servers' process ids by name, where they are known: their CPU time is noted.
    `warm_up` is how often each design runs before it counts.

    Raises ConnectFailed if the servers give no session.
    """
    witness = witness or Witness(hosts)
    outcome = GateOutcome(plan)
    sessions = 1 if plan.population == "shared" else max(plan.contenders)
    with SessionPool(hosts, sessions) as pool:
        gate = Gate(
            pool,
            witness,
            population=plan.population,
            hold=plan.hold,
            pids=pids or {},
            patience=patience,
        )
        # Of silent servers each run says so itself.
        outcome.before = witness.read_if_told()
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
        outcome.after = witness.read_if_told()
    return outcome


def _warm_up(plan: GatePlan, gate: Gate, rounds: int) -> None:
    contenders = min(_WARM_UP, max(plan.contenders))
    for design in plan.designs * rounds:
        gate.run(design, range(contenders), 0)
