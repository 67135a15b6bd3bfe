"""`zkkit bench connection`: kazoo's own connection and zkkit's on the same servers, in turn."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from zkkit.bench.connection import words
from zkkit.bench.connection.cells import ConnectionSpeeds
from zkkit.bench.connection.figures import ConnectionResults, figures
from zkkit.bench.connection.idle import idle_footprints
from zkkit.bench.connection.judge import judge
from zkkit.bench.connection.plan import SESSION_KAZOO, ConnectionPlan
from zkkit.bench.connection.run import ConnectionBench
from zkkit.bench.kit import arguments
from zkkit.bench.kit.judgement import Judgement
from zkkit.bench.kit.results import Head
from zkkit.bench.kit.servers import MeasuredServers
from zkkit.bench.peers.cells import ASYNCIO, KAZOO, ZKKIT
from zkkit.bench.peers.comparison import ComparisonWords
from zkkit.bench.peers.experiment import ComparisonExperiment
from zkkit.bench.peers.libraries import Peer

MODULES = {
    ZKKIT: "zkkit.bench.connection.zkkit_client",
    ASYNCIO: "zkkit.bench.connection.aio_client",
    SESSION_KAZOO: "zkkit.bench.connection.session_kazoo",
    KAZOO: "zkkit.bench.connection.kazoo_client",
}
"""The peers."""
IDLE = {name: MODULES[name] for name in (ZKKIT, ASYNCIO, KAZOO)}
"""The peers whose sessions are counted while they do nothing."""
_MOST_IDLE = 2_000


class ConnectionExperiment(
    ComparisonExperiment[ConnectionPlan, ConnectionSpeeds, ConnectionResults]
):
    """How fast the connection is, and what an idle session takes."""

    heading = "How fast the connection is"
    procedure = "Each peer does the same operations on one node."
    modules = MODULES
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

    def bench(
        self, plan: ConnectionPlan, servers: MeasuredServers, peers: Sequence[Peer]
    ) -> ConnectionBench:
        return ConnectionBench(ConnectionSpeeds(plan), servers.hosts, peers)

    def run(self, plan: ConnectionPlan, servers: MeasuredServers) -> ConnectionSpeeds:
        speeds = super().run(plan, servers)
        print(f"Opening {plan.idle:,} idle sessions of each ...", file=sys.stderr)
        speeds.idle = idle_footprints(servers.hosts, IDLE, plan.idle)
        return speeds

    def judge(self, outcome: ConnectionSpeeds) -> Judgement:
        return judge(outcome)

    def figures(self, outcome: ConnectionSpeeds, head: Head) -> ConnectionResults:
        return ConnectionResults(
            head, figures=figures(outcome), idle=outcome.idle, **ConnectionResults.of(outcome)
        )

    def in_words(self, results: ConnectionResults) -> ComparisonWords:
        return words.in_words(results)


def _idle(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _MOST_IDLE:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no number of idle sessions: give 1 to {_MOST_IDLE}"
        )
    return int(text)


EXPERIMENT = ConnectionExperiment()
