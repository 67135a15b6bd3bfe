"""`zkkit compare`: designs of a lock under contention, counted by two witnesses."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from zkkit.bench.compare import Outcome, Plan, compare
from zkkit.bench.designs import HERD, SEQUENTIAL, Design
from zkkit.bench.laws import POPULATIONS
from zkkit.bench.results import ResultsDirectory, as_json, results, server_metrics
from zkkit.bench.run import Run
from zkkit.cli import arguments, options
from zkkit.cli.servers import BENCHMARK, Servers, servers
from zkkit.ensemble.backends import Backend
from zkkit.ensemble.place import Medium
from zkkit.show import canvas, findings, plots, report
from zkkit.show.progress import Progress
from zkkit.show.table import paint, pairs
from zkkit.show.wording import many

_DESCRIPTION = """\
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
"""
_EPILOG = """\
examples:
  zkkit compare
  zkkit compare --contenders 5,50 --repeats 10 --medium disk
  zkkit compare --designs herd,children-watch,sequential --population shared
  zkkit compare --designs rw-herd,rw-first,rw
  zkkit compare --hosts 127.0.0.1:2181,127.0.0.1:2182 --name ours

exit codes:
  0 the law holds   1 it is broken   2 unknown (also wrong usage)   130 interrupted
"""


def add_to(commands: Any) -> None:
    """Add the command to a parser's commands."""
    own = commands.add_parser(
        "compare",
        help="compare designs of a lock under contention",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    own.set_defaults(command=lambda given: _command(own, given))
    own.add_argument(
        "--designs",
        type=arguments.designs,
        default=(HERD, SEQUENTIAL),
        metavar="NAMES",
        help="exclusive ones, or those of readers and writers (default: herd,sequential)",
    )
    own.add_argument(
        "--population",
        choices=tuple(POPULATIONS),
        default="own",
        help="the contenders: "
        + ", or ".join(f"{does} ({name})" for name, does in POPULATIONS.items())
        + " (default: own)",
    )
    options.add_servers(own)
    add_options(own, name="compare", repeats=4)


def add_options(own: argparse.ArgumentParser, *, name: str, repeats: int) -> None:
    """The options that `compare` and `demo` share."""
    own.add_argument(
        "--contenders",
        type=arguments.contenders,
        default=(2, 4, 8, 16, 32),
        metavar="NUMBERS",
        help="how many contend, for each run (default: 2,4,8,16,32)",
    )
    own.add_argument(
        "--repeats",
        type=arguments.repeats,
        default=repeats,
        help=f"runs of each design with each number (default: {repeats})",
    )
    own.add_argument(
        "--hold",
        type=arguments.milliseconds,
        default=0.02,
        metavar="MS",
        help="how long each contender holds the lock, in milliseconds (default: 20)",
    )
    own.add_argument("--seed", type=int, default=1, help="decides who arrives when (default: 1)")
    options.add_results(own, name)


def plan_of(given: argparse.Namespace, designs: Sequence[Design]) -> Plan:
    """The plan that the options ask for."""
    population = getattr(given, "population", "own")
    return Plan(tuple(designs), given.contenders, given.repeats, given.seed, given.hold, population)


def _command(own: argparse.ArgumentParser, given: argparse.Namespace) -> int:
    options.check_servers(own, given)
    plan = plan_of(given, given.designs)
    with ResultsDirectory(given.results, given.name) as directory:
        medium: Medium = given.medium or "memory"
        backend: Backend = given.backend or "local"
        with servers(given.hosts, backend=backend, medium=medium, jvm_flags=BENCHMARK) as there:
            outcome, document = measure(plan, there, given.name, command_line(given, plan))
        return finish(outcome, document, directory)


def measure(plan: Plan, there: Servers, name: str, command: str) -> tuple[Outcome, dict[str, Any]]:
    """Make the runs, telling how far they have come; give them and what results.json says."""
    started = datetime.now(UTC)
    with Progress(len(plan), "runs", first="warming up") as progress:
        outcome = compare(
            plan,
            there.hosts,
            pids=there.pids,
            on_run=lambda run: progress.done(_describe(run)),
        )
    return outcome, results(
        outcome,
        name=name,
        command=command,
        started=started,
        ensemble=there.describe(outcome.before),
    )


def finish(outcome: Outcome, document: dict[str, Any], directory: ResultsDirectory) -> int:
    """Write everything, say what was found and where it is; give the exit code."""
    pictures, excuse = _draw(document)
    for name, data in pictures.items():
        directory.write(name, data)
    directory.write("report.html", report.html(document, pictures))
    directory.write("server-metrics.json", as_json(server_metrics(outcome)))
    directory.write("results.json", as_json(document))
    directory.write_events(outcome.rows)
    home = directory.publish()
    _tell(outcome, document, home, excuse)
    return outcome.judgement.verdict.exit_code


def command_line(given: argparse.Namespace, plan: Plan) -> str:
    """The command that does the same again."""
    words = ["zkkit", "compare"]
    words += ["--designs", ",".join(design.name for design in plan.designs)]
    words += ["--population", plan.population]
    words += ["--contenders", ",".join(map(str, plan.contenders))]
    words += ["--repeats", str(plan.repeats), "--hold", f"{plan.hold * 1e3:g}"]
    words += ["--seed", str(plan.seed), "--name", given.name]
    for option in ("hosts", "medium", "backend"):
        if getattr(given, option, None):
            words += [f"--{option}", getattr(given, option)]
    return shlex.join(words)


def _draw(document: dict[str, Any]) -> tuple[dict[str, bytes], str]:
    """The pictures by name; without matplotlib none, and a sentence that says so."""
    if not document["figures"]:
        return {}, "nothing was measured"
    try:
        return {"compare.png": plots.compare_png(document)}, ""
    except canvas.NoPicture as error:
        return {}, str(error)


def _tell(outcome: Outcome, document: dict[str, Any], home: Path, excuse: str) -> None:
    verdict, why = outcome.judgement
    print(findings.text_table(document))
    print()
    print(paint(f"{findings.title(document)}.", "bold", sys.stdout))
    print(paint(why, options.COLOURS[verdict], sys.stdout))
    print()
    where = {"report": home / "report.html", "picture": home / "compare.png", "all": home}
    if excuse:
        del where["picture"]
    print(pairs({name: str(path) for name, path in where.items()}))
    if excuse:
        print(excuse)


def _describe(run: Run) -> str:
    counts = f"{many(run.fires, 'fire')}, {many(run.wakeups, 'wakeup')}"
    text = f"{run.design}, {many(run.contenders, 'contender')}: {counts}"
    return f"{text} (void)" if run.void else text
