"""What a load test gives, typed: what results.json says, and what is written beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from loadtests.figures import LoadLine, StepFigure
from loadtests.trial import LoadTrial
from loadtests.turns import user_name
from zkkit.bench.kit.judgement import Judgement
from zkkit.bench.kit.results import Results, ServerMetrics
from zkkit.hooks import Event
from zkkit.record import Row


@dataclass(frozen=True)
class LoadPlan:
    """What was asked for; `step_s` is None if the last step is held until it is stopped."""

    designs: tuple[str, ...]
    users: tuple[int, ...]
    repeats: int
    order: str
    step_s: float | None
    hold_ms: float


@dataclass(frozen=True)
class LoadResults(Results):
    """What results.json says about a load test, or about several of them."""

    experiment: ClassVar[str] = "load"
    plan: LoadPlan
    figures: tuple[LoadLine, ...]
    runs: tuple[StepFigure, ...]
    failures: Mapping[str, int]
    silent: str
    """Why the servers' count is missing; "" if it is not."""
    locust: str


@dataclass(frozen=True)
class LoadOutcome:
    """What one test gave, or a comparison of several."""

    plan: LoadPlan
    judgement: Judgement
    runs: Sequence[StepFigure]
    failures: Mapping[str, int]
    silent: str
    metrics: ServerMetrics | None
    """None if no run told any."""
    rows: Sequence[Row] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    """What the runs of a comparison wrote."""
    interrupted: bool = False


def of_trial(trial: LoadTrial, *, interrupted: bool) -> LoadOutcome:
    """What one test gave; judges it."""
    wanted = trial.wanted
    fires = [{"design": w.design, "users": w.users, **w.counters} for w in trial.windows]
    return LoadOutcome(
        plan=LoadPlan(
            designs=(wanted.design,),
            users=wanted.steps,
            repeats=1,
            order="one after the other",
            step_s=wanted.seconds,
            hold_ms=wanted.hold_ms,
        ),
        judgement=trial.judge(interrupted=interrupted),
        runs=trial.figures(),
        failures=trial.failures,
        silent=trial.silent,
        metrics=ServerMetrics(trial.before, trial.after, tuple(fires)),
        rows=rows(trial),
    )


def rows(trial: LoadTrial) -> list[Row]:
    """The history of the grants, as a recording."""
    found: list[Row] = []
    for number, (user, asked, acquired, released, _) in enumerate(trial.turns):
        about = (user, user_name(user), trial.wanted.design, f"{trial.path}/{number}")
        found.append(("acquired", Event(acquired, *about, duration=acquired - asked)))
        found.append(("released", Event(released, *about, duration=released - acquired)))
    return sorted(found, key=lambda row: row[1].t_ns)
