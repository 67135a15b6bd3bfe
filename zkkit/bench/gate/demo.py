"""`zkkit demo`: the herd law, told and shown in a minute."""

from __future__ import annotations

import argparse
from contextlib import AbstractContextManager

from zkkit.bench.designs import HERD, SEQUENTIAL
from zkkit.bench.gate.experiment import GateExperiment
from zkkit.bench.gate.plan import GatePlan
from zkkit.bench.kit.servers import MeasuredServers, servers


class GateDemo(GateExperiment):
    """The same experiment with two designs, on servers of its own, and an introduction."""

    description = """\
Starts three ZooKeeper servers in memory, lets contenders queue for two designs of a lock, and
shows what each design costs. Takes well under two minutes; leaves only its results behind.
"""
    epilog = """\
examples:
  zkkit demo
  zkkit demo --contenders 2,3 --repeats 1     a quick look

exit codes:
  0 the law holds   1 it is broken   2 unknown (also wrong usage)   130 interrupted
"""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.set_defaults(designs=(HERD, SEQUENTIAL), population="own")
        self.add_plan_options(parser, name="demo", repeats=2)

    def plan(self, args: argparse.Namespace) -> GatePlan:
        plan = super().plan(args)
        print(_introduction(plan), flush=True)
        return plan

    def servers(self, args: argparse.Namespace) -> AbstractContextManager[MeasuredServers]:
        return servers(None)


def _introduction(plan: GatePlan) -> str:
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


EXPERIMENT = GateDemo()
