"""`zkkit ensemble`: three servers that stay up, to be looked at, broken and mended."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from zkkit.ensemble import EnsembleError, kept
from zkkit.ensemble.backends import BACKENDS
from zkkit.ensemble.base import NodeStatus, majority, mending, only_leader
from zkkit.ensemble.kept import KeptEnsemble, KeptServers, NothingUp
from zkkit.show.table import pairs, table

_DESCRIPTION = "Three ZooKeeper servers on this machine that stay up until you end them."
_EPILOG = """\
examples:
  zkkit ensemble up                       start them; says how to connect
  zkkit ensemble status                   who leads, who is asleep, who is cut off
  zkkit ensemble cut leader               cut the leader off its peers
  zkkit ensemble heal                     put back what is cut off
  zkkit ensemble down                     end them

exit codes:
  0 done   1 no ensemble is up   2 it could not be done   130 interrupted
"""

_LEADER = "leader"
_BREAKING = {
    "kill": "end a node at once, as a power cut would",
    "pause": "freeze a node: its connections stay open, nothing answers",
    "cut": "cut a node off its peers; its clients stay connected",
}


class _Mending(NamedTuple):
    """An order that undoes another one: what it does, and the state of those who need it."""

    help: str
    state: str


_MENDING = {
    "restart": _Mending("start killed nodes again, or end and start a running one", "killed"),
    "resume": _Mending("let paused nodes go on", "paused"),
    "heal": _Mending("put nodes that were cut off back among their peers", "cut off"),
}


def add_to(commands: Any) -> None:
    """Add the command to a parser's commands."""
    parser = commands.add_parser(
        "ensemble",
        help="start, break, mend and end three servers that stay up",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    orders = parser.add_subparsers(title="orders", metavar="ORDER", required=True)
    _add_up(orders)
    down = orders.add_parser("down", help="end the servers and remove their data")
    down.add_argument(
        "--purge", action="store_true", help="remove also the images built by us, and all state"
    )
    down.set_defaults(command=_down)
    status = orders.add_parser("status", help="a table of the nodes")
    status.set_defaults(command=_if_up(_status))
    for verb, what in _BREAKING.items():
        order = orders.add_parser(verb, help=what)
        order.add_argument("node", type=_node, help="its number, or: leader")
        order.set_defaults(command=_if_up(_break), verb=verb)
    for verb, kind in _MENDING.items():
        order = orders.add_parser(verb, help=kind.help)
        order.add_argument(
            "node", type=_broken, nargs="?", help=f"its number (default: all that are {kind.state})"
        )
        order.set_defaults(command=_if_up(_mend), verb=verb)


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
        help="where the servers keep their data (default: memory)",
    )
    up.add_argument(
        "--ports",
        type=_ports,
        metavar="P1,P2,P3",
        help="the clients' ports (default: free ones are chosen)",
    )
    up.set_defaults(command=_up)


# --- the orders -----------------------------------------------------------------------


def _up(args: argparse.Namespace) -> int:
    found, why = kept.up(
        args.backend,
        medium=args.medium,
        client_ports=args.ports,
        on_start=lambda: _tell("Starting three ZooKeeper servers ..."),
    )
    print(_report(found.servers.status()))
    facts = {
        "backend": f"{found.backend}: {why}",
        "medium": found.medium,
        "connect to": found.hosts,
        "end it": "zkkit ensemble down",
    }
    print("\n" + pairs(facts))
    return 0


def _down(args: argparse.Namespace) -> int:
    removed = kept.down(purge=args.purge)
    print(f"Removed {' and '.join(removed)}." if removed else "There was nothing to remove.")
    return 0


def _if_up(
    order: Callable[[KeptEnsemble, argparse.Namespace], None],
) -> Callable[[argparse.Namespace], int]:
    """An order to the ensemble that is up; if none is, that is said."""

    def command(args: argparse.Namespace) -> int:
        try:
            found = kept.find()
        except NothingUp as nothing:
            print(nothing)
            return 1
        order(found, args)
        return 0

    return command


def _status(found: KeptEnsemble, args: argparse.Namespace) -> None:
    print(_report(found.servers.status()))
    print("\n" + pairs({"backend": found.backend, "connect to": found.hosts}))


def _break(found: KeptEnsemble, args: argparse.Namespace) -> None:
    with _hints_as_commands():
        node = _leader(found.servers) if args.node == _LEADER else args.node
        found.servers.order(args.verb, node)
    print(_report(found.servers.status()))


def _mend(found: KeptEnsemble, args: argparse.Namespace) -> None:
    state = _MENDING[args.verb].state
    needing = [each.node for each in found.servers.status() if state in _state(each)]
    chosen = needing if args.node is None else [args.node]
    for node in chosen:
        _tell(f"{args.verb} {node} ...")  # it may take a while until the node serves
        with _hints_as_commands():
            found.servers.order(args.verb, node)
    print(_report(found.servers.status()))
    if not chosen:
        print(f"\nNo node was {state}.")
    elif args.node not in (None, *needing) and args.verb != "restart":
        others = f", but {' and '.join(map(str, needing))}" if needing else ""
        print(f"\nNode {args.node} was not {state}{others}.")


def _leader(servers: KeptServers) -> int:
    """The node that leads; says so if an election must be waited for."""
    nodes = servers.status()
    if _leading(nodes) is None and _has_majority(nodes):
        _tell("An election is under way; waiting for the leader ...")
    return servers.leader()


@contextmanager
def _hints_as_commands() -> Iterator[None]:
    """What an ensemble tells a program to call, a user types."""
    try:
        yield
    except EnsembleError as error:
        error.hint = _as_commands(error.hint)
        raise


def _as_commands(hint: str) -> str:
    """ "restart(1) or heal(2)" as "zkkit ensemble restart 1 or zkkit ensemble heal 2"."""
    return re.sub(rf"\b({'|'.join(_MENDING)})\((\d+)\)", r"zkkit ensemble \1 \2", hint)


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


# --- what is said about the nodes -----------------------------------------------------


def _report(nodes: Sequence[NodeStatus]) -> str:
    """The table, and below it what is not to be seen in one row: that nobody leads, and why."""
    headers = ("node", "state", "role", "port", "latency (ms)", "sessions")
    leading = _leading(nodes)
    rows = table(headers, [_row(each, leading) for each in nodes], left=3)
    if not _has_majority(nodes):
        ways = (way for each in nodes for way in mending(each.node, each.state, each.cut))
        return (
            f"{rows}\n\nNobody can lead: {len(_connected(nodes))} of {len(nodes)} nodes are up and "
            f"connected, and {majority(len(nodes))} must be. To mend it: "
            f"{_as_commands(', '.join(ways))}"
        )
    if leading is None:
        return f"{rows}\n\nNobody leads at the moment: an election is under way."
    return rows


def _row(each: NodeStatus, leading: int | None) -> tuple[str, ...]:
    latency = "-" if each.latency_ms is None else f"{each.latency_ms:.2f}"
    sessions = "-" if each.sessions is None else str(each.sessions)
    return str(each.node), _state(each), _role(each, leading), str(each.port), latency, sessions


def _state(each: NodeStatus) -> str:
    return f"{each.state}, cut off" if each.cut else each.state


def _role(each: NodeStatus, leading: int | None) -> str:
    if each.role is None:
        return "serves nobody" if each.state == "running" else "-"
    # A node finds out that it is cut off within the sync limit, and till then it is wrong.
    wrong = each.cut or (each.role == _LEADER and each.node != leading)
    return f"believes: {each.role}" if wrong else each.role


def _connected(nodes: Sequence[NodeStatus]) -> dict[int, str | None]:
    """The nodes that are up and connected, and what each says it is."""
    return {each.node: each.role for each in nodes if each.state == "running" and not each.cut}


def _has_majority(nodes: Sequence[NodeStatus]) -> bool:
    return len(_connected(nodes)) >= majority(len(nodes))


def _leading(nodes: Sequence[NodeStatus]) -> int | None:
    return only_leader(_connected(nodes), len(nodes))


# --- what may be typed ----------------------------------------------------------------


def _node(text: str) -> int | str:
    return text if text == _LEADER else _number(text, "neither a number nor 'leader'")


def _broken(text: str) -> int:
    if text == _LEADER:
        raise argparse.ArgumentTypeError(
            "a node that was broken no longer leads: give its number, or no name at all to mend "
            "every node that needs it"
        )
    return _number(text, "no number")


def _number(text: str, otherwise: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is {otherwise}") from None


def _ports(text: str) -> list[int]:
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != 3 or not all(0 < number < 65536 for number in numbers):
        raise argparse.ArgumentTypeError(f"{text!r} is not three ports, such as 2181,2182,2183")
    return numbers
