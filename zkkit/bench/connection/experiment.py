"""`zkkit bench connection`: kazoo's own connection and zkkit's on the same servers, in turn."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping

from zkkit.bench.connection import picture, words
from zkkit.bench.connection.cells import ConnectionCell, ConnectionSpeeds
from zkkit.bench.connection.figures import ConnectionResults, figures
from zkkit.bench.connection.idle import idle_footprints
from zkkit.bench.connection.judge import judge
from zkkit.bench.connection.plan import SESSION_KAZOO, ConnectionPlan
from zkkit.bench.connection.run import measure
from zkkit.bench.experiment import Experiment, Words
from zkkit.bench.kit import arguments
from zkkit.bench.kit.judgement import Judgement
from zkkit.bench.kit.report import report
from zkkit.bench.kit.results import Head
from zkkit.bench.kit.servers import MeasuredServers
from zkkit.bench.kit.tables import as_html, as_markdown, as_text
from zkkit.bench.peers.comparison import ASYNCIO, KAZOO, ZKKIT
from zkkit.bench.peers.libraries import python_peers
from zkkit.show import page
from zkkit.show.progress import Progress
from zkkit.show.table import pairs

MODULES = {
    ZKKIT: "zkkit.bench.connection.zkkit_client",
    ASYNCIO: "zkkit.bench.connection.aio_client",
    SESSION_KAZOO: "zkkit.bench.connection.session_kazoo",
    KAZOO: "zkkit.bench.connection.kazoo_client",
}
"""The peers."""
IDLE = {name: MODULES[name] for name in (ZKKIT, ASYNCIO, KAZOO)}
"""Those whose sessions are counted while they do nothing."""
_MOST_IDLE = 2_000


class ConnectionExperiment(Experiment[ConnectionPlan, ConnectionSpeeds, ConnectionResults]):
    """How fast the connection is, and what an idle session takes."""

    description = """\
How fast the connection is: round trips of exists and set, requests that are under way together, and
many sessions in one process. kazoo's own client, zkkit's sessions on threads and on asyncio, and
kazoo's client on zkkit's connection take turns on the same servers, each in a process of its own.
Prints figures, ratios with an interval, the CPU time of one operation, and what idle sessions take:
threads, open files, memory. Takes about four minutes; on a machine with other work on it the
intervals are wide.
"""
    epilog = """\
examples:
  zkkit bench connection
  zkkit bench connection --sessions 1,10 --seconds 0.3 --repeats 2 --idle 20     a quick look
  zkkit bench connection --idle 1000                                            more idle sessions
  zkkit bench connection --hosts zk1:2181,zk2:2181               on servers that are there already

exit codes:
  0 zkkit is as fast as asked   1 it is not   2 unknown (also wrong usage)   130 interrupted
"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        add = arguments.add
        about = "how many do exists at once, one caller each"
        add(parser, "--sessions", arguments.contenders, "1,50,200", about, metavar="NUMBERS")
        about = "how often each is measured; 6 or more for 95 %%"
        add(parser, "--repeats", arguments.repeats, "6", about)
        add(parser, "--seconds", arguments.seconds(0.05, 60), "1", "for one measurement")
        add(parser, "--idle", _idle, "500", "sessions of a process that does nothing")
        add(parser, "--seed", int, "1", "decides whose turn it is")
        arguments.add_results(parser, "bench-connection")
        arguments.add_servers(parser)

    def plan(self, args: argparse.Namespace) -> ConnectionPlan:
        return ConnectionPlan(
            tuple(MODULES), args.sessions, args.repeats, args.seconds, args.idle, args.seed
        )

    def run(self, plan: ConnectionPlan, servers: MeasuredServers) -> ConnectionSpeeds:
        with python_peers(servers.hosts, MODULES) as found:
            with Progress(len(plan), "cells", first="warming up") as progress:
                speeds = measure(
                    plan,
                    servers.hosts,
                    found,
                    on_cell=lambda cell: progress.done(_describe(cell)),
                )
        print(f"Opening {plan.idle:,} idle sessions of each ...", file=sys.stderr)
        speeds.idle = idle_footprints(servers.hosts, IDLE, plan.idle)
        return speeds

    def judge(self, outcome: ConnectionSpeeds) -> Judgement:
        return judge(outcome)

    def figures(self, outcome: ConnectionSpeeds, head: Head) -> ConnectionResults:
        return ConnectionResults(
            head,
            outcome.plan,
            outcome.versions,
            figures(outcome),
            outcome.idle,
            tuple(outcome.cells),
        )

    def words(self, results: ConnectionResults) -> Words:
        parts = [as_text(words.tables(results)), pairs(words.conditions(results), indent=0)]
        return Words(words.title(results), "\n\n".join(parts))

    def picture(self, results: ConnectionResults) -> Mapping[str, bytes]:
        return {"ratios.png": picture.ratios_png(results)} if results.figures else {}

    def page(self, results: ConnectionResults, pictures: Mapping[str, bytes]) -> str:
        body = [
            "<p>Each peer does the same operations on one node. The peers take turns on the same "
            "servers.</p>",
            *(page.picture(data, words.alt_text(results)) for data in pictures.values()),
            *as_html(words.tables(results)),
        ]
        return report(
            results.head,
            heading="How fast the connection is",
            finding=words.title(results),
            body=body,
            facts=words.conditions(results),
            beside="results.json has every cell, figures.md the tables to paste",
        )

    def files(self, outcome: ConnectionSpeeds, results: ConnectionResults) -> Mapping[str, str]:
        return {"figures.md": as_markdown(words.tables(results), words.conditions(results))}


def _idle(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _MOST_IDLE:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no number of idle sessions: give 1 to {_MOST_IDLE}"
        )
    return int(text)


def _describe(cell: ConnectionCell) -> str:
    turn = cell.turn
    text = f"{turn.row.name}, {turn.peer}: {cell.value:,.0f} {turn.row.unit}"
    return f"{text} (void)" if cell.void else text


EXPERIMENT = ConnectionExperiment()
