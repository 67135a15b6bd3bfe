"""`zkkit bench locks`: zkkit, kazoo and Java Curator on the same servers, in turn."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence

from zkkit.bench.kit import arguments
from zkkit.bench.kit.judgement import Judgement
from zkkit.bench.kit.results import Head
from zkkit.bench.kit.servers import BENCHMARK, MeasuredServers
from zkkit.bench.locks import picture, words
from zkkit.bench.locks.curator_locks import RACES
from zkkit.bench.locks.figures import LocksResults, figures
from zkkit.bench.locks.judge import LockSpeeds
from zkkit.bench.locks.layers import layer_shares
from zkkit.bench.locks.plan import LocksPlan
from zkkit.bench.locks.run import LockBench
from zkkit.bench.peers.cells import ASYNCIO, KAZOO, OURS, ZKKIT
from zkkit.bench.peers.comparison import ComparisonWords
from zkkit.bench.peers.experiment import ComparisonExperiment
from zkkit.bench.peers.libraries import Peer

MODULES = {
    ZKKIT: "zkkit.bench.locks.zkkit_locks",
    ASYNCIO: "zkkit.bench.locks.aio_locks",
    KAZOO: "zkkit.bench.locks.kazoo_locks",
}
"""The peers in Python."""


class LocksExperiment(ComparisonExperiment[LocksPlan, LockSpeeds, LocksResults]):
    """How fast locks are, and whether those figures can be trusted."""

    heading = "How fast locks are"
    procedure = (
        "Each peer acquires and releases one lock as often as it can: alone, and with many "
        "sessions that want the same path."
    )
    modules, races = MODULES, RACES
    description = """\
How fast locks are: acquire and release, alone and with many sessions on one path. zkkit, on threads
and on asyncio, kazoo and Java Curator take turns on the same servers, each in a process of its own.
Prints rates, ratios with an interval, the CPU time of clients and servers for one acquisition, and
which threads and which layers of zkkit use it. Takes about seven minutes; on a machine with other
work on it the intervals are wide.
"""
    epilog = """\
examples:
  zkkit bench locks
  zkkit bench locks --sessions 2,10 --seconds 0.5 --repeats 2     a quick look
  zkkit bench locks --hosts zk1:2181,zk2:2181                     on servers that are there already

exit codes:
  0 the figures count   1 two holds overlapped   2 unknown (also wrong usage)   130 interrupted
"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        add = arguments.add
        add(parser, "--sessions", _sessions, "10,50,200", "how many contend", metavar="NUMBERS")
        about = "how often each is measured; 6 or more for 95 %%"
        add(parser, "--repeats", arguments.repeats, "6", about)
        about = "for one measurement, once it has settled"
        add(parser, "--seconds", arguments.seconds(0.05, 60), "1", about)
        add(parser, "--seed", int, "1", "decides whose turn it is")
        arguments.add_results(parser, "bench-locks")
        arguments.add_servers(parser)

    def plan(self, args: argparse.Namespace) -> LocksPlan:
        """Plan for no peers yet: which of them this machine has is seen when the run begins."""
        return LocksPlan((), args.sessions, args.repeats, args.seconds, args.seed)

    def bench(self, plan: LocksPlan, servers: MeasuredServers, peers: Sequence[Peer]) -> LockBench:
        return LockBench(LockSpeeds(plan), servers.hosts, peers, servers.pids)

    def run(self, plan: LocksPlan, servers: MeasuredServers) -> LockSpeeds:
        speeds = super().run(plan, servers)
        if not speeds.stopped:
            print("Looking where zkkit's CPU time goes ...", file=sys.stderr)
            ours = {name: MODULES[name] for name in OURS}
            speeds.layers = layer_shares(servers.hosts, ours, plan.sessions, plan.seconds)
        return speeds

    def judge(self, outcome: LockSpeeds) -> Judgement:
        return outcome.judgement

    def figures(self, outcome: LockSpeeds, head: Head) -> LocksResults:
        return LocksResults(
            head,
            figures=figures(outcome),
            peer_flags=BENCHMARK,
            warmed=outcome.warmed,
            layers=outcome.layers,
            **LocksResults.of(outcome),
        )

    def in_words(self, results: LocksResults) -> ComparisonWords:
        return words.in_words(results)

    def picture(self, results: LocksResults) -> Mapping[str, bytes]:
        layers = {"layers.png": picture.layers_png(results)} if results.layers else {}
        return {**super().picture(results), **layers}

    def classes(self, results: LocksResults) -> Mapping[str, str]:
        return {
            figure.kind: ", ".join(f"{name} {figure.classes[name]}" for name in figure.peers)
            for figure in results.figures
            if figure.subject == ZKKIT
        }


def _sessions(text: str) -> tuple[int, ...]:
    numbers = arguments.contenders(text)
    if numbers[0] < 2:
        raise argparse.ArgumentTypeError("one session does not contend: give 2 or more, as in 2,10")
    return numbers


EXPERIMENT = LocksExperiment()
