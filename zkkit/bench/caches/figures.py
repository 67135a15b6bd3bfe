"""From runs to figures and words: what each design costs to load and to follow a tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from zkkit.bench.caches.designs import CACHES, CHANGES, CacheDesign
from zkkit.bench.caches.run import CachePlan, CacheRun
from zkkit.bench.kit.judgement import Judgement, first_of
from zkkit.bench.kit.results import Results
from zkkit.bench.kit.statistics import spread_of, told
from zkkit.show.table import table
from zkkit.show.wording import many, milliseconds

LOAD_HEADERS = ("design", "nodes", "watches", "law", "requests", "law", "load ms")
CHANGE_HEADERS = (
    "design", "nodes", "change", "fires", "law", "requests", "law", "watches", "law", "told ms",
)  # fmt: skip
NOTES = (
    "watches: set by the cache; requests: sent by it; to load the tree, and then for one change",
    "fires: watch notifications the client received; servers count one more for each deletion",
    "told: from the writer's request to the cache's listener, median",
)
_SHOWN = 3  # reasons in a sentence; results.json has all runs


@dataclass(frozen=True)
class CacheResults(Results):
    """What results.json says about a comparison of caches."""

    experiment: ClassVar[str] = "caches"
    plan: CachePlan
    runs: tuple[CacheRun, ...]

    def of(self, design: CacheDesign, nodes: int) -> list[CacheRun]:
        """The runs of one design with one number of nodes."""
        return [run for run in self.runs if (run.design, run.nodes) == (design.name, nodes)]

    def cells(self) -> Iterator[tuple[CacheDesign, int, list[CacheRun]]]:
        """The cells that were run, ordered by nodes, then by design."""
        for nodes in self.plan.nodes:
            for design in self.plan.designs:
                if runs := self.of(design, nodes):
                    yield design, nodes, runs


def judge(runs: Sequence[CacheRun], stopped: str) -> Judgement:
    """Whether all runs obey; a run whose witnesses disagree says nothing."""
    broken = [reason for run in runs if not run.void for reason in _breaches(run)]
    if broken:
        return Judgement("broken", f"The law is broken: {first_of(broken, _SHOWN)}.")
    doubts = [stopped] if stopped else []
    doubts += [f"{_name(run)} is void: {run.void}" for run in runs if run.void]
    if doubts or not runs:
        return Judgement("unknown", f"Unknown: {first_of(doubts or ['nothing was run'], _SHOWN)}")
    obeyed = "; ".join(f"{n}: {CACHES[n].told}" for n in dict.fromkeys(r.design for r in runs))
    return Judgement(
        "holds",
        f"The law holds: in all {len(runs)} runs clients and servers counted the same fires. "
        f"{obeyed}.",
    )


def _breaches(run: CacheRun) -> Iterator[str]:
    design = CACHES[run.design]
    size = (run.nodes, run.parents)
    counted = [
        ("watches to load", run.watches, design.watches(*size)),
        ("requests to load", run.requests, design.requests(*size)),
    ]
    for kind, found in run.changes.items():
        law = design.per_event[kind]._asdict()
        counted += [
            (f"{what} for {found.events} {kind}", getattr(found, what), found.events * each)
            for what, each in law.items()
        ]
    for what, measured, predicted in counted:
        if measured != predicted:
            yield f"{_name(run)}: {measured} {what}, where exactly {predicted} are allowed"


def _name(run: CacheRun) -> str:
    return f"run {run.repeat + 1} of {run.design} with {run.nodes} nodes"


def title(results: CacheResults) -> str:
    """The finding, in one line."""
    if not results.runs:
        return "Nothing was measured"
    largest = max(run.nodes for run in results.runs)
    said = [
        f"{design.name} sets {_watches(runs[0].watches)}"
        for design, nodes, runs in results.cells()
        if nodes == largest
    ]
    return f"To follow {largest:,} nodes {' and '.join(said)}"


def _watches(number: int) -> str:
    return "1 watch" if number == 1 else f"{number:,} watches"


def load_rows(results: CacheResults) -> list[tuple[str, ...]]:
    """The table of loading."""
    return [
        (
            design.name,
            f"{nodes:,}",
            f"{runs[0].watches:,}",
            f"= {design.watches(nodes, runs[0].parents):,}",
            f"{runs[0].requests:,}",
            f"= {design.requests(nodes, runs[0].parents):,}",
            told(spread_of(run.load_ms for run in runs), milliseconds),
        )
        for design, nodes, runs in results.cells()
    ]


def change_rows(results: CacheResults) -> list[tuple[str, ...]]:
    """The table of changes, for one change of each kind."""
    rows = []
    for design, nodes, runs in results.cells():
        for kind in CHANGES:
            first, law = runs[0].changes[kind], design.per_event[kind]
            times = spread_of(run.changes[kind].told_ms for run in runs)
            costs = [
                text
                for what in law._fields
                for text in (
                    f"{getattr(first, what) / first.events:g}",
                    f"= {getattr(law, what)}",
                )
            ]
            rows.append((design.name, f"{nodes:,}", kind, *costs, told(times, milliseconds)))
    return rows


def text(results: CacheResults) -> str:
    """All figures as aligned text, with what the columns mean."""
    return "\n".join(
        (
            table(LOAD_HEADERS, load_rows(results)),
            "",
            table(CHANGE_HEADERS, change_rows(results)),
            "",
            *NOTES,
        )
    )


def alt_text(results: CacheResults) -> str:
    """What the picture shows, for those who do not see it."""
    loads = [
        f"{design.name} sets {_watches(runs[0].watches)} for {many(nodes, 'node')}"
        for design, nodes, runs in results.cells()
    ]
    costs = [
        f"{design.name}, a node {kind}: {many(law.requests, 'request')}, {many(law.fires, 'fire')}"
        for design in results.plan.designs
        for kind, law in design.per_event.items()
    ]
    return f"{title(results)}. Left: {'; '.join(loads)}. Right: {'; '.join(costs)}."
