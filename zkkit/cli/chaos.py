"""`zkkit chaos`: every kind of lock in a storm of faults, judged by what was written down."""

from __future__ import annotations

import argparse
import importlib.util
import shlex
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from zkkit.bench.results import ResultsDirectory, as_json
from zkkit.chaos import results
from zkkit.chaos.client import FRONTS
from zkkit.chaos.faults import KINDS
from zkkit.chaos.run import ChaosPlan, run
from zkkit.check.chaos.history import read
from zkkit.cli import options
from zkkit.record import MissingExtra
from zkkit.show.progress import Progress
from zkkit.show.table import paint, pairs

_SECONDS = 300.0
_NAME = "chaos"

_DESCRIPTION = f"""\
Three servers, and processes on every front that take every kind of lock. Meanwhile processes are
killed and stopped, connections break and replies get lost, sessions expire, and servers are killed,
paused and cut off. Then there is calm, and everybody must get each lock once more. What the
processes wrote down is judged by the files alone: no two holds overlap while both call themselves
valid, tokens grow, no guarded write is stale, nobody starves, nothing is left behind.

faults:
  {", ".join(KINDS[:9])},
  {", ".join(KINDS[9:])}
"""
_EPILOG = """\
examples:
  zkkit chaos                                     five minutes of all faults
  zkkit chaos --seconds 1800 --seed 7             half an hour, with other dice
  zkkit chaos --faults "cut leader,cut follower"  only these

exit codes:
  0 every promise was kept   1 one was broken   2 unknown: interrupted, or a fault never struck
"""


def add_to(commands: Any) -> None:
    """Add the command to a parser's commands."""
    own = commands.add_parser(
        "chaos",
        help="every kind of lock in a storm of faults",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    own.set_defaults(command=_command)
    own.add_argument(
        "--seconds",
        type=_seconds,
        default=_SECONDS,
        help=f"how long faults strike; the calm comes after that (default: {_SECONDS:g})",
    )
    own.add_argument(
        "--faults",
        type=_some("fault", KINDS),
        default=KINDS,
        metavar="NAMES",
        help="only these, separated by commas (default: all)",
    )
    own.add_argument(
        "--fronts",
        type=_some("front", FRONTS),
        default=FRONTS,
        metavar="NAMES",
        help=f"only these (default: {','.join(FRONTS)})",
    )
    own.add_argument("--seed", type=int, default=1, help="decides what is broken (default: 1)")
    options.add_results(own, _NAME)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 1 <= value <= 86400:
        raise argparse.ArgumentTypeError(f"{text!r} is no time from 1 to 86400 seconds")
    return value


def _some(what: str, known: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    def parse(text: str) -> tuple[str, ...]:
        names = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(
                    f"there is no {what} {name!r}: give some of {', '.join(known)}"
                )
        return names

    return parse


def _command(given: argparse.Namespace) -> int:
    if "gevent" in given.fronts and importlib.util.find_spec("gevent") is None:
        raise MissingExtra(
            "gevent is not installed",
            hint="pip install 'zkkit[load]', or leave it out: --fronts threads,asyncio",
        )
    plan = ChaosPlan(given.seconds, given.fronts, given.faults, given.seed)
    started = datetime.now(UTC)
    with ResultsDirectory(given.results, given.name) as directory:
        history = directory.folder("history")
        print("Starting three ZooKeeper servers and their clients ...", file=sys.stderr)
        with Progress(plan.rounds, "rounds of storm") as progress:
            ensemble = run(plan, history, progress.done)
        written = read(history)
        found = results.judge(written)
        document = results.document(
            written,
            found,
            plan,
            name=given.name,
            command=_command_line(given),
            started=started,
            ensemble=ensemble,
        )
        directory.write("results.json", as_json(document))
        directory.write("report.html", results.html(written, found, document))
        home = directory.publish()
    verdict, why = found.judgement
    print(results.text(written, found))
    print()
    print(paint(why, options.COLOURS[verdict], sys.stdout))
    print()
    print(pairs({name: str(home / name) for name in ("report.html", "results.json", "history")}))
    return verdict.exit_code


def _command_line(given: argparse.Namespace) -> str:
    """The command that does the same again."""
    words = ["zkkit", "chaos", "--seconds", f"{given.seconds:g}", "--seed", str(given.seed)]
    words += ["--name", given.name]
    if given.faults != KINDS:
        words += ["--faults", ",".join(given.faults)]
    if given.fronts != FRONTS:
        words += ["--fronts", ",".join(given.fronts)]
    return shlex.join(words)
