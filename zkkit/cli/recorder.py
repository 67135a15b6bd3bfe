"""`zkkit bench recorder`: what recording costs."""

from __future__ import annotations

import argparse
from typing import Any

from zkkit.bench import recorder_cost, recorder_share
from zkkit.bench.recorder_cost import RecorderCost
from zkkit.bench.recorder_share import RecorderShare
from zkkit.cli import arguments
from zkkit.cli.servers import BENCHMARK, servers
from zkkit.show.progress import Progress

_BLOCKS = 20

_DESCRIPTION = """\
First the cost of recording one event, without servers. Then its share of an uncontended acquire
and release of a ReentrantLock on real servers, by arithmetic and by comparing blocks with a
recorder and without, in ABBA order.
"""
_EPILOG = """\
examples:
  zkkit bench recorder
  zkkit bench recorder --no-servers           the cost of an event only
  zkkit bench recorder --hosts zk1:2181       on servers that are there already
"""


def add_to(benchmarks: Any) -> None:
    """Add the command to the benchmarks."""
    own = benchmarks.add_parser(
        "recorder",
        help="what recording costs",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    own.set_defaults(command=_command)
    own.add_argument("--events", type=arguments.repeats, default=200_000, help="to be recorded")
    own.add_argument("--blocks", type=arguments.repeats, default=_BLOCKS, help="to be compared")
    which = own.add_mutually_exclusive_group()
    which.add_argument("--hosts", type=arguments.hosts, help="servers that are there already")
    which.add_argument("--no-servers", action="store_true", help="leave the second part out")


def _command(given: argparse.Namespace) -> int:
    cost = recorder_cost.measure(given.events)
    print(recorder_cost.table(cost), flush=True)
    if given.no_servers:
        return 0
    blocks = max(2, given.blocks)
    with servers(given.hosts, jvm_flags=BENCHMARK) as there, Progress(blocks, "blocks") as progress:
        share = recorder_share.measure(
            there.hosts, blocks=blocks, on_block=lambda block: progress.done("on and off")
        )
    print(_text(cost, share))
    return 0


def _text(cost: RecorderCost, share: RecorderShare) -> str:
    off, ratio = share.off_us, share.ratio
    added, part = share.cost_us(cost.ns_per_event), share.share(cost.ns_per_event)
    return f"""
an uncontended acquire and release of a ReentrantLock
  takes, unrecorded         {off.median:,.0f} us (quartiles {off.low:,.0f}..{off.high:,.0f})
  gives                     {share.events:.1f} events
  recording, by arithmetic  {added:.1f} us, {part:.2%} of it
  recorder on : off         {ratio.median:.3f} (quartiles {ratio.low:.3f}..{ratio.high:.3f})"""
