"""What all experiments that compare peers have in common."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

from zkkit.bench.experiment import Experiment, Words
from zkkit.bench.kit.report import report
from zkkit.bench.kit.servers import BENCHMARK, MeasuredServers
from zkkit.bench.kit.tables import as_html, as_markdown, as_text
from zkkit.bench.peers import picture
from zkkit.bench.peers.cells import MeasuredCell, PlanT
from zkkit.bench.peers.comparison import ComparisonWords
from zkkit.bench.peers.figures import ComparisonResults
from zkkit.bench.peers.libraries import Peer, Races, Stages, peers
from zkkit.bench.peers.measuring import PeerBench, SpeedsT
from zkkit.show import page
from zkkit.show.progress import Progress
from zkkit.show.table import pairs

ComparedT = TypeVar("ComparedT", bound=ComparisonResults)


class ComparisonExperiment(Experiment[PlanT, SpeedsT, ComparedT]):
    """An experiment in which peers take turns on the same servers."""

    heading: ClassVar[str]
    """The heading of the report; `procedure` is the sentence below it."""
    procedure: ClassVar[str]
    modules: ClassVar[Mapping[str, str]]
    """The peers in Python: what the child process of each imports, by name."""
    races: ClassVar[Races | None] = None
    """What Java Curator contends for, by kind; None if it takes no part. So is `stages`: what it
    starts."""
    stages: ClassVar[Stages | None] = None

    @abstractmethod
    def bench(
        self, plan: PlanT, servers: MeasuredServers, peers: Sequence[Peer]
    ) -> PeerBench[SpeedsT, Any, Any]:
        """What measures the cells of the plan."""

    @abstractmethod
    def in_words(self, results: ComparedT) -> ComparisonWords:
        """All that is said about the results."""

    def classes(self, results: ComparedT) -> Mapping[str, str]:
        """Which classes were measured, by row, where that is to be told."""
        return {}

    def run(self, plan: PlanT, servers: MeasuredServers) -> SpeedsT:
        """Measure with the peers that this machine has: only now it is seen which those are."""
        started = peers(
            servers.hosts, BENCHMARK, modules=self.modules, races=self.races, stages=self.stages
        )
        with started as (found, left_out):
            if left_out:
                print(left_out, file=sys.stderr)
            plan = replace(plan, peers=tuple(peer.name for peer in found))  # type: ignore[type-var]
            with Progress(len(plan), "cells", first="warming up") as progress:
                bench = self.bench(plan, servers, found)
                speeds = bench.measure(lambda cell: progress.done(_describe(cell)))
        speeds.left_out = left_out
        return speeds

    def words(self, results: ComparedT) -> Words:
        said = self.in_words(results)
        parts = [as_text(said.tables), pairs(said.conditions, indent=0), results.left_out]
        return Words(said.title, "\n\n".join(filter(None, parts)))

    def picture(self, results: ComparedT) -> Mapping[str, bytes]:
        said = self.in_words(results)
        return {"ratios.png": picture.ratios_png(results, said)} if results.figures else {}

    def page(self, results: ComparedT, pictures: Mapping[str, bytes]) -> str:
        said, classes = self.in_words(results), self.classes(results)
        return report(
            results.head,
            heading=self.heading,
            finding=said.title,
            body=[
                f"<p>{self.procedure} The peers take turns on the same servers.</p>",
                *(page.picture(data, said.alt_text(name)) for name, data in pictures.items()),
                *as_html(said.tables),
                *([page.small([results.left_out])] if results.left_out else []),
                *(["<h2>The classes</h2>", page.facts(classes)] if classes else []),
            ],
            facts=said.conditions,
            beside="results.json has every cell, figures.md the tables to paste",
        )

    def files(self, outcome: SpeedsT, results: ComparedT) -> Mapping[str, str]:
        said = self.in_words(results)
        return {"figures.md": as_markdown(said.tables, said.conditions)}


def _describe(cell: MeasuredCell) -> str:
    turn = cell.turn
    value = f"{cell.value:,.0f}" if turn.row.is_rate else f"{cell.value:,.1f}"
    text = f"{turn.row.name}, {turn.peer}: {value} {turn.row.unit}"
    return f"{text} (void)" if cell.void else text
