"""`zkkit bench recorder`: what recording costs."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from html import escape
from typing import ClassVar, NamedTuple

from zkkit.bench.experiment import Experiment, Words
from zkkit.bench.kit import arguments
from zkkit.bench.kit.ground import facts
from zkkit.bench.kit.judgement import Judgement
from zkkit.bench.kit.report import report
from zkkit.bench.kit.results import Head, Results
from zkkit.bench.kit.servers import BENCHMARK, MeasuredServers, servers
from zkkit.bench.recorder import cost, share
from zkkit.bench.recorder.cost import RecorderCost
from zkkit.bench.recorder.share import RecorderShare
from zkkit.show.progress import Progress


class RecorderPlan(NamedTuple):
    """How many events, and how many blocks of acquires; none without servers."""

    events: int
    blocks: int


@dataclass(frozen=True)
class RecorderResults(Results):
    """What results.json says about the recorder's cost."""

    experiment: ClassVar[str] = "recorder"
    cost: RecorderCost
    share: RecorderShare | None


RecorderOutcome = tuple[RecorderCost, RecorderShare | None]


class RecorderExperiment(Experiment[RecorderPlan, RecorderOutcome, RecorderResults]):
    """What an event costs, and which part of an acquire that is."""

    description = """\
First the cost of recording one event, without servers. Then its share of the CPU time that an
uncontended acquire and release of a ReentrantLock takes on real servers, by arithmetic and by
comparing blocks with a recorder and without, in ABBA order.
"""
    epilog = """\
examples:
  zkkit bench recorder
  zkkit bench recorder --no-servers           the cost of an event only
  zkkit bench recorder --hosts zk1:2181       on servers that are there already

exit codes:
  0 the figures count   2 unknown (also wrong usage)   130 interrupted
"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        arguments.add(parser, "--events", arguments.repeats, "200000", "to be recorded")
        arguments.add(parser, "--blocks", arguments.repeats, "20", "to be compared")
        which = parser.add_mutually_exclusive_group()
        arguments.add_hosts(which)
        which.add_argument("--no-servers", action="store_true", help="leave the second part out")
        arguments.add_results(parser, "recorder")

    def plan(self, args: argparse.Namespace) -> RecorderPlan:
        if args.no_servers:
            args.texts["--no-servers"] = ""
        return RecorderPlan(args.events, 0 if args.no_servers else max(2, args.blocks))

    def servers(self, args: argparse.Namespace) -> AbstractContextManager[MeasuredServers]:
        if args.no_servers:
            return nullcontext(MeasuredServers(""))
        return servers(args.hosts, jvm_flags=BENCHMARK)

    def run(self, plan: RecorderPlan, servers: MeasuredServers) -> RecorderOutcome:
        each = cost.measure(plan.events)
        if not plan.blocks:
            return each, None
        with Progress(plan.blocks, "blocks") as progress:
            part = share.measure(
                servers.hosts,
                blocks=plan.blocks,
                on_block=lambda block: progress.done("on and off"),
            )
        return each, part

    def judge(self, outcome: RecorderOutcome) -> Judgement:
        """Measuring raises if an event was not recorded: so these figures can be trusted."""
        events = outcome[0].events
        return Judgement("holds", f"The figures count: all {events:,} events were recorded, twice.")

    def figures(self, outcome: RecorderOutcome, head: Head) -> RecorderResults:
        return RecorderResults(head, *outcome)

    def words(self, results: RecorderResults) -> Words:
        return Words(_title(results), "\n".join(_tables(results)))

    def page(self, results: RecorderResults, pictures: Mapping[str, bytes]) -> str:
        head = results.head
        return report(
            head,
            heading="What recording costs",
            finding=_title(results),
            body=[f"<pre>{escape(chr(10).join(_tables(results)))}</pre>"],
            facts=facts(head),
            beside="results.json has the same figures",
        )


def _title(results: RecorderResults) -> str:
    each, part = results.cost, results.share
    title = f"Recording an event takes {each.ns_per_event:,.0f} ns"
    if part is None:
        return f"{title} and {each.bytes_per_event:,.0f} bytes"
    share_of_it = part.share(each.ns_per_event)
    return f"{title}, {share_of_it:.2%} of the CPU time of an uncontended acquire and release"


def _tables(results: RecorderResults) -> list[str]:
    each, part = results.cost, results.share
    if part is None:
        return [cost.table(each)]
    return [cost.table(each), share.table(part, each.ns_per_event)]


EXPERIMENT = RecorderExperiment()
