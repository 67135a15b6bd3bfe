"""`zkkit demo`: the herd law, told and shown in a minute."""

from __future__ import annotations

import argparse
from typing import Any

from zkkit.bench.compare import Plan
from zkkit.bench.designs import HERD, SEQUENTIAL
from zkkit.bench.results import ResultsDirectory
from zkkit.cli.compare import add_options, command_line, finish, measure, plan_of
from zkkit.cli.servers import servers

_DESCRIPTION = """\
Starts three ZooKeeper servers in memory, lets contenders queue for two designs of a lock, and
shows what each design costs. Takes well under two minutes; leaves only its results behind.
"""
_EPILOG = """\
examples:
  zkkit demo
  zkkit demo --contenders 2,3 --repeats 1     a quick look

exit codes:
  0 the law holds   1 it is broken   2 unknown (also wrong usage)   130 interrupted
"""


def add_to(commands: Any) -> None:
    """Add the command to a parser's commands."""
    own = commands.add_parser(
        "demo",
        help="three servers, two designs of a lock, one picture",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    own.set_defaults(command=_command)
    add_options(own, name="demo", repeats=2)


def _command(given: argparse.Namespace) -> int:
    plan = plan_of(given, (HERD, SEQUENTIAL))
    print(_introduction(plan), flush=True)
    with ResultsDirectory(given.results, given.name) as directory:
        with servers(None) as there:
            outcome, document = measure(plan, there, given.name, command_line(given, plan))
        return finish(outcome, document, directory)


def _introduction(plan: Plan) -> str:
    most = max(plan.contenders)
    designs = "\n".join(f"  {design.name:<10}  {design.does}" for design in plan.designs)
    herd, queue = HERD.law.fires, SEQUENTIAL.law.fires
    return f"""\
One session holds a lock. N contenders, each with a session of its own, queue behind it. Then it
lets go, and each of them acquires the lock once. How many watches fire? That depends on the design:

{designs}

The law, by arithmetic: {queue.formula} fires for the queue, up to {herd.formula} for the herd.
With {most} contenders that is {queue.of(most)} against {herd.of(most)}.
Now we count: at the clients and, independently, at the servers.
"""
