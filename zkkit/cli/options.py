"""Options that several commands have."""

from __future__ import annotations

import argparse

from zkkit.bench.verdict import Verdict
from zkkit.cli import arguments
from zkkit.ensemble.backends import BACKENDS

COLOURS = {Verdict.HOLDS: "green", Verdict.BROKEN: "red", Verdict.UNKNOWN: "yellow"}
"""How a verdict is painted."""


def add_servers(own: argparse.ArgumentParser) -> None:
    """Which servers to measure on."""
    own.add_argument("--hosts", type=arguments.hosts, help="servers that are there already")
    own.add_argument(
        "--medium",
        choices=("memory", "disk"),
        help="where our own servers keep their data (default: memory)",
    )
    own.add_argument(
        "--backend",
        choices=BACKENDS,
        help="what our own servers run on (default: local, so that their CPU can be told)",
    )


def check_servers(own: argparse.ArgumentParser, given: argparse.Namespace) -> None:
    """Stop where the options contradict each other."""
    for option in ("medium", "backend"):
        if given.hosts and getattr(given, option):
            own.error(f"--{option} is for servers of our own; those at --hosts are there already")


def add_results(own: argparse.ArgumentParser, name: str) -> None:
    """Where to put the results."""
    own.add_argument(
        "--name", type=arguments.name, default=name, help=f"of the results (default: {name})"
    )
    own.add_argument(
        "--results", default="results", metavar="DIR", help="where to put them (default: results)"
    )
