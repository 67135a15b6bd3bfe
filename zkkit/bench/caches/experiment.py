"""`zkkit compare --designs cache-watches,cache-persistent`: two generations of a cache."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

from zkkit.bench.caches import figures, picture
from zkkit.bench.caches.designs import CACHES
from zkkit.bench.caches.figures import CacheResults
from zkkit.bench.caches.run import CachePlan, CacheRun, measure
from zkkit.bench.experiment import Experiment, Words
from zkkit.bench.kit import arguments
from zkkit.bench.kit.ground import facts
from zkkit.bench.kit.judgement import Judgement
from zkkit.bench.kit.report import report
from zkkit.bench.kit.results import Head
from zkkit.bench.kit.servers import MeasuredServers
from zkkit.record import Row
from zkkit.show import page
from zkkit.show.progress import Progress
from zkkit.show.wording import many

MOST_NODES = 20_000


class CacheOutcome(NamedTuple):
    """Everything a comparison gave, also one that was stopped half-way."""

    plan: CachePlan
    runs: Sequence[CacheRun]
    rows: Sequence[Row]
    stopped: str


class CachesExperiment(Experiment[CachePlan, CacheOutcome, CacheResults]):
    """Whether each design of a cache costs what its law says."""

    description = """\
A cache reads a tree and follows it, while another session changes one node after the other. Watches
and requests are counted by the client, fires by the client and by the servers.

caches:
  cache-watches      TreeCache: two watches for each node, each good for one fire
  cache-persistent   Cache: one persistent watch for the whole tree
"""
    epilog = """\
examples:
  zkkit compare --designs cache-watches,cache-persistent
  zkkit compare --designs cache-watches,cache-persistent --nodes 10,10000 --changes 5

exit codes:
  0 the law holds   1 it is broken   2 unknown (also wrong usage)   130 interrupted
"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        add = arguments.add
        names = arguments.some_of("design", tuple(CACHES))
        add(parser, "--designs", names, ",".join(CACHES), "of a cache", metavar="NAMES")
        about = "in the tree, for each run"
        add(parser, "--nodes", _nodes, "10,100,1000", about, metavar="NUMBERS")
        add(parser, "--changes", arguments.repeats, "20", "of each kind: changed, created, deleted")
        add(parser, "--repeats", arguments.repeats, "2", "runs of each design with each number")
        arguments.add_results(parser, "compare")
        arguments.add_servers(parser)

    def plan(self, args: argparse.Namespace) -> CachePlan:
        designs = tuple(CACHES[name] for name in args.designs)
        return CachePlan(designs, args.nodes, args.changes, args.repeats)

    def run(self, plan: CachePlan, servers: MeasuredServers) -> CacheOutcome:
        with Progress(len(plan), "runs") as progress:
            made = measure(plan, servers.hosts, on_run=lambda run: progress.done(_describe(run)))
        return CacheOutcome(plan, *made)

    def judge(self, outcome: CacheOutcome) -> Judgement:
        return figures.judge(outcome.runs, outcome.stopped)

    def figures(self, outcome: CacheOutcome, head: Head) -> CacheResults:
        return CacheResults(head, outcome.plan, tuple(outcome.runs))

    def words(self, results: CacheResults) -> Words:
        return Words(figures.title(results), figures.text(results))

    def picture(self, results: CacheResults) -> Mapping[str, bytes]:
        return {"compare.png": picture.compare_png(results)} if results.runs else {}

    def page(self, results: CacheResults, pictures: Mapping[str, bytes]) -> str:
        designs = results.plan.designs
        items = "".join(
            f"<li><b>{escape(d.name)}</b>: {escape(d.does)}. The law: {escape(d.told)}.</li>"
            for d in designs
        )
        return report(
            results.head,
            heading=f"Designs of a cache, compared: {', '.join(d.name for d in designs)}",
            finding=figures.title(results),
            body=(
                "<p>A cache reads a tree and follows it, while another session changes one node "
                f"after the other.</p><ul>{items}</ul>",
                *(page.picture(data, figures.alt_text(results)) for data in pictures.values()),
                "<h2>To load the tree</h2>",
                page.table(figures.LOAD_HEADERS, figures.load_rows(results)),
                "<h2>For one change</h2>",
                page.table(figures.CHANGE_HEADERS, figures.change_rows(results)),
                page.small(figures.NOTES),
            ),
            facts=facts(results.head),
            beside="results.json has every run, events.parquet (or .jsonl) every event",
            rows_in_group=len(designs),
        )

    def events(self, outcome: CacheOutcome) -> Sequence[Row]:
        return outcome.rows


def _nodes(text: str) -> tuple[int, ...]:
    """ "10,100" as numbers, each once, in rising order."""
    numbers = sorted({arguments.repeats(part) for part in text.split(",")})
    if not 2 <= numbers[0] <= numbers[-1] <= MOST_NODES:
        raise argparse.ArgumentTypeError(
            f"{text!r} are no trees: give 2 to {MOST_NODES} nodes, such as 10,100,1000"
        )
    return tuple(numbers)


def _describe(run: CacheRun) -> str:
    spent = sum(found.requests for found in run.changes.values())
    changes = sum(found.events for found in run.changes.values())
    text = (
        f"{run.design}, {many(run.nodes, 'node')}: {run.watches:,} watches set, "
        f"{many(spent, 'request')} for {changes} changes"
    )
    return f"{text} (void)" if run.void else text


EXPERIMENT = CachesExperiment()
