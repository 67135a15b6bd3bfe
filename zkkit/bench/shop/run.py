"""The shop that oversells (超卖): a few items, many buyers, several processes.

The stock is a number in a node. A buyer reads it, pays, and writes one less. Between the reading
and the writing others may read the same number, and then one item is sold twice. Four ways to
keep the buyers apart:

    none         nothing does
    in-process   a threading.Lock in each process: it knows nothing of the other processes
    herd         HerdLock, across processes
    sequential   ReentrantLock, across processes

Each buyer is a thread with a session of its own; the threads are spread over processes that are
started afresh (never forked from a process with live sessions). All buyers begin together, when
every one of them is connected. Paying takes `pause` seconds, so that the race is certain and does
not depend on luck. Times are taken by each process's own clock, from its own start signal.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import zkkit
from zkkit import HerdLock, ReentrantLock, Session
from zkkit.bench.kit.pool import SessionPool
from zkkit.bench.kit.processes import Child, ChildSilent
from zkkit.bench.kit.witness import Reading, Witness, fires_between
from zkkit.errors import ZkkitError
from zkkit.session.options import BUSY_TIMEOUT

ACROSS = ("herd", "sequential")
"""The locks that all processes share."""
WAYS = ("none", "in-process", *ACROSS)

_STILL = 0.05  # seconds; two equal counts in a row that far apart are final

Guard = AbstractContextManager[object]


class ShopFailed(ZkkitError):
    """A process of buyers did not come to its end: nothing can be said about the shop."""


class ImpossibleShop(ZkkitError, ValueError):
    """A shop that cannot be opened."""


@dataclass(frozen=True)
class Sale:
    """What became of the stock."""

    way: str
    items: int
    buyers: int
    processes: int
    sold: int
    left: int
    """What the shelf says at the end."""
    last_sale_s: float
    """Seconds until the last item was sold. The shelf need not have been empty then."""
    served_s: float
    """Seconds until every buyer had an item or an answer."""
    fires: int | None
    """Watches that fired meanwhile, counted by the servers; None if they do not tell."""

    @property
    def oversold(self) -> int:
        """How many were sold that were not there."""
        return max(0, self.sold - self.items)


def buy(session: Session, stock: str, lock: Guard, pause: float) -> bool:
    """Let one buyer look, pay and take; gives whether it got an item."""
    with lock:
        left = int(session.get(stock).data)
        if left == 0:
            return False
        time.sleep(pause)  # paying: time enough for somebody else to look, too
        session.set(stock, str(left - 1).encode())
        return True


def check_size(buyers: int, processes: int) -> None:
    """Raise ImpossibleShop if there are not enough buyers for the processes."""
    if not 1 <= processes <= buyers:
        raise ImpossibleShop(f"{buyers} buyers cannot be spread over {processes} processes")


def sell(
    hosts: str,
    way: str,
    *,
    items: int = 10,
    buyers: int = 100,
    processes: int = 5,
    pause: float = 0.02,
    patience: float = 120.0,
) -> Sale:
    """Open the shop, let all buyers in at once, and count what was sold.

    Raises ImpossibleShop if there is no such way or there are fewer buyers than processes,
    ShopFailed if a process does not come to its end, ConnectFailed if the servers give no session.
    """
    if way not in WAYS:
        raise ImpossibleShop(f"the ways are {', '.join(WAYS)}; there is no {way!r}")
    check_size(buyers, processes)
    with (
        SessionPool(hosts, 0) as pool,
        pool.directory("stock") as stock,
        pool.directory("lock") as lock,
    ):
        pool.gate.set(stock, str(items).encode())
        share = [len(range(first, buyers, processes)) for first in range(processes)]
        orders = [_Order(hosts, stock, lock, way, mine, pause) for mine in share]
        reports, fires = _run(orders, Witness(hosts), patience)
        left = int(pool.gate.get(stock).data)
    return Sale(
        way=way,
        items=items,
        buyers=buyers,
        processes=processes,
        sold=sum(report.sold for report in reports),
        left=left,
        last_sale_s=max(report.last_sale_s for report in reports),
        served_s=max(report.served_s for report in reports),
        fires=fires,
    )


# --- the processes, seen from the shop --------------------------------------------------


@dataclass(frozen=True)
class _Order:
    """What a process of buyers is told."""

    hosts: str
    stock: str
    lock: str
    way: str
    buyers: int
    pause: float


class _Report(NamedTuple):
    """What a process of buyers tells."""

    sold: int
    last_sale_s: float
    served_s: float


def _run(
    orders: Sequence[_Order], witness: Witness, patience: float
) -> tuple[list[_Report], int | None]:
    deadline = time.monotonic() + patience
    with ExitStack() as stack:
        children = []
        for order in orders:
            command = [sys.executable, "-m", "zkkit.bench.shop.run", json.dumps(asdict(order))]
            children.append(Child("a process of buyers", command))
            stack.callback(children[-1].close)
            stack.callback(children[-1].kill)
        for child in children:
            _hear(child, deadline)
        before = witness.read_if_told()
        for child in children:
            child.say("go")
        reports = [_Report(**json.loads(_hear(child, deadline))) for child in children]
        return reports, _fires_since(witness, before)


def _hear(child: Child, deadline: float) -> str:
    try:
        return child.hear(deadline - time.monotonic())
    except ChildSilent as error:
        raise ShopFailed(
            f"a process of buyers ended before it was done: {child.last_words()}",
            hint="see that the ensemble is up; with a slow machine try fewer buyers",
        ) from error


def _fires_since(witness: Witness, before: Reading) -> int | None:
    """What the servers counted, once they have stopped counting; None if they do not tell."""
    last = None
    while before and (now := witness.read_if_told()):
        fires = fires_between(before, now)
        if fires == last:
            return fires
        last = fires
        time.sleep(_STILL)
    return None


# --- the processes, seen from inside ----------------------------------------------------


def _guards(order: _Order, sessions: Sequence[Session]) -> list[Guard]:
    """What each buyer of this process takes before buying."""
    if order.way == "herd":
        return [HerdLock(session, order.lock) for session in sessions]
    if order.way == "sequential":
        return [ReentrantLock(session, order.lock) for session in sessions]
    shared: Guard = threading.Lock() if order.way == "in-process" else nullcontext()
    return [shared] * len(sessions)


def _buyers(order: _Order) -> _Report:
    """All buyers of one process: connect, wait for the word, buy."""
    with ThreadPoolExecutor(max_workers=order.buyers) as threads:
        sessions = list(
            threads.map(
                lambda _: zkkit.connect(order.hosts, timeout=BUSY_TIMEOUT), range(order.buyers)
            )
        )
        try:
            guards = _guards(order, sessions)
            print("ready", flush=True)
            if sys.stdin.readline() != "go\n":
                raise ShopFailed("the shop has closed before it opened")
            began = time.monotonic()

            def one(session: Session, guard: Guard) -> tuple[bool, float]:
                return buy(session, order.stock, guard, order.pause), time.monotonic() - began

            done = list(threads.map(one, sessions, guards))
        finally:
            list(threads.map(Session.close, sessions))
    sales = [at for bought, at in done if bought]
    return _Report(len(sales), max(sales, default=0.0), max(at for _, at in done))


def _main(argument: str) -> None:
    order: dict[str, Any] = json.loads(argument)
    print(json.dumps(_buyers(_Order(**order))._asdict()), flush=True)


if __name__ == "__main__":
    _main(sys.argv[1])
