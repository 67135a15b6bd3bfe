"""`zkkit bench locks`: zkkit, kazoo and Java Curator on the same servers, in turn."""

from __future__ import annotations

import argparse
import shlex
import sys
from datetime import UTC, datetime
from typing import Any

from zkkit.bench import locks_figures
from zkkit.bench.locks_cells import Cell, Speeds
from zkkit.bench.locks_peers import peers
from zkkit.bench.locks_rows import SpeedPlan
from zkkit.bench.locks_speed import measure
from zkkit.bench.results import ResultsDirectory, as_json
from zkkit.bench.witness import Reading, Witness, WitnessSilent
from zkkit.cli import arguments, options
from zkkit.cli.servers import BENCHMARK, Servers, servers
from zkkit.show import canvas, locks_findings, locks_plot, locks_report
from zkkit.show.progress import Progress
from zkkit.show.table import paint, pairs

_SESSIONS = (10, 50, 200)
_REPEATS = 6
_SECONDS = 1.0
_NAME = "bench-locks"

_DESCRIPTION = """\
How fast locks are: acquire and release, alone and with many sessions on one path. zkkit, kazoo and
Java Curator take turns on the same servers, each in a process of its own. Prints rates, ratios with
an interval, the CPU time of clients and servers for one acquisition, and where zkkit's goes. Takes
about seven minutes; on a machine with other work on it the intervals are wide.
"""
_EPILOG = """\
examples:
  zkkit bench locks
  zkkit bench locks --sessions 2,10 --seconds 0.5 --repeats 2     a quick look
  zkkit bench locks --hosts zk1:2181,zk2:2181                     on servers that are there already

exit codes:
  0 the figures count   1 two holds overlapped   2 unknown (also wrong usage)   130 interrupted
"""


def add_to(benchmarks: Any) -> None:
    """Add the command to the benchmarks."""
    own = benchmarks.add_parser(
        "locks",
        help="zkkit's locks beside kazoo's and Java Curator's",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    own.set_defaults(command=lambda given: _command(own, given))
    own.add_argument(
        "--sessions",
        type=_sessions,
        default=_SESSIONS,
        metavar="NUMBERS",
        help=f"how many contend (default: {','.join(map(str, _SESSIONS))})",
    )
    own.add_argument(
        "--repeats",
        type=arguments.repeats,
        default=_REPEATS,
        help=f"how often each is measured; {_REPEATS} or more for 95 %% (default: {_REPEATS})",
    )
    own.add_argument(
        "--seconds",
        type=_seconds,
        default=_SECONDS,
        help=f"for one measurement, once it has settled (default: {_SECONDS})",
    )
    own.add_argument("--seed", type=int, default=1, help="decides whose turn it is (default: 1)")
    options.add_servers(own)
    options.add_results(own, _NAME)


def _sessions(text: str) -> tuple[int, ...]:
    numbers = arguments.contenders(text)
    if numbers[0] < 2:
        raise argparse.ArgumentTypeError("one session does not contend: give 2 or more, as in 2,10")
    return numbers


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.05 <= value <= 60:
        raise argparse.ArgumentTypeError(f"{text!r} is no time from 0.05 to 60 seconds")
    return value


def _command(own: argparse.ArgumentParser, given: argparse.Namespace) -> int:
    options.check_servers(own, given)
    with ResultsDirectory(given.results, given.name) as directory:
        with servers(
            given.hosts,
            backend=given.backend or "local",
            medium=given.medium or "memory",
            jvm_flags=BENCHMARK,
        ) as there:
            speeds, document = _measure(given, there)
        return _finish(speeds, document, directory)


def _measure(given: argparse.Namespace, there: Servers) -> tuple[Speeds, dict[str, Any]]:
    started = datetime.now(UTC)
    reading = _reading(there)
    with peers(there.hosts, BENCHMARK) as (found, excuse):
        if excuse:
            print(excuse, file=sys.stderr)
        names = tuple(peer.name for peer in found)
        plan = SpeedPlan(names, given.sessions, given.repeats, given.seconds, given.seed)
        with Progress(len(plan), "cells", first="warming up") as progress:
            speeds = measure(
                plan,
                there.hosts,
                found,
                pids=there.pids,
                on_cell=lambda cell: progress.done(_describe(cell)),
            )
    return speeds, locks_figures.results(
        speeds,
        name=given.name,
        command=_command_line(given),
        started=started,
        ensemble=there.describe(reading),
        peer_flags=BENCHMARK,
        left_out=excuse,
    )


def _reading(there: Servers) -> Reading:
    """What others' servers tell about themselves; their counting is not needed here."""
    try:
        return {} if there.known else Witness(there.hosts).read()
    except WitnessSilent:
        return {}


def _describe(cell: Cell) -> str:
    planned = cell.planned
    text = f"{planned.row.name}, {planned.peer}: {cell.rate:,.0f}/s"
    return f"{text} (void)" if cell.void else text


def _command_line(given: argparse.Namespace) -> str:
    """The command that does the same again."""
    words = ["zkkit", "bench", "locks", "--sessions", ",".join(map(str, given.sessions))]
    words += ["--repeats", str(given.repeats), "--seconds", f"{given.seconds:g}"]
    words += ["--seed", str(given.seed), "--name", given.name]
    for option in ("hosts", "medium", "backend"):
        if getattr(given, option):
            words += [f"--{option}", getattr(given, option)]
    return shlex.join(words)


def _finish(speeds: Speeds, document: dict[str, Any], directory: ResultsDirectory) -> int:
    """Write everything, say what was found and where it is; give the exit code."""
    pictures: dict[str, bytes] = {}
    excuse = "" if document["figures"] else "no picture: nothing was measured"
    if document["figures"]:
        try:
            pictures["ratios.png"] = locks_plot.ratios_png(document)
        except canvas.NoPicture as error:
            excuse = str(error)
    for name, data in pictures.items():
        directory.write(name, data)
    directory.write("report.html", locks_report.html(document, pictures))
    directory.write("figures.md", locks_findings.markdown(document))
    directory.write("results.json", as_json(document))
    home = directory.publish()
    verdict, why = speeds.judgement
    print(locks_findings.text(document))
    print()
    print(pairs(locks_findings.conditions(document), indent=0))
    print()
    print(paint(f"{locks_findings.title(document)}.", "bold", sys.stdout))
    print(paint(why, options.COLOURS[verdict], sys.stdout))
    print()
    written = ("report.html", *pictures, "figures.md")
    print(pairs({name: str(home / name) for name in written}))
    for line in filter(None, (document["left_out"], excuse)):
        print(line)
    return verdict.exit_code
