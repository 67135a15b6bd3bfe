"""What the runs say about the law: it holds, it is broken, or that is unknown.

A run is void when the two witnesses disagree or one is silent, and then says nothing. A run that
breaks the law breaks it, whatever the others say; without such a run a void one leaves the
question open. No runs, or fewer than planned, are no proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from zkkit.bench.designs import Design
from zkkit.bench.gate.gate_run import GateRun
from zkkit.bench.kit.judgement import Judgement, first_of
from zkkit.bench.laws import Law, in_words

HERD_FROM = 5
"""From this number of contenders on, a herd must show. (With fewer, luck may hide it.)"""

_SHOWN = 3  # reasons in a sentence; results.json has all runs


def judge(
    designs: Sequence[Design],
    runs: Sequence[GateRun],
    *,
    population: str = "own",
    stopped: str = "",
) -> Judgement:
    """The verdict over all runs; `stopped` says why some planned ones were not made."""
    counted = [run for run in runs if not run.void]
    laws = {design.name: design.law_of(population) for design in designs}
    broken = [*_breaches(laws, counted), *_hidden_herds(laws, counted)]
    if broken:
        return Judgement("broken", f"The law is broken: {first_of(broken, _SHOWN)}.")
    doubts = list(_voids(runs))
    if stopped:
        doubts.insert(0, stopped)
    if doubts or not runs:
        return Judgement("unknown", f"Unknown: {first_of(doubts or ['nothing was run'], _SHOWN)}")
    obeyed = "; ".join(f"{name}: {law.told()}" for name, law in laws.items())
    return Judgement(
        "holds",
        f"The law holds: in all {len(runs)} runs clients and servers counted the same fires. "
        f"{obeyed}.",
    )


def _breaches(laws: Mapping[str, Law], runs: Iterable[GateRun]) -> Iterator[str]:
    for run in runs:
        for what, term in laws[run.design].terms().items():
            measured = getattr(run, what)
            if not term.allows(measured, run.contenders):
                yield (
                    f"{_name(run)}: {measured} {in_words(what)}, where {term.relation} "
                    f"{term.of(run.contenders)} are allowed"
                )


def _hidden_herds(laws: Mapping[str, Law], runs: Sequence[GateRun]) -> Iterator[str]:
    """A bound is kept by doing nothing: what is no herd at all would obey the herd's law.

    A herd shows in its wakeups. (Not in its fires: in one session it has no more than a queue.) Or
    in its requests: where nobody holds for long, most may miss most holds and not sleep at all.
    """
    queues = {name: law for name, law in laws.items() if law.wakeups.exact}
    for run in runs:
        if run.design in queues or run.contenders < HERD_FROM:
            continue
        for queue, law in queues.items():
            wakeups, requests = law.wakeups.of(run.contenders), law.requests.of(run.contenders)
            if run.wakeups <= wakeups and run.requests <= requests:
                yield (
                    f"{_name(run)}: {run.wakeups} wakeups and {run.requests} requests, "
                    f"no more than the {wakeups} and {requests} of the {queue} design"
                )


def _voids(runs: Iterable[GateRun]) -> Iterator[str]:
    """Each reason once: a silent server makes all runs void."""
    by_reason: dict[str, list[GateRun]] = {}
    for run in runs:
        if run.void:
            by_reason.setdefault(run.void, []).append(run)
    for reason, mine in by_reason.items():
        more = f" and {len(mine) - 1} more are" if len(mine) > 1 else " is"
        yield f"{_name(mine[0])}{more} void: {reason}"


def _name(run: GateRun) -> str:
    return f"run {run.repeat + 1} of {run.design} with {run.contenders} contenders"
