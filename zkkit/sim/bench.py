"""How fast the explorer is, and what it covers.

    python -m zkkit.sim.bench            the fair lock within its limits, and how it grows
    python -m zkkit.sim.bench --table    both locks under each fault: the table of docs/simulator.md

The real locks, all interleavings: states, seconds, and states per second of processor time, so
that a busy machine does not pass for a slow explorer. The limit is for the processor's seconds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ..recipes.herd import HerdLock
from ..recipes.locks import ReentrantLock
from ..recipes.locks.owned import OwnedLock
from .explore import Verdict, explore
from .faults import KINDS, NO_FAULTS, Faults, every, one
from .lives import contenders
from .properties import Property, of_a_fair_lock, of_a_lock


class Trial(NamedTuple):
    """One exploration, and the processor's seconds it may take."""

    name: str
    actors: int
    faults: Faults
    limit: float


TRIALS = (
    Trial("3 contenders, no faults", 3, NO_FAULTS, 2.0),
    Trial("3 contenders, any one fault", 3, one(), 10.0),
    Trial("4 contenders, no faults", 4, NO_FAULTS, 10.0),
    Trial("3 contenders, a lag and a lost reply", 3, every(lag=1, reply_lost=1), 10.0),
)
ENOUGH = 20_000
"""Where growth is shown: give up after so many states."""


def measure(actors: int, faults: Faults, states: int = 1_000_000) -> tuple[Verdict, float]:
    """Explore the fair lock; gives the verdict and the processor's seconds."""
    world = contenders(ReentrantLock, actors)
    began = time.process_time()
    verdict = explore(world, faults=faults, properties=of_a_fair_lock(), states=states)
    return verdict, time.process_time() - began


def main(say: Callable[[str], object] = print) -> int:
    """Print how fast it is; 0 if all holds within the limits."""
    say(f"{'':38}{'verdict':>9}{'states':>9}{'seconds':>9}{'cpu s':>7}{'states/s':>10}{'limit':>8}")
    good = True
    known: dict[tuple[int, str], tuple[Verdict, float]] = {}
    for trial in TRIALS:
        verdict, spent = known[trial.actors, str(trial.faults)] = measure(
            trial.actors, trial.faults
        )
        word = {True: "holds", False: "broken", None: "unknown"}[verdict.holds]
        rate = verdict.states / spent
        say(
            f"{trial.name:38}{word:>9}{verdict.states:>9,}{verdict.seconds:>9.2f}"
            f"{spent:>7.2f}{rate:>10,.0f}{trial.limit:>6g} s"
        )
        good = good and verdict.holds is True and spent <= trial.limit
    say("")
    say(f"how it grows (states, cpu s){'no fault':>20}{'one fault':>18}{'two faults':>18}")
    for actors in (2, 3, 4):
        cells = ""
        for faults in (NO_FAULTS, one(), Faults(2)):
            found = known.get((actors, str(faults))) or measure(actors, faults, ENOUGH)
            cells += f"{_grown(*found):>18}"
        say(f"{f'{actors} contenders':30}{cells}")
    return 0 if good else 1


def _grown(verdict: Verdict, spent: float) -> str:
    return f"> {ENOUGH:,}" if verdict.holds is None else f"{verdict.states:,}  {spent:.1f}"


# --- what is covered ----------------------------------------------------------------------


class Column(NamedTuple):
    """Contenders for one lock."""

    lock: type[OwnedLock[Any]]
    properties: Callable[[], Sequence[Property]]
    actors: int
    shared: bool

    def __str__(self) -> str:
        where = "one session" if self.shared else "own sessions"
        return f"{self.lock.__name__}, {self.actors}, {where}"

    def under(self, fault: str) -> Verdict:
        """Every interleaving, with at most one fault of this kind ("": without)."""
        deadline = 1.0 if fault == "deadline" else None
        world = contenders(self.lock, self.actors, shared=self.shared, timeout=deadline)
        faults = one(fault) if fault else NO_FAULTS
        return explore(world, faults=faults, properties=self.properties())


COLUMNS = tuple(
    Column(lock, properties, actors, shared)
    for lock, properties in ((ReentrantLock, of_a_fair_lock), (HerdLock, of_a_lock))
    for actors in (2, 3)
    for shared in (False, True)
)
FAULTS = ("", *[kind for kind in KINDS if kind != "failover"])  # no ZooKeeper does that


def table(columns: Sequence[Column] = COLUMNS) -> Iterator[str]:
    """The states covered, line by line, as Markdown; a broken lock says so."""
    yield f"| fault | {' | '.join(map(str, columns))} |"
    yield "|---" * (len(columns) + 1) + "|"
    for fault in FAULTS:
        cells = [_covered(column.under(fault)) for column in columns]
        yield f"| {fault or 'none'} | {' | '.join(cells)} |"


def _covered(verdict: Verdict) -> str:
    said = {True: "", False: "broken: ", None: "unknown: "}[verdict.holds]
    return f"{said}{verdict.states:,}"


if __name__ == "__main__":
    if sys.argv[1:] == ["--table"]:
        for line in table():
            print(line, flush=True)
    elif sys.argv[1:]:
        sys.exit(f"{__doc__}")
    else:
        sys.exit(main())
