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
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from typing import IO, Any, NamedTuple

import zkkit
from zkkit import HerdLock, ReentrantLock, Session
from zkkit.bench.pool import Pool
from zkkit.bench.witness import Reading, Witness, WitnessSilent, fires_between
from zkkit.errors import ZkkitError

__all__ = ["WAYS", "Sale", "ShopFailed", "buy", "sell"]

WAYS = ("none", "in-process", "herd", "sequential")

_SESSION_TIMEOUT = 30.0  # seconds; a busy machine must not cost a buyer the session
_STILL = 0.05  # seconds; two equal counts in a row that far apart are final
_TAIL = 5  # lines of a failed process's last words

Guard = AbstractContextManager[object]


class ShopFailed(ZkkitError):
    """A process of buyers did not come to its end: nothing can be said about the shop."""


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
    """Until the last item was sold. The shelf need not have been empty then."""
    served_s: float
    """Until every buyer had an item or an answer."""
    fires: int | None
    """Watches that fired meanwhile, counted by the servers; None if they do not tell."""

    @property
    def oversold(self) -> int:
        """How many were sold that were not there."""
        return max(0, self.sold - self.items)


def buy(session: Session, stock: str, lock: Guard, pause: float) -> bool:
    """One buyer: look, pay, take. Whether that was one item or none."""
    with lock:
        left = int(session.get(stock).data)
        if left == 0:
            return False
        time.sleep(pause)  # paying: time enough for somebody else to look, too
        session.set(stock, str(left - 1).encode())
        return True


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
    """Open the shop, let all buyers in at once, and count what was sold."""
    if way not in WAYS:
        raise ValueError(f"the ways are {', '.join(WAYS)}; there is no {way!r}")
    if not 1 <= processes <= buyers:
        raise ValueError(f"{buyers} buyers cannot be spread over {processes} processes")
    with Pool(hosts, 0) as pool, pool.directory("stock") as stock, pool.directory("lock") as lock:
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
    crews: list[_Crew] = []
    # The watchdog ends what hangs; whoever reads from an ended process sees its end.
    watchdog = threading.Timer(patience, _end_all, [crews])
    watchdog.daemon = True
    watchdog.start()
    try:
        crews += [_Crew(order) for order in orders]
        for crew in crews:
            crew.expect("ready")
        before = _reading(witness)
        for crew in crews:
            crew.say("go")
        reports = [_Report(**json.loads(crew.expect("{"))) for crew in crews]
        return reports, _fires_since(witness, before)
    finally:
        watchdog.cancel()
        _end_all(crews)
        for crew in crews:
            crew.close()


def _end_all(crews: Sequence[_Crew]) -> None:
    for crew in crews:
        crew.end()


class _Crew:
    """A process of buyers. It ends by itself when we do: its stdin closes."""

    def __init__(self, order: _Order) -> None:
        self._errors: IO[str] = tempfile.TemporaryFile("w+")  # noqa: SIM115  # ends with us
        self._process = subprocess.Popen(
            [sys.executable, "-m", "zkkit.bench.oversell", json.dumps(asdict(order))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )

    def expect(self, start: str) -> str:
        """The next line it says, which must start so."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if line.startswith(start):
            return line
        self.end()
        self._errors.seek(0)
        last = "\n".join(self._errors.read().splitlines()[-_TAIL:])
        raise ShopFailed(
            f"a process of buyers ended before it was done: {last or '(it said nothing)'}",
            hint="see that the ensemble is up; with a slow machine try fewer buyers",
        )

    def say(self, word: str) -> None:
        """Tell it a word."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()

    def end(self) -> None:
        """End it, if it has not ended. Ending twice is harmless."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Nobody reads from it any more."""
        for end in (self._process.stdin, self._process.stdout, self._errors):
            if end is not None:
                end.close()


def _reading(witness: Witness) -> Reading | None:
    try:
        return witness.read()
    except WitnessSilent:
        return None


def _fires_since(witness: Witness, before: Reading | None) -> int | None:
    """What the servers counted, once they have stopped counting."""
    last = None
    while before is not None and (now := _reading(witness)) is not None:
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
                lambda _: zkkit.connect(order.hosts, timeout=_SESSION_TIMEOUT), range(order.buyers)
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
    told: dict[str, Any] = json.loads(argument)
    print(json.dumps(_buyers(_Order(**told))._asdict()), flush=True)


if __name__ == "__main__":
    _main(sys.argv[1])
