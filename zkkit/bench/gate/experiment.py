"""`zkkit compare`: designs of a lock or an election under contention, counted by two witnesses."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from html import escape

from zkkit.bench.designs import Design, UnknownDesign, named
from zkkit.bench.experiment import Experiment, Words
from zkkit.bench.gate import picture, words
from zkkit.bench.gate.figures import GateResults, figures
from zkkit.bench.gate.gate_run import GateRun
from zkkit.bench.gate.plan import GatePlan
from zkkit.bench.gate.run import GateOutcome, compare
from zkkit.bench.kit import arguments
from zkkit.bench.kit.data import as_json
from zkkit.bench.kit.judgement import Judgement
from zkkit.bench.kit.report import report
from zkkit.bench.kit.results import Head, ServerMetrics
from zkkit.bench.kit.servers import MeasuredServers
from zkkit.bench.laws import POPULATIONS
from zkkit.record import Row
from zkkit.show import page
from zkkit.show.progress import Progress
from zkkit.show.wording import many


class GateExperiment(Experiment[GatePlan, GateOutcome, GateResults]):
    """Whether each design obeys its law."""

    description = """\
N contenders queue behind one holder; then each acquires once. Fires are counted by the clients and
by the servers, wakeups by the clients, and compared with the law.

exclusive locks:
  herd             all watch one node, all try again
  children-watch   a line that everybody watches as a whole
  sequential       a line in which each watches the one before it

readers and writers (of N contenders the first half write, the others read):
  rw-herd          a line that everybody watches as a whole
  rw-first         each reader watches the first writer before it, as Curator's do
  rw               each reader watches the last writer before it

elections (to acquire is to stand and lead, to release is to leave):
  election-herd    all watch the leader's node
  election-latch   a line in which each watches the one before it

caches have runs and options of their own: --designs cache-watches,cache-persistent --help
"""
    epilog = """\
examples:
  zkkit compare
  zkkit compare --contenders 5,50 --repeats 10 --medium disk
  zkkit compare --designs herd,children-watch,sequential --population shared
  zkkit compare --designs rw-herd,rw-first,rw
  zkkit compare --designs election-herd,election-latch
  zkkit compare --designs cache-watches,cache-persistent
  zkkit compare --hosts 127.0.0.1:2181,127.0.0.1:2182 --name ours

exit codes:
  0 the law holds   1 it is broken   2 unknown (also wrong usage)   130 interrupted
"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        about = "of exclusive locks, of readers and writers, or of elections"
        arguments.add(parser, "--designs", _designs, "herd,sequential", about, metavar="NAMES")
        who = ", or ".join(f"{does} ({name})" for name, does in POPULATIONS.items())
        about = f"the contenders: {who}"
        arguments.add(parser, "--population", str, "own", about, choices=tuple(POPULATIONS))
        self.add_plan_options(parser, name="compare", repeats=4)
        arguments.add_servers(parser)

    def add_plan_options(self, parser: argparse.ArgumentParser, *, name: str, repeats: int) -> None:
        """The options that `compare` and `demo` share."""
        add, numbers = arguments.add, "2,4,8,16,32"
        about = "how many contend, for each run"
        add(parser, "--contenders", arguments.contenders, numbers, about, metavar="NUMBERS")
        about = "runs of each design with each number"
        add(parser, "--repeats", arguments.repeats, str(repeats), about)
        about = "how long each contender holds the lock, in milliseconds"
        add(parser, "--hold", arguments.milliseconds, "20", about, metavar="MS")
        add(parser, "--seed", int, "1", "decides who arrives when")
        arguments.add_results(parser, name)

    def plan(self, args: argparse.Namespace) -> GatePlan:
        return GatePlan(
            args.designs, args.contenders, args.repeats, args.seed, args.hold, args.population
        )

    def run(self, plan: GatePlan, servers: MeasuredServers) -> GateOutcome:
        with Progress(len(plan), "runs", first="warming up") as progress:
            return compare(
                plan,
                servers.hosts,
                pids=servers.pids,
                on_run=lambda run: progress.done(_describe(run)),
            )

    def judge(self, outcome: GateOutcome) -> Judgement:
        return outcome.judgement

    def figures(self, outcome: GateOutcome, head: Head) -> GateResults:
        plan = outcome.plan
        return GateResults(head, plan, figures(plan, outcome.runs), tuple(outcome.runs))

    def words(self, results: GateResults) -> Words:
        return Words(words.title(results), words.text_table(results))

    def picture(self, results: GateResults) -> Mapping[str, bytes]:
        return {"compare.png": picture.compare_png(results)} if results.figures else {}

    def page(self, results: GateResults, pictures: Mapping[str, bytes]) -> str:
        names = [design.name for design in results.plan.designs]
        return report(
            results.head,
            heading=f"Designs of {_what(results.plan)}, compared: {', '.join(names)}",
            finding=words.title(results),
            body=(
                _explanation(results.plan),
                *(page.picture(data, words.alt_text(results)) for data in pictures.values()),
                "<h2>What was counted</h2>",
                page.table(words.HEADERS, map(words.cells, results.figures)),
                "<h2>How long it took</h2>",
                page.table(words.TIME_HEADERS, map(words.time_cells, results.figures)),
                page.small(words.notes(results)),
            ),
            facts=words.facts(results),
            beside="results.json has every run, server-metrics.json what the servers said, "
            "events.parquet (or .jsonl) every event",
            rows_in_group=len(names),
        )

    def files(self, outcome: GateOutcome, results: GateResults) -> Mapping[str, str]:
        fires = [
            {"design": r.design, "contenders": r.contenders, "repeat": r.repeat, **r.counters}
            for r in outcome.runs
        ]
        metrics = ServerMetrics(outcome.before, outcome.after, tuple(fires))
        return {"server-metrics.json": as_json(metrics)}

    def events(self, outcome: GateOutcome) -> Sequence[Row]:
        return outcome.rows


def _designs(text: str) -> tuple[Design, ...]:
    """ "herd,sequential" as designs, each once, in the given order."""
    try:
        return tuple(named(name) for name in dict.fromkeys(map(str.strip, text.split(","))))
    except UnknownDesign as error:
        raise argparse.ArgumentTypeError(f"{error.message}: {error.hint}") from error


def _explanation(plan: GatePlan) -> str:
    items = "".join(
        f"<li><b>{escape(design.name)}</b>: {escape(design.does)}. "
        f"The law: {escape(design.law_of(plan.population).told())}.</li>"
        for design in plan.designs
    )
    wants = "; the first half of them to write, the others to read" if plan.readers else ""
    who = f"N contenders, {POPULATIONS[plan.population]},"
    story = (
        f"One session holds a lock. {who} queue behind it{wants}. Then it lets go, and each of "
        "them acquires the lock once."
    )
    if plan.elections:
        story = (
            f"One session leads. {who} stand behind it. Then it leaves, and each of them leads "
            "once, and leaves."
        )
    return f"<p>{story} How many watches fire, and how many actors wake?</p><ul>{items}</ul>"


def _what(plan: GatePlan) -> str:
    return "an election" if plan.elections else "a lock"


def _describe(run: GateRun) -> str:
    counts = f"{many(run.fires, 'fire')}, {many(run.wakeups, 'wakeup')}"
    text = f"{run.design}, {many(run.contenders, 'contender')}: {counts}"
    return f"{text} (void)" if run.void else text


EXPERIMENT = GateExperiment()
