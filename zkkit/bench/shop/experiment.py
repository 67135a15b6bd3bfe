"""`zkkit bench shop`: what keeps the buyers of several processes apart, and what does not."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from zkkit.bench.experiment import Experiment, Words
from zkkit.bench.kit import arguments
from zkkit.bench.kit.ground import facts
from zkkit.bench.kit.judgement import Judgement, first_of
from zkkit.bench.kit.report import report
from zkkit.bench.kit.results import Head, Results
from zkkit.bench.kit.servers import MeasuredServers
from zkkit.bench.shop import picture, words
from zkkit.bench.shop.run import ACROSS, WAYS, Sale, check_size, sell
from zkkit.show import page
from zkkit.show.progress import Progress
from zkkit.show.table import table


class ShopPlan(NamedTuple):
    """Which ways to keep buyers apart, and how large the shop is."""

    ways: tuple[str, ...]
    items: int
    buyers: int
    processes: int
    pause: float


@dataclass(frozen=True)
class ShopResults(Results):
    """What results.json says about the shop."""

    experiment: ClassVar[str] = "shop"
    sales: tuple[Sale, ...]


class ShopExperiment(Experiment[ShopPlan, tuple[Sale, ...], ShopResults]):
    """Whether locks across processes sell exactly what is there, and what happens without them."""

    description = """\
A few items are in stock, many buyers come at once, in several processes. Each looks how many are
left, pays, and takes one. Sold is counted four times: with nothing that keeps the buyers apart,
with a threading.Lock in each process, with a HerdLock and with a ReentrantLock across processes.
"""
    epilog = """\
examples:
  zkkit bench shop
  zkkit bench shop --ways none,sequential --buyers 20 --processes 2     a quick look

exit codes:
  0 locks across processes sold exactly the stock   1 one of them did not
  2 unknown: without a lock nothing was oversold, or wrong usage   130 interrupted
"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        add, count = arguments.add, arguments.repeats
        ways = arguments.some_of("way", WAYS)
        add(parser, "--ways", ways, ",".join(WAYS), "some of these", metavar="NAMES")
        add(parser, "--items", count, "10", "in stock")
        add(parser, "--buyers", count, "100", "who come at once")
        add(parser, "--processes", count, "5", "over which the buyers are spread")
        about = "how long paying takes, in milliseconds"
        add(parser, "--pause", arguments.milliseconds, "20", about, metavar="MS")
        arguments.add_servers(parser)
        arguments.add_results(parser, "shop")

    def plan(self, args: argparse.Namespace) -> ShopPlan:
        check_size(args.buyers, args.processes)
        return ShopPlan(args.ways, args.items, args.buyers, args.processes, args.pause)

    def run(self, plan: ShopPlan, servers: MeasuredServers) -> tuple[Sale, ...]:
        sales: list[Sale] = []
        with Progress(len(plan.ways), "ways") as progress:
            for way in plan.ways:
                size = {"items": plan.items, "buyers": plan.buyers, "processes": plan.processes}
                sales.append(sell(servers.hosts, way, **size, pause=plan.pause))
                progress.done(f"{words.NAMES[way]}: {sales[-1].sold} sold")
        return tuple(sales)

    def judge(self, outcome: tuple[Sale, ...]) -> Judgement:
        wrong = [
            f"{words.NAMES[sale.way]} sold {sale.sold} of {sale.items}"
            for sale in outcome
            if sale.way in ACROSS and sale.sold != min(sale.items, sale.buyers)
        ]
        if wrong:
            return Judgement("broken", f"A lock across processes failed: {first_of(wrong)}.")
        if not any(sale.oversold for sale in outcome if sale.way not in ACROSS):
            why = "nothing was oversold without a lock across processes, so none was needed"
            return Judgement("unknown", f"Unknown: {why}.")
        return Judgement("holds", "Every lock across processes sold exactly what was in stock.")

    def figures(self, outcome: tuple[Sale, ...], head: Head) -> ShopResults:
        return ShopResults(head, outcome)

    def words(self, results: ShopResults) -> Words:
        text = table(words.HEADERS, [words.cells(sale) for sale in results.sales])
        return Words(words.finding(results.sales), text)

    def picture(self, results: ShopResults) -> Mapping[str, bytes]:
        return {"shop.png": picture.png(results.sales)}

    def page(self, results: ShopResults, pictures: Mapping[str, bytes]) -> str:
        head = results.head
        return report(
            head,
            heading="The shop that oversells",
            finding=words.finding(results.sales),
            body=(
                "<p>Each buyer looks how many items are left, pays, and takes one. Who looks "
                "before another one has taken sells the same item twice.</p>",
                *(page.picture(data, words.words(results.sales)) for data in pictures.values()),
                "<h2>What was sold</h2>",
                page.table(words.HEADERS, map(words.cells, results.sales)),
            ),
            facts=facts(head),
            beside="results.json has the same figures",
        )


EXPERIMENT = ShopExperiment()
