"""`zkkit bench recipes`: zkkit, kazoo and Java Curator on the same servers, in turn."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import replace

from zkkit.bench.experiment import Experiment, Words
from zkkit.bench.kit import arguments
from zkkit.bench.kit.judgement import Judgement
from zkkit.bench.kit.report import report
from zkkit.bench.kit.results import Head
from zkkit.bench.kit.servers import BENCHMARK, MeasuredServers
from zkkit.bench.kit.tables import as_html, as_markdown, as_text
from zkkit.bench.peers.comparison import KAZOO, ZKKIT
from zkkit.bench.peers.libraries import peers
from zkkit.bench.recipes import picture, words
from zkkit.bench.recipes.curator_recipes import RACES, STAGES
from zkkit.bench.recipes.figures import RecipeResults, figures
from zkkit.bench.recipes.judge import RecipeCell, RecipeSpeeds, judge
from zkkit.bench.recipes.plan import ROWS, RecipePlan
from zkkit.bench.recipes.run import measure
from zkkit.show import page
from zkkit.show.progress import Progress
from zkkit.show.table import pairs

MODULES = {name: f"zkkit.bench.recipes.{name}_recipes" for name in (ZKKIT, KAZOO)}
"""The peers in Python."""
_MOST_NODES = 10_000


class RecipesExperiment(Experiment[RecipePlan, RecipeSpeeds, RecipeResults]):
    """How fast recipes are, and whether those figures can be trusted."""

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
        """Without the peers: which of them this machine has is seen when it begins."""
        rows = tuple(ROWS.values())
        return RecipePlan((), rows, args.repeats, args.seconds, args.nodes, args.seed)

    def run(self, plan: RecipePlan, servers: MeasuredServers) -> RecipeSpeeds:
        given = peers(servers.hosts, BENCHMARK, modules=MODULES, races=RACES, stages=STAGES)
        with given as (found, left_out):
            if left_out:
                print(left_out, file=sys.stderr)
            plan = replace(plan, peers=tuple(peer.name for peer in found))
            with Progress(len(plan), "cells", first="warming up") as progress:
                speeds = measure(
                    plan,
                    servers.hosts,
                    found,
                    on_cell=lambda cell: progress.done(_describe(cell)),
                )
        speeds.left_out = left_out
        return speeds

    def judge(self, outcome: RecipeSpeeds) -> Judgement:
        return judge(outcome)

    def figures(self, outcome: RecipeSpeeds, head: Head) -> RecipeResults:
        return RecipeResults(
            head,
            outcome.plan,
            outcome.versions,
            BENCHMARK,
            outcome.left_out,
            figures(outcome),
            tuple(outcome.cells),
        )

    def words(self, results: RecipeResults) -> Words:
        parts = [as_text([words.table(results)]), pairs(words.conditions(results), indent=0)]
        return Words(words.title(results), "\n\n".join(filter(None, [*parts, results.left_out])))

    def picture(self, results: RecipeResults) -> Mapping[str, bytes]:
        return {"ratios.png": picture.ratios_png(results)} if results.figures else {}

    def page(self, results: RecipeResults, pictures: Mapping[str, bytes]) -> str:
        body = [
            "<p>Each peer does the same with its own recipe for it. The peers take turns on the "
            "same servers.</p>",
            *(page.picture(data, words.alt_text(results)) for data in pictures.values()),
            *as_html([words.table(results)]),
        ]
        if results.left_out:
            body.append(page.small([results.left_out]))
        classes = {
            figure.row.name: ", ".join(
                f"{name} {figure.row.classes[name]}" for name in results.plan.peers
            )
            for figure in results.figures
        }
        return report(
            results.head,
            heading="How fast recipes are",
            finding=words.title(results),
            body=[*body, "<h2>The classes</h2>", page.facts(classes)],
            facts=words.conditions(results),
            beside="results.json has every cell, figures.md the table to paste",
        )

    def files(self, outcome: RecipeSpeeds, results: RecipeResults) -> Mapping[str, str]:
        return {"figures.md": as_markdown([words.table(results)], words.conditions(results))}


def _nodes(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _MOST_NODES:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of nodes: give 1 to {_MOST_NODES}")
    return int(text)


def _describe(cell: RecipeCell) -> str:
    turn = cell.turn
    text = f"{turn.row.name}, {turn.peer}: {cell.value:,.1f} {turn.row.unit}"
    return f"{text} (void)" if cell.void else text


EXPERIMENT = RecipesExperiment()
