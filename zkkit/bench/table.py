"""All experiments by name. A new one is a package and a line here; `zkkit bench` then offers it.

An experiment is called as its package is, by `zkkit bench` and in results.json. Two are not: gate,
whose contenders queue at a gate, is what `zkkit compare` runs, so its results say "compare"; and
load lives in loadtests/.

An experiment is imported only when it is asked for, so that `zkkit --help` stays quick.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import zkkit
from zkkit.bench.experiment import Experiment


class ExperimentEntry(NamedTuple):
    """A line of the table: the module that has EXPERIMENT, and what it is about."""

    module: str
    about: str

    def load(self) -> Experiment[Any, Any, Any]:
        """Import the experiment."""
        found: Experiment[Any, Any, Any] = import_module(self.module).EXPERIMENT
        return found


def comparison(words: Sequence[str]) -> ExperimentEntry:
    """The experiment that `zkkit compare` with these words runs. Designs of a cache have one of
    their own, with its own options: so the designs are read before all other options."""
    peek = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    peek.add_argument("--designs", default="")
    named, _ = peek.parse_known_args(words)
    return EXPERIMENTS["caches" if "cache-" in named.designs else "gate"]


EXPERIMENTS = {
    "gate": ExperimentEntry(
        "zkkit.bench.gate.experiment", "compare designs of a lock or an election under contention"
    ),
    "caches": ExperimentEntry(
        "zkkit.bench.caches.experiment", "two generations of a cache over the same tree"
    ),
    "locks": ExperimentEntry(
        "zkkit.bench.locks.experiment", "zkkit's locks beside kazoo's and Java Curator's"
    ),
    "recipes": ExperimentEntry(
        "zkkit.bench.recipes.experiment", "elections, counters, barriers and caches beside theirs"
    ),
    "connection": ExperimentEntry(
        "zkkit.bench.connection.experiment", "zkkit's connection beside kazoo's own"
    ),
    "shop": ExperimentEntry(
        "zkkit.bench.shop.experiment", "the shop that oversells, and what prevents it"
    ),
    "recorder": ExperimentEntry("zkkit.bench.recorder.experiment", "what recording costs"),
}

if Path(zkkit.__file__).parents[1].joinpath("loadtests", "experiment.py").exists():
    # Load tests live beside zkkit in its repository; an installed zkkit comes without them.
    EXPERIMENTS["load"] = ExperimentEntry(
        "loadtests.experiment", "two designs of a lock under load"
    )
