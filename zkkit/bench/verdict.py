"""What the runs say about the law: it holds, it is broken, or nobody knows.

A run is void when the two witnesses disagree or one is silent, and then says nothing. A run that
breaks the law breaks it, whatever the others say; without such a run a void one leaves the
question open. No runs, or fewer than planned, are no proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from zkkit.bench.designs import Design
from zkkit.bench.run import Run

HERD_FROM = 5
"""From this number of contenders on, a herd must show. (With fewer, luck may hide it.)"""

_SHOWN = 3  # reasons in a sentence; results.json has all runs


class Verdict(Enum):
    """The value is what results.json says."""

    HOLDS = True
    BROKEN = False
    UNKNOWN = "unknown"

    @property
    def exit_code(self) -> int:
        return {Verdict.HOLDS: 0, Verdict.BROKEN: 1, Verdict.UNKNOWN: 2}[self]


class Judgement(NamedTuple):
    """A verdict and the sentence that goes with it."""

    verdict: Verdict
    why: str


def judge(designs: Sequence[Design], runs: Sequence[Run], *, stopped: str = "") -> Judgement:
    """The verdict over all runs; `stopped` says why some planned ones were not made."""
    counted = [run for run in runs if not run.void]
    broken = [*_breaches(designs, counted), *_hidden_herds(designs, counted)]
    if broken:
        return Judgement(Verdict.BROKEN, f"The law is broken: {_first(broken)}.")
    doubts = list(_voids(runs))
    if stopped:
        doubts.insert(0, stopped)
    if doubts or not runs:
        return Judgement(Verdict.UNKNOWN, f"Nobody knows: {_first(doubts or ['nothing was run'])}")
    laws = "; ".join(_obeyed(design) for design in designs)
    return Judgement(
        Verdict.HOLDS,
        f"The law holds: in all {len(runs)} runs clients and servers counted the same fires. "
        f"{laws}.",
    )


def _breaches(designs: Sequence[Design], runs: Iterable[Run]) -> Iterator[str]:
    laws = {design.name: design.law for design in designs}
    for run in runs:
        law = laws[run.design]
        for what, measured, term in (
            ("fires", run.fires, law.fires),
            ("creates", run.creates, law.creates),
        ):
            predicted = term.of(run.contenders)
            if not law.allows(measured, predicted):
                yield (
                    f"{_name(run)}: {measured} {what}, where {law.relation} {predicted} are allowed"
                )


def _hidden_herds(designs: Sequence[Design], runs: Sequence[Run]) -> Iterator[str]:
    """A bound is kept by doing nothing: what is no herd at all would obey the herd's law."""
    for herd in (design for design in designs if not design.law.exact):
        for queue in (design for design in designs if design.law.exact):
            for run in runs:
                usual = queue.law.fires.of(run.contenders)
                if run.design == herd.name and run.contenders >= HERD_FROM and run.fires <= usual:
                    yield (
                        f"{_name(run)}: {run.fires} fires, "
                        f"no more than the {usual} of the {queue.name} design"
                    )


def _voids(runs: Iterable[Run]) -> Iterator[str]:
    """Each reason once: a silent server makes all runs void."""
    by_reason: dict[str, list[Run]] = {}
    for run in runs:
        if run.void:
            by_reason.setdefault(run.void, []).append(run)
    for reason, mine in by_reason.items():
        more = f" and {len(mine) - 1} more are" if len(mine) > 1 else " is"
        yield f"{_name(mine[0])}{more} void: {reason}"


def _obeyed(design: Design) -> str:
    law = design.law
    return (
        f"{design.name}: {law.relation} {law.fires.formula} fires and {law.creates.formula} creates"
    )


def _name(run: Run) -> str:
    return f"run {run.repeat + 1} of {run.design} with {run.contenders} contenders"


def _first(reasons: Sequence[str]) -> str:
    more = len(reasons) - _SHOWN
    return "; ".join(reasons[:_SHOWN]) + (f"; and {more} more" if more > 0 else "")
