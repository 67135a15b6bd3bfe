"""What must hold, whatever happens.

A property is told of the facts of each event (who was told that it holds, who woke, ...) and of
each quiet state: one in which nothing can happen any more by itself. It answers None, or in words
what is wrong. What it must remember from event to event it gives back as its memo, a hashable value
that becomes part of the state.

Properties go together as a sequence; of several that are broken by one event the first is told.

    locks       AtMost, mutual_exclusion, one_leader, NoOverlap, ReadersAndWriters, Fifo,
                RealGrants, NobodyTakesAway
    waiting     NoLostWakeup, NoSleeper, OneWokenPerRelease, NothingLeft, EndsWell
    effects     NothingLost, CountsOnce, NobodyPassesEarly
    your own    Always, of the state; History, of all that has happened
"""

from .base import Always, History, Property, View
from .effects import CountsOnce, NobodyPassesEarly, NothingLost
from .locks import (
    AtMost,
    Fifo,
    NobodyTakesAway,
    NoOverlap,
    ReadersAndWriters,
    RealGrants,
    mutual_exclusion,
    of_a_fair_lock,
    of_a_lock,
    one_leader,
)
from .waiting import EndsWell, NoLostWakeup, NoSleeper, NothingLeft, OneWokenPerRelease

__all__ = [
    "Property", "View", "Always", "History",
    "AtMost", "mutual_exclusion", "one_leader", "NoOverlap", "ReadersAndWriters",
    "Fifo", "RealGrants", "NobodyTakesAway", "NoLostWakeup", "NoSleeper", "OneWokenPerRelease",
    "NothingLeft", "EndsWell", "of_a_lock", "of_a_fair_lock",
    "NothingLost", "CountsOnce", "NobodyPassesEarly",
]  # fmt: skip
