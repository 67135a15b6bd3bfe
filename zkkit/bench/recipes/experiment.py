"""`zkkit bench recipes`: zkkit, kazoo and Java Curator on the same servers, in turn."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from zkkit.bench.kit import arguments
from zkkit.bench.kit.judgement import Judgement
from zkkit.bench.kit.results import Head
from zkkit.bench.kit.servers import BENCHMARK, MeasuredServers
from zkkit.bench.peers.cells import KAZOO, ZKKIT
from zkkit.bench.peers.comparison import ComparisonWords
from zkkit.bench.peers.experiment import ComparisonExperiment
from zkkit.bench.peers.libraries import Peer
from zkkit.bench.recipes import words
from zkkit.bench.recipes.curator_recipes import RACES, STAGES
from zkkit.bench.recipes.figures import RecipeResults, figures
from zkkit.bench.recipes.judge import RecipeSpeeds, judge
from zkkit.bench.recipes.plan import ROWS, RecipePlan
from zkkit.bench.recipes.run import RecipeBench

MODULES = {name: f"zkkit.bench.recipes.{name}_recipes" for name in (ZKKIT, KAZOO)}
"""The peers in Python."""
_MOST_NODES = 10_000


class RecipesExperiment(ComparisonExperiment[RecipePlan, RecipeSpeeds, RecipeResults]):
    """How fast recipes are, and whether those figures can be trusted."""

    heading = "How fast recipes are"
    procedure = "Each peer does the same with its own recipe for it."
    modules, races, stages = MODULES, RACES, STAGES
    description = """\
How fast recipes are: failover of an election, increments, rounds of a double barrier, the loading
of a cache and its events. zkkit, kazoo and Java Curator take turns on the same servers, each in a
process of its own. Prints figures, and ratios with an interval. Takes about three minutes; on a
machine with other work on it the intervals are wide.
"""
    epilog = """\
examples:
  zkkit bench recipes
  zkkit bench recipes --seconds 0.3 --repeats 2 --nodes 200     a quick look
  zkkit bench recipes --hosts zk1:2181,zk2:2181                 on servers that are there already

exit codes:
  0 the figures count   1 a recipe broke its promise   2 unknown (also wrong usage)
  130 interrupted
"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        add = arguments.add
        about = "how often each is measured; 6 or more for 95 %%"
        add(parser, "--repeats", arguments.repeats, "6", about)
        about = "for one measurement of a rate"
        add(parser, "--seconds", arguments.seconds(0.05, 60), "1", about)
        add(parser, "--nodes", _nodes, "1000", "of the tree that a cache loads")
        add(parser, "--seed", int, "1", "decides whose turn it is")
        arguments.add_results(parser, "bench-recipes")
        arguments.add_servers(parser)

    def plan(self, args: argparse.Namespace) -> RecipePlan:
        """Plan for no peers yet: which of them this machine has is seen when the run begins."""
        rows = tuple(ROWS.values())
        return RecipePlan((), rows, args.repeats, args.seconds, args.nodes, args.seed)

    def bench(
        self, plan: RecipePlan, servers: MeasuredServers, peers: Sequence[Peer]
    ) -> RecipeBench:
        return RecipeBench(RecipeSpeeds(plan), servers.hosts, peers)

    def judge(self, outcome: RecipeSpeeds) -> Judgement:
        return judge(outcome)

    def figures(self, outcome: RecipeSpeeds, head: Head) -> RecipeResults:
        return RecipeResults(
            head, figures=figures(outcome), peer_flags=BENCHMARK, **RecipeResults.of(outcome)
        )

    def in_words(self, results: RecipeResults) -> ComparisonWords:
        return words.in_words(results)

    def classes(self, results: RecipeResults) -> Mapping[str, str]:
        return {
            figure.row.name: ", ".join(
                f"{name} {figure.row.classes[name]}" for name in results.plan.peers
            )
            for figure in results.figures
        }


def _nodes(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _MOST_NODES:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of nodes: give 1 to {_MOST_NODES}")
    return int(text)


EXPERIMENT = RecipesExperiment()
