"""The load experiment: the designs of a lock under the same load, one after the other.

Starts the servers once, then locust for each run (`loadtests/locks.py`, headless), in ABBA order:
a machine that grows warmer, or a JVM that grows faster, favours no design. Each run writes results
of its own; here they become one report. It imports no locust: that would patch this process.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from html import escape
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from loadtests import options, picture, words
from loadtests.figures import summary
from loadtests.results import LoadOutcome, LoadPlan, LoadResults, of_trial
from loadtests.servers import ensemble_for, hand_over, handed_over
from loadtests.trial import LoadTrial
from zkkit.bench.designs import HERD, SEQUENTIAL, named
from zkkit.bench.experiment import Experiment, Words, head_of, last_words, publish
from zkkit.bench.kit import arguments
from zkkit.bench.kit.data import as_json
from zkkit.bench.kit.judgement import INTERRUPTED, Judgement
from zkkit.bench.kit.report import report
from zkkit.bench.kit.results import Head, ResultsDirectory, ServerMetrics, latest
from zkkit.bench.kit.servers import MeasuredServers
from zkkit.errors import ZkkitError
from zkkit.record import MissingExtra, Row
from zkkit.show import page
from zkkit.show.table import pairs
from zkkit.show.wording import many

DESIGNS = (HERD.name, SEQUENTIAL.name)
_HERE = Path(__file__).resolve().parent
_SPAWN_RATE = 100  # users a second; locust warns above it
_LATE = 120.0  # seconds beyond its own time after which a run is given up
_KEPT = ("events.parquet", "events.jsonl", "results.json")  # of what a run wrote


class LocustFailed(ZkkitError):
    """locust did not come to its end."""


class LoadRun(NamedTuple):
    """A run of the comparison: its design, its directory, its results."""

    design: str
    home: Path
    results: LoadResults


class LoadExperiment(Experiment[LoadPlan, LoadOutcome, LoadResults]):
    """Whether locks are exclusive under load, and what their users wait for."""

    description = "Two designs of a lock under the same load, one after the other."
    epilog = """\
examples:
  zkkit bench load
  zkkit bench load --users 100 --seconds 20 --hold-ms 2
  zkkit bench load -H 127.0.0.1:2181,127.0.0.1:2182

exit codes:
  0 no holds overlapped   1 they did   2 unknown (also wrong usage)   130 interrupted
"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        add, count = arguments.add, arguments.repeats
        add(parser, "--users", count, "30", "at once", "-u")
        add(parser, "--seconds", count, "7", "each run is held")
        add(parser, "--repeats", count, "2", "runs of each design")
        about = "how long a user holds the lock"
        add(parser, "--hold-ms", arguments.milliseconds, "5", about, metavar="MS")
        about = "auto, docker or local: our own servers; or host:port,host:port"
        where = ("-H", "--host")
        add(parser, "--ensemble", options.ensemble, "auto", about, *where, metavar="WHERE")
        arguments.add_results(parser, "load")

    def plan(self, args: argparse.Namespace) -> LoadPlan:
        if find_spec("locust") is None:
            raise MissingExtra("locust is missing", hint="pip install 'zkkit[load]'")
        return LoadPlan(
            DESIGNS, (args.users,), args.repeats, "ABBA", args.seconds, args.hold_ms * 1e3
        )

    def servers(self, args: argparse.Namespace) -> AbstractContextManager[MeasuredServers]:
        return ensemble_for(args.ensemble)

    def run(self, plan: LoadPlan, servers: MeasuredServers) -> LoadOutcome:
        with tempfile.TemporaryDirectory(prefix="zkkit-load-") as scratch:
            runs, stopped = _run_all(plan, servers, Path(scratch))
            failures: Counter[str] = Counter()
            for run in runs:
                failures.update(run.results.failures)
            return LoadOutcome(
                plan,
                _judge(runs, stopped, len(order(plan.repeats))),
                runs=[figure for run in runs for figure in run.results.runs],
                failures=failures,
                silent=next((run.results.silent for run in runs if run.results.silent), ""),
                metrics=_metrics(runs),
                files=_written(runs),
                interrupted=stopped == "interrupted",
            )

    def judge(self, outcome: LoadOutcome) -> Judgement:
        return outcome.judgement

    def figures(self, outcome: LoadOutcome, head: Head) -> LoadResults:
        return LoadResults(
            head,
            outcome.plan,
            summary(outcome.runs),
            tuple(outcome.runs),
            outcome.failures,
            outcome.silent,
            metadata.version("locust"),
        )

    def words(self, results: LoadResults) -> Words:
        text = f"\n{words.text(results)}\n\nMeasured on\n{pairs(words.facts(results))}"
        return Words(words.title(results), text)

    def picture(self, results: LoadResults) -> Mapping[str, bytes]:
        return {"load.png": picture.png(results)} if results.figures else {}

    def page(self, results: LoadResults, pictures: Mapping[str, bytes]) -> str:
        lines = results.figures
        times = [row for line in lines for row in words.time_cells(line)]
        return report(
            results.head,
            heading=f"A lock under load: {' and '.join(results.plan.designs)}",
            finding=words.title(results),
            body=(
                _explanation(results.plan.designs),
                *(page.picture(data, words.alt_text(results)) for data in pictures.values()),
                "<h2>What it costs</h2>",
                page.table(words.COUNT_HEADERS, map(words.count_cells, lines)),
                "<h2>Where the time goes</h2>",
                page.table(words.TIME_HEADERS, times),
                page.small(words.notes(results)),
            ),
            facts=words.facts(results),
            beside="results.json has every run, server-metrics.json what the servers said, "
            "events.parquet (or .jsonl) every grant and release",
            rows_in_group=4,  # the phases of a turn
        )

    def files(self, outcome: LoadOutcome, results: LoadResults) -> Mapping[str, str | bytes]:
        return {"server-metrics.json": as_json(outcome.metrics or {}), **outcome.files}

    def events(self, outcome: LoadOutcome) -> Sequence[Row]:
        return outcome.rows

    def exit_code(self, outcome: LoadOutcome, judgement: Judgement) -> int:
        return INTERRUPTED if outcome.interrupted else judgement.exit_code


EXPERIMENT = LoadExperiment()


def finish(trial: LoadTrial, *, interrupted: bool) -> tuple[str, int]:
    """The end of one test, in locust's process: judge it and write its results; gives what is to be
    said, and the exit code."""
    wanted = trial.wanted
    outcome = of_trial(trial, interrupted=interrupted)
    judgement, name = outcome.judgement, f"load-{wanted.design}"
    facts = trial.servers.describe(trial.before)
    head = head_of(name, judgement, wanted.command, trial.started, facts)
    results = EXPERIMENT.figures(outcome, head)
    try:
        with ResultsDirectory(wanted.results, name) as directory:
            # A run of a comparison is read by it, not by people: no picture of its own.
            text = publish(EXPERIMENT, outcome, results, directory, report=not handed_over())
    except (ZkkitError, OSError) as error:
        text = last_words(EXPERIMENT, results, {"not written": str(error)})
    return text, judgement.exit_code


def _explanation(designs: Sequence[str]) -> str:
    items = "".join(f"<li><b>{name}</b>: {escape(named(name).does)}.</li>" for name in designs)
    return (
        "<p>Many users, each with a session of its own, want one lock. Each acquires it, holds it "
        "for a moment, releases it, and asks again at once. At the end all holds of all users are "
        f"laid on one clock: no two may overlap.</p><ul>{items}</ul>"
    )


def order(repeats: int) -> list[str]:
    """The designs as they take turns: A B B A A B ..."""
    turns = (DESIGNS if number % 2 == 0 else DESIGNS[::-1] for number in range(repeats))
    return [design for turn in turns for design in turn]


def _run_all(plan: LoadPlan, servers: MeasuredServers, scratch: Path) -> tuple[list[LoadRun], str]:
    """All runs, or those until one is stopped; gives them and why it was stopped."""
    runs: list[LoadRun] = []
    designs = order(plan.repeats)
    for number, design in enumerate(designs, 1):
        print(
            f"{number}/{len(designs)} {design}: {many(plan.users[0], 'user')} for {plan.step_s} s",
            file=sys.stderr,
            flush=True,
        )
        home = scratch / str(number)
        interrupted = _locust(plan, design, servers, home)
        found = latest(home / f"load-{design}")
        if found is None:
            why = f"run {number} ({design}) gave no results{_tail(home)}"
            return runs, "interrupted" if interrupted else why
        runs.append(LoadRun(design, found, LoadResults.read(found)))
        if interrupted:
            return runs, "interrupted"
    return runs, ""


def _locust(plan: LoadPlan, design: str, servers: MeasuredServers, home: Path) -> bool:
    """One run in a process of its own; whether Ctrl-C ended it."""
    home.mkdir()
    command = [sys.executable, "-m", "locust", "-f", str(_HERE / "locks.py"), "--headless"]
    command += ["--design", design, "-H", servers.hosts, "--results", str(home)]
    command += ["--hold-ms", f"{plan.hold_ms:g}", "--only-summary"]
    command += ["-u", str(plan.users[0]), "-r", str(_SPAWN_RATE), "-t", str(plan.step_s)]
    path = os.pathsep.join(filter(None, (str(_HERE.parent), os.environ.get("PYTHONPATH"))))
    with open(home / "locust.log", "wb") as log:
        process = subprocess.Popen(
            command,
            env={**os.environ, **hand_over(servers), "PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        interrupted = False
        try:
            while True:
                try:
                    process.wait((plan.step_s or 0.0) + _LATE)
                    return interrupted
                except KeyboardInterrupt:
                    # From a terminal it has had it too; twice does no harm. It ends in good order.
                    interrupted = True
                    process.send_signal(signal.SIGINT)
        except subprocess.TimeoutExpired:
            raise LocustFailed(
                f"the {design} run was not done {_LATE:g} s after its time",
                hint="see that the servers are up, or take fewer users",
            ) from None
        finally:
            process.kill()
            process.wait()


def _tail(home: Path) -> str:
    lines = (home / "locust.log").read_text(errors="replace").splitlines()
    errors = [line.partition("loadtests: ")[2] for line in lines if "/ERROR/loadtests: " in line]
    return f": {errors[-1]}" if errors else "; the end of its log: " + " | ".join(lines[-3:])


def _judge(runs: Sequence[LoadRun], stopped: str, planned: int) -> Judgement:
    """The worst verdict of all runs; fewer runs than planned prove nothing."""
    judged = [(run, run.results.head.judgement) for run in runs]
    for run, judgement in judged:
        if judgement.verdict == "broken":
            return Judgement("broken", f"{run.design}: {judgement.why}")
    doubts = [
        f"{run.design}: {judgement.why}"
        for run, judgement in judged
        if judgement.verdict == "unknown" or run.results.failures
    ]
    if stopped:
        doubts.insert(0, f"{len(runs)} of {planned} runs were made: {stopped}")
    if doubts:
        return Judgement("unknown", f"Unknown: {doubts[0]}")
    holds = sum(figure.acquisitions for run in runs for figure in run.results.runs)
    return Judgement(
        "holds",
        f"Both locks were exclusive: of {holds:,} holds in {len(runs)} runs none overlapped.",
    )


def _written(runs: Sequence[LoadRun]) -> dict[str, bytes]:
    """What the runs wrote, and what locust said, each under a name that tells its run."""
    found = {}
    for number, (design, home, _) in enumerate(runs, 1):
        log = home.resolve().parent.parent / "locust.log"
        for file in (*(home / name for name in _KEPT), log):
            if file.exists():
                found[f"{number}-{design}-{file.name}"] = file.read_bytes()
    return found


def _metrics(runs: Sequence[LoadRun]) -> ServerMetrics | None:
    """What the servers said around all runs; None if there were none."""
    files = [run.home / "server-metrics.json" for run in runs]
    found = [ServerMetrics.from_data(json.loads(file.read_text())) for file in files]
    if not found:
        return None
    fires = tuple(window for metrics in found for window in metrics.fires)
    return ServerMetrics(found[0].before, found[-1].after, fires)
