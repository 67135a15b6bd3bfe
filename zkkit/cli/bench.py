"""`zkkit bench …`: measure zkkit itself."""

from __future__ import annotations

from typing import Any

from zkkit.cli import locks_speed, recorder


def add_to(commands: Any) -> None:
    """Add the benchmarks to a parser's commands."""
    own = commands.add_parser("bench", help="measure zkkit itself")
    benchmarks = own.add_subparsers(title="benchmarks", metavar="WHAT", required=True)
    recorder.add_to(benchmarks)
    locks_speed.add_to(benchmarks)
