"""What an experiment is, and the one way to run, judge, write, publish and tell it.

    plan      what to measure, from the options
    run       measure it on servers
    judge     holds, broken or unknown, and why
    figures   from what was measured to typed results: what results.json says
    words     the finding in a line, and all of it as text
    picture   the same as pictures, by file name
    page      the same as report.html

An experiment is a package below zkkit.bench and a line in zkkit.bench.table. `conduct` does the
rest: it makes the results directory before anything is measured, starts the servers, and when all
is measured writes everything, moves `latest` and says what was found. Whatever fails on the way
leaves no half results.
"""

from __future__ import annotations

import argparse
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from zkkit.bench.kit.arguments import again
from zkkit.bench.kit.data import as_json
from zkkit.bench.kit.judgement import Judgement
from zkkit.bench.kit.machine import this_machine
from zkkit.bench.kit.results import Head, Results, ResultsDirectory
from zkkit.bench.kit.servers import BENCHMARK, MeasuredServers, ServerFacts, servers
from zkkit.record import Row
from zkkit.show.canvas import NoPicture
from zkkit.show.table import paint, pairs

PlanT = TypeVar("PlanT")
OutcomeT = TypeVar("OutcomeT")
ResultsT = TypeVar("ResultsT", bound=Results)


class Words(NamedTuple):
    """What an experiment says: its finding in a line, and everything else as text."""

    title: str
    text: str


class Experiment(ABC, Generic[PlanT, OutcomeT, ResultsT]):
    """One experiment."""

    description: ClassVar[str]
    """What --help says first; the epilog, its last part, has examples and exit codes."""
    epilog: ClassVar[str]

    @abstractmethod
    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Its options, by `kit.arguments`; `add_results` must be among them."""

    @abstractmethod
    def plan(self, args: argparse.Namespace) -> PlanT:
        """What the options ask for."""

    def servers(self, args: argparse.Namespace) -> AbstractContextManager[MeasuredServers]:
        """The servers to measure on, for as long as the `with` block lasts."""
        return servers(
            args.hosts,
            backend=args.backend or "local",
            medium=args.medium or "memory",
            jvm_flags=BENCHMARK,
        )

    @abstractmethod
    def run(self, plan: PlanT, servers: MeasuredServers) -> OutcomeT:
        """Measure, telling on stderr how far it has come."""

    @abstractmethod
    def judge(self, outcome: OutcomeT) -> Judgement:
        """What the measurement says."""

    @abstractmethod
    def figures(self, outcome: OutcomeT, head: Head) -> ResultsT:
        """What results.json says."""

    @abstractmethod
    def words(self, results: ResultsT) -> Words:
        """What is said on the terminal."""

    def picture(self, results: ResultsT) -> Mapping[str, bytes]:
        """PNG files by name; none if there is nothing to draw."""
        return {}

    @abstractmethod
    def page(self, results: ResultsT, pictures: Mapping[str, bytes]) -> str:
        """The report, as one self-contained page."""

    def files(self, outcome: OutcomeT, results: ResultsT) -> Mapping[str, str | bytes]:
        """Further files to write, by name."""
        return {}

    def events(self, outcome: OutcomeT) -> Sequence[Row]:
        """The recording, where there is one."""
        return ()

    def exit_code(self, outcome: OutcomeT, judgement: Judgement) -> int:
        """What the command ends with."""
        return judgement.exit_code


def conduct(experiment: Experiment[Any, Any, Any], args: argparse.Namespace, prog: str) -> int:
    """Run an experiment as the options ask for; gives the exit code. `prog` is its command.

    Raises ResultsUnwritable before anything is measured if there is no place for the results,
    EnsembleError if no servers can be started, and what the experiment raises.
    """
    plan = experiment.plan(args)
    with ResultsDirectory(args.results, args.name) as directory:
        with experiment.servers(args) as measured:
            started = datetime.now(UTC)
            outcome = experiment.run(plan, measured)
            ensemble = measured.describe() if measured.hosts else None
        judgement = experiment.judge(outcome)
        head = head_of(args.name, judgement, again(prog, args), started, ensemble)
        results = experiment.figures(outcome, head)
        print(publish(experiment, outcome, results, directory), flush=True)
    return experiment.exit_code(outcome, judgement)


def head_of(
    name: str,
    judgement: Judgement,
    command: str,
    started: datetime,
    ensemble: ServerFacts | None,
) -> Head:
    """The head of the results of a measurement that has just ended, on this machine."""
    seconds = round((datetime.now(UTC) - started).total_seconds(), 1)
    when = started.isoformat(timespec="seconds")
    return Head(name, judgement, command, when, seconds, this_machine(), ensemble)


def publish(
    experiment: Experiment[Any, OutcomeT, ResultsT],
    outcome: OutcomeT,
    results: ResultsT,
    directory: ResultsDirectory,
    *,
    report: bool = True,
) -> str:
    """Write everything, give the directory its name, and return what is to be said at the end.
    Without a report it writes what programs read, and neither page nor pictures."""
    pictures: Mapping[str, bytes] = {}
    excuse = ""
    if report:
        try:
            pictures = experiment.picture(results)
        except NoPicture as error:
            excuse = str(error)
        directory.write("report.html", experiment.page(results, pictures))
    for name, content in {**pictures, **experiment.files(outcome, results)}.items():
        directory.write(name, content)
    if rows := experiment.events(outcome):
        directory.write_events(rows)
    directory.write("results.json", as_json(results))
    home = directory.publish()
    where = {"report": str(home / "report.html")} if report else {}
    if pictures:
        where["picture"] = ", ".join(str(home / name) for name in pictures)
    return last_words(experiment, results, {**where, "all": str(home)}, excuse)


def last_words(
    experiment: Experiment[Any, Any, ResultsT],
    results: ResultsT,
    where: Mapping[str, str],
    excuse: str = "",
) -> str:
    """The figures, the finding, the verdict, and where everything is."""
    title, text = experiment.words(results)
    judgement = results.head.judgement
    return "\n".join(
        (
            text,
            "",
            paint(f"{title}.", "bold", sys.stdout),
            paint(judgement.why, judgement.colour, sys.stdout),
            "",
            pairs(where),
            *filter(None, [excuse]),
        )
    )
