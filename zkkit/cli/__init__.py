"""The command line: `zkkit …`.

Exit codes: 0 holds, 1 broken, 2 unknown (also: wrong usage, and whatever keeps a check from being
made), 130 interrupted. A check that crashes is unknown, never a pass.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import zkkit
from zkkit.bench.experiment import Experiment, conduct
from zkkit.bench.kit.arguments import check_servers
from zkkit.bench.kit.judgement import INTERRUPTED, UNKNOWN
from zkkit.bench.table import EXPERIMENTS, ExperimentEntry, comparison
from zkkit.cli import doctor, ensemble, sim
from zkkit.errors import ZkkitError

_DEMO = ExperimentEntry(
    "zkkit.bench.gate.demo", "three servers, two designs of a lock, one picture"
)
_CHAOS = ExperimentEntry("zkkit.chaos.experiment", "the recipes in a storm of faults")
_DESCRIPTION = "Teach, measure and trust coordination on ZooKeeper."
_EPILOG = """\
examples:
  zkkit demo                              three servers, two designs, one picture
  zkkit compare --contenders 2,5,50       the numbers of contenders you like
  zkkit compare --hosts zk1:2181,zk2:2181 on servers that are there already
  zkkit bench locks                       zkkit, kazoo and Java Curator, in turn
  zkkit bench recorder                    what recording costs
  zkkit bench shop                        what keeps buyers of several processes apart
  zkkit chaos                             every kind of recipe in a storm of faults
  zkkit sim gallery                       mistakes in locks, and the shortest story of each
  zkkit sim clocks                        when a hold may be called valid, and when not
  zkkit ensemble up                       three servers that stay, to break and mend
  zkkit doctor                            what this machine lacks
  zkkit compare --help                    all options of one command

exit codes of demo and compare:
  0 the law holds   1 it is broken   2 unknown (also wrong usage)   130 interrupted
"""


def parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    top = LazyParser(prog="zkkit", description=_DESCRIPTION, epilog=_EPILOG)
    top.add_argument("--version", action="version", version=f"zkkit {zkkit.__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _offer(commands, "demo", _DEMO)
    commands.add_parser("compare", help=EXPERIMENTS["gate"].about).choose = comparison
    bench = commands.add_parser("bench", help="all experiments, by name")
    experiments = bench.add_subparsers(title="experiments", metavar="NAME", required=True)
    for name, entry in EXPERIMENTS.items():
        _offer(experiments, name, entry)
    _offer(commands, "chaos", _CHAOS)
    sim.add_to(commands)
    ensemble.add_to(commands)
    doctor.add_to(commands)
    return top


def _offer(commands: Any, name: str, entry: ExperimentEntry) -> None:
    commands.add_parser(name, help=entry.about).choose = lambda words: entry


class LazyParser(argparse.ArgumentParser):
    """A parser that asks an experiment for its options when it is used. So nobody waits for the
    imports of an experiment that was not asked for. Descriptions and examples keep their lines."""

    choose: Callable[[Sequence[str]], ExperimentEntry] | None = None
    """Chooses the experiment, by the words behind the command."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **settings)

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        if self.choose is not None:
            experiment, self.choose = self.choose(args or ()).load(), None
            self.description, self.epilog = experiment.description, experiment.epilog
            experiment.add_options(self)
            self.set_defaults(command=lambda args: self._conduct(experiment, args))
        return super().parse_known_args(args, namespace)

    def _conduct(self, experiment: Experiment[Any, Any, Any], args: argparse.Namespace) -> int:
        check_servers(self, args)
        return conduct(experiment, args, self.prog)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; gives its exit code."""
    arguments = parser().parse_args(argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without "≤" gets a "?"
    try:
        code: int = arguments.command(arguments)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        _say("interrupted; nothing was written, the verdict is unknown")
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has left. Without this the interpreter would complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNKNOWN
    except ZkkitError as error:
        _say(str(error))
        return UNKNOWN
    except Exception:
        traceback.print_exc()
        _say("this is a defect of zkkit; the verdict is unknown")
        return UNKNOWN


def _say(text: str) -> None:
    print(f"zkkit: {text}", file=sys.stderr)
