"""`zkkit ensemble`: three servers that stay up, to be looked at, broken and mended."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from zkkit.ensemble import standing
from zkkit.ensemble.backends import BACKENDS
from zkkit.ensemble.base import NodeStatus
from zkkit.ensemble.standing import NothingUp, Standing
from zkkit.show.table import paint, pairs, table

_DESCRIPTION = "Three ZooKeeper servers on this machine that stay up until you end them."
_EPILOG = """\
examples:
  zkkit ensemble up                       start them; says how to connect
  zkkit ensemble status                   who leads, who is asleep, who is cut off
  zkkit ensemble cut leader               cut the leader off its peers
  zkkit ensemble heal 2                   and put it back
  zkkit ensemble down                     end them

exit codes:
  0 done   1 no ensemble is up   2 it could not be done   130 interrupted
"""

_ORDERS = {
    "kill": "end a node at once, as a power cut would",
    "restart": "start a killed node again, or end and start a running one",
    "pause": "freeze a node: its connections stay open, nothing answers",
    "resume": "let a paused node go on",
    "cut": "cut a node off its peers; its clients stay connected",
    "heal": "put a node that was cut off back among its peers",
}
_LEADER = "leader"


def add_to(commands: Any) -> None:
    """Add the command to a parser's commands."""
    own = commands.add_parser(
        "ensemble",
        help="start, break, mend and end three servers that stay up",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    orders = own.add_subparsers(title="orders", metavar="ORDER", required=True)
    _add_up(orders)
    down = orders.add_parser("down", help="end the servers and remove their data")
    down.add_argument(
        "--purge", action="store_true", help="remove also the images built by us, and all state"
    )
    down.set_defaults(command=_down)
    orders.add_parser("status", help="a table of the nodes").set_defaults(command=_status)
    for verb, what in _ORDERS.items():
        order = orders.add_parser(verb, help=what)
        order.add_argument("node", type=_node, help="its number, or: leader")
        order.set_defaults(command=_order, verb=verb)


def _add_up(orders: Any) -> None:
    up = orders.add_parser("up", help="start the servers and leave them running")
    up.add_argument(
        "--backend",
        choices=BACKENDS,
        default="auto",
        help="containers or processes; auto takes docker if an engine answers (default: auto)",
    )
    up.add_argument(
        "--medium",
        choices=("memory", "disk"),
        default="memory",
        help="where the servers keep their data (default: memory)",
    )
    up.add_argument(
        "--ports",
        type=_ports,
        metavar="P1,P2,P3",
        help="the clients' ports (default: free ones are chosen)",
    )
    up.set_defaults(command=_up)


def _up(given: argparse.Namespace) -> int:
    print("Starting three ZooKeeper servers ...", file=sys.stderr)
    there, why = standing.up(given.backend, medium=given.medium, client_ports=given.ports)
    print(_table(there))
    facts = {
        "backend": f"{there.backend}: {why}",
        "medium": there.medium,
        "connect to": there.hosts,
        "end it": "zkkit ensemble down",
    }
    print("\n" + pairs(facts))
    if given.backend not in ("auto", there.backend):
        print(paint(f"It runs on {there.backend}, not on {given.backend}.", "yellow", sys.stdout))
    return 0


def _down(given: argparse.Namespace) -> int:
    removed = standing.down(purge=given.purge)
    print(f"Removed {' and '.join(removed)}." if removed else "There was nothing to remove.")
    return 0


def _status(given: argparse.Namespace) -> int:
    try:
        there = standing.find()
    except NothingUp as nothing:
        print(nothing)
        return 1
    print(_table(there))
    print("\n" + pairs({"backend": there.backend, "connect to": there.hosts}))
    return 0


def _order(given: argparse.Namespace) -> int:
    try:
        there = standing.find()
    except NothingUp as nothing:
        print(nothing)
        return 1
    node = there.servers.leader() if given.node == _LEADER else given.node
    there.servers.order(given.verb, node)
    print(_table(there))
    return 0


def _table(there: Standing) -> str:
    headers = ("node", "state", "role", "port", "latency (ms)", "sessions")
    return table(headers, [_row(each) for each in there.servers.status()], left=3)


def _row(each: NodeStatus) -> tuple[str, ...]:
    state = f"{each.state}, cut off" if each.cut else each.state
    latency = "-" if each.latency_ms is None else f"{each.latency_ms:.2f}"
    sessions = "-" if each.sessions is None else str(each.sessions)
    role = each.role or ("serves nobody" if each.state == "running" else "-")
    return str(each.node), state, role, str(each.port), latency, sessions


def _node(text: str) -> int | str:
    if text == _LEADER:
        return text
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor 'leader'") from None


def _ports(text: str) -> list[int]:
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != 3 or not all(0 < number < 65536 for number in numbers):
        raise argparse.ArgumentTypeError(f"{text!r} is not three ports, such as 2181,2182,2183")
    return numbers
