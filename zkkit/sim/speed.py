"""How fast the explorer is, and how its work grows: `zkkit sim speed` prints it.

The real fair lock, all interleavings: states, seconds, and states per second of processor time, so
that a busy machine does not pass for a slow explorer. The limit is for the processor's seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from ..recipes.locks import ReentrantLock
from .explore import explore
from .faults import NO_FAULTS, Faults, every, one
from .lives import contenders
from .properties import of_a_fair_lock
from .verdict import Verdict


class SpeedTrial(NamedTuple):
    """One exploration, and the processor's seconds it may take."""

    name: str
    actors: int
    faults: Faults
    limit: float


TRIALS = (
    SpeedTrial("3 contenders, no faults", 3, NO_FAULTS, 2.0),
    SpeedTrial("3 contenders, any one fault", 3, one(), 10.0),
    SpeedTrial("4 contenders, no faults", 4, NO_FAULTS, 10.0),
    SpeedTrial("3 contenders, a lag and a lost reply", 3, every(lag=1, reply_lost=1), 10.0),
)
ENOUGH = 20_000
"""Where growth is shown: give up after so many states."""


def measure(actors: int, faults: Faults, states: int = 1_000_000) -> tuple[Verdict, float]:
    """Explore the fair lock; gives the verdict and this thread's processor seconds."""
    world = contenders(ReentrantLock, actors)
    began = time.thread_time()
    verdict = explore(world, of_a_fair_lock(), faults=faults, states=states, by_rank=False)
    return verdict, time.thread_time() - began


def tell_speed(say: Callable[[str], object] = print) -> int:
    """Print how fast it is; 0 if all holds within the limits."""
    say(f"{'':38}{'verdict':>9}{'states':>9}{'seconds':>9}{'cpu s':>7}{'states/s':>10}{'limit':>8}")
    good = True
    known: dict[tuple[int, str], tuple[Verdict, float]] = {}
    for trial in TRIALS:
        verdict, spent = known[trial.actors, str(trial.faults)] = measure(
            trial.actors, trial.faults
        )
        rate = verdict.states / spent
        say(
            f"{trial.name:38}{verdict.outcome:>9}{verdict.states:>9,}{verdict.seconds:>9.2f}"
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
