"""`zkkit chaos`: locks, elections, counters, barriers and caches in a storm of faults, judged by
what was written down."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar, NamedTuple

from zkkit.bench.experiment import Experiment, Words
from zkkit.bench.kit import arguments
from zkkit.bench.kit.ground import facts
from zkkit.bench.kit.judgement import Judgement
from zkkit.bench.kit.report import report
from zkkit.bench.kit.results import Head, Results
from zkkit.bench.kit.servers import MeasuredServers, ServerFacts
from zkkit.chaos.client import FRONTS
from zkkit.chaos.faults import KINDS
from zkkit.chaos.run import ChaosPlan, run
from zkkit.chaos.verdicts import Verdicts, grants_table, judge
from zkkit.check.chaos.history import ChaosHistory, read
from zkkit.record import MissingExtra
from zkkit.show import page
from zkkit.show.progress import Progress
from zkkit.show.table import table

_TITLE = "Recipes in a storm of faults"
_SHOWN = 5  # broken promises in a terminal

Table = tuple[Sequence[str], Sequence[Sequence[str]]]


class ChaosOutcome(NamedTuple):
    """What was written down, what it says, and what is known about the servers."""

    plan: ChaosPlan
    history: ChaosHistory
    found: Verdicts
    servers: ServerFacts | None
    files: Mapping[str, bytes]


@dataclass(frozen=True)
class ChaosFigures:
    """How much there was of everything in a storm."""

    grants: int
    processes: int
    writes: int
    refused: int
    additions: int
    counted: Mapping[str, int]
    """What each counter held at the end."""
    told_by_caches: int
    faults: Mapping[str, int]
    deeds: Mapping[str, int]
    locks: tuple[Mapping[str, str], ...]
    """What became of each lock, by the head of the column."""


@dataclass(frozen=True)
class ChaosResults(Results):
    """What results.json says about a storm."""

    experiment: ClassVar[str] = "chaos"
    broken: tuple[str, ...]
    doubts: tuple[str, ...]
    plan: ChaosPlan
    figures: ChaosFigures

    def grants(self) -> Table:
        """Head and rows: what became of each lock."""
        locks = self.figures.locks
        return list(locks[0]), [list(lock.values()) for lock in locks]

    def faults(self) -> Table:
        """Head and rows: how often each kind of fault struck."""
        struck = self.figures.faults
        rows = [[kind, f"{struck.get(kind, 0):,}"] for kind in self.plan.faults]
        return ["fault", "struck"], [*rows, ["all", f"{sum(struck.values()):,}"]]


class ChaosExperiment(Experiment[ChaosPlan, ChaosOutcome, ChaosResults]):
    """Whether recipes keep their word while everything around them breaks."""

    description = f"""\
Three servers, and processes on every front that take every kind of lock, stand in elections, add to
counters, wait at barriers, meet, change a tree and follow it by caches and watches. Meanwhile
processes are killed and stopped, connections break and replies get lost, sessions expire, and
servers are killed, paused and cut off. Then there is calm, and everybody must get each lock once
more. What the processes wrote down is judged by the files alone: no two holds, and no two leaders,
overlap while both call themselves valid, no selector's function runs twice at once, tokens grow, no
guarded write is stale, each addition counts once, no number is given out twice, nobody passes a
closed barrier or meets alone, caches never go back and become like the tree, watches see what is
there, nobody starves, nothing is left.

faults:
  {", ".join(KINDS[:9])},
  {", ".join(KINDS[9:])}
"""
    epilog = """\
examples:
  zkkit chaos                                     five minutes of all faults
  zkkit chaos --seconds 1800 --seed 7             half an hour, with other dice
  zkkit chaos --faults "cut leader,cut follower"  only these

exit codes:
  0 every promise was kept   1 one was broken   2 unknown: interrupted, or a fault never struck
"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        add, some_of = arguments.add, arguments.some_of
        about = "how long faults strike; the calm comes after that"
        add(parser, "--seconds", arguments.seconds(1, 86400), "300", about)
        faults, about = some_of("fault", KINDS), "only these, separated by commas"
        add(parser, "--faults", faults, ",".join(KINDS), about, shown="all", metavar="NAMES")
        fronts = some_of("front", FRONTS)
        add(parser, "--fronts", fronts, ",".join(FRONTS), "only these", metavar="NAMES")
        add(parser, "--seed", int, "1", "decides what is broken")
        arguments.add_results(parser, "chaos")

    def plan(self, args: argparse.Namespace) -> ChaosPlan:
        if "gevent" in args.fronts and importlib.util.find_spec("gevent") is None:
            raise MissingExtra(
                "gevent is not installed",
                hint="pip install 'zkkit[load]', or leave it out: --fronts threads,asyncio",
            )
        return ChaosPlan(args.seconds, args.fronts, args.faults, args.seed)

    def servers(self, args: argparse.Namespace) -> AbstractContextManager[MeasuredServers]:
        return nullcontext(MeasuredServers(""))  # the run starts its own: it will break them

    def run(self, plan: ChaosPlan, servers: MeasuredServers) -> ChaosOutcome:
        print("Starting three ZooKeeper servers and their clients ...", file=sys.stderr)
        with TemporaryDirectory(prefix="zkkit-chaos-") as temporary:
            home = Path(temporary)
            with Progress(plan.rounds, "rounds of storm") as progress:
                known = run(plan, home, progress.done)
            history = read(home)
            files = {f"history/{file.name}": file.read_bytes() for file in home.iterdir()}
        return ChaosOutcome(plan, history, judge(history), known, files)

    def judge(self, outcome: ChaosOutcome) -> Judgement:
        return outcome.found.judgement

    def figures(self, outcome: ChaosOutcome, head: Head) -> ChaosResults:
        history = outcome.history
        columns, rows = grants_table(history)
        return ChaosResults(
            replace(head, ensemble=outcome.servers),
            tuple(outcome.found.broken),
            tuple(outcome.found.doubtful),
            outcome.plan,
            ChaosFigures(
                grants=len(history.grants),
                processes=len(history.processes),
                writes=len(history.ledger),
                refused=history.refused,
                additions=len(history.additions),
                counted=dict(history.counted),
                told_by_caches=sum(map(len, history.told.values())),
                faults=dict(history.faults),
                deeds=dict(history.deeds()),
                locks=tuple(dict(zip(columns, row, strict=True)) for row in rows),
            ),
        )

    def words(self, results: ChaosResults) -> Words:
        parts = [table(*results.grants()), "", table(*results.faults())]
        if len(results.broken) > 1:
            parts += ["", *results.broken[:_SHOWN]]
        return Words(_TITLE, "\n".join(parts))

    def page(self, results: ChaosResults, pictures: Mapping[str, bytes]) -> str:
        body = [
            "<p>Processes on threads, asyncio and gevent take every kind of lock, stand in "
            "elections, count, wait at barriers, meet and follow a tree, while processes, "
            "connections and servers are killed, stopped, cut off and mended. What they wrote "
            "down was judged afterwards, by the files alone.</p>",
            "<h2>Grants</h2>",
            page.table(*results.grants()),
            "<h2>Faults</h2>",
            page.table(*results.faults()),
        ]
        for heading, sentences in (("Broken", results.broken), ("Open", results.doubts)):
            if sentences:
                body += [f"<h2>{heading}</h2>", page.small(sentences)]
        return report(
            results.head,
            heading=_TITLE,
            finding=_TITLE,
            body=body,
            facts=facts(results.head),
            beside="results.json, and in history/ what each process wrote down",
        )

    def files(self, outcome: ChaosOutcome, results: ChaosResults) -> Mapping[str, bytes]:
        return outcome.files


EXPERIMENT = ChaosExperiment()
