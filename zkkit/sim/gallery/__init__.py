"""A gallery of broken twins: one mistake each, and the faults that bring it to light.

Every mistake has been made, here or by others. A twin is explored together with the right way to do
it: the same world, the same faults, the same properties. If a twin passes, the explorer is worth
nothing; if the right one is caught, it lies.

    for twin in (*TWINS, *OTHERS):
        print(twin.name, explore(twin.broken(), faults=twin.faults, properties=twin.properties()))

TWINS are locks. OTHERS break what else can be asked for: leases, readers and writers, leaders,
writes under a lock, counters and barriers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...recipes.herd import HerdLock
from ...recipes.locks.reentrant import ReentrantLock
from ..faults import NO_FAULTS, Faults, every, one
from ..outside import value_in_store
from ..properties import (
    AtMost,
    CountsOnce,
    NobodyPassesEarly,
    NoLostWakeup,
    NoSleeper,
    NothingLost,
    OneWokenPerRelease,
    Property,
    ReadersAndWriters,
    mutual_exclusion,
    of_a_fair_lock,
    of_a_lock,
    one_leader,
)
from ..world import World
from .effects import (
    STORE,
    FencedWrites,
    FencesOnlyItsWrites,
    GuardedWrites,
    WritesUnfenced,
    WritesUnguarded,
    adds_blindly,
    adds_one,
    meets,
    passes_when_woken,
)
from .leases import (
    CountsThenTakes,
    SleepsBesideAFreeLease,
    TwoLeases,
    looks_then_stands,
    reader,
    stands_for_election,
    trusts_a_reader,
    writer,
)
from .locks import (
    CleansOnlyWhatItKnows,
    CleansUpUnshielded,
    ComparesAsText,
    CreatesAgain,
    DeletesByName,
    HoldsAfterExpiry,
    LeaksWatches,
    LeavesAnOrphan,
    ListsBeforeItCreates,
    LosesAWakeup,
    SearchesWithoutSync,
    TakesAnOldNode,
    TakesAnyWakeForAGrant,
    TrustsItsPredecessorsDeath,
    WatchesTheParent,
)
from .twin import Twin, actors, cancelled_twice, careless, rivals, users_of, writers

__all__ = ["OTHERS", "TWINS", "Twin"]


# --- the table of locks ---------------------------------------------------------------------


def _mistake(broken: Callable[..., Any]) -> str:
    return " ".join((broken.__doc__ or "").split("\n\n")[0].split())


def _twin(
    broken: type[Any],
    faults: Faults,
    breaks: str,
    count: int = 2,
    properties: Callable[[], Sequence[Property]] = of_a_fair_lock,
    right: type[Any] = ReentrantLock,
    **options: Any,
) -> Twin:
    worlds = rivals(broken, count, **options), rivals(right, count, **options)
    return Twin(broken.__name__, _mistake(broken), *worlds, faults, breaks, properties)


def _no_herd() -> Sequence[Property]:
    return (mutual_exclusion(), OneWokenPerRelease())


def _leases() -> Sequence[Property]:
    return (AtMost(2), NoSleeper(2), NoLostWakeup())


_TWO_LEASES = rivals(TwoLeases, 3, below=("locks", "leases"))
_EXCLUSION, _WAKEUP, _REAL = "mutual exclusion", "no lost wakeup", "grants are real"

TWINS = (
    _twin(TrustsItsPredecessorsDeath, one("cancel"), _EXCLUSION, 3),
    _twin(TakesAnyWakeForAGrant, one("request lost"), _EXCLUSION),
    _twin(LeaksWatches, NO_FAULTS, "nothing left behind"),
    _twin(LosesAWakeup, NO_FAULTS, _WAKEUP),
    _twin(CreatesAgain, one("reply lost"), _WAKEUP),
    _twin(SearchesWithoutSync, every(lag=1, reply_lost=1), _WAKEUP),
    _twin(TakesAnOldNode, one("give up"), _REAL),
    _twin(ListsBeforeItCreates, NO_FAULTS, _EXCLUSION),
    _twin(LeavesAnOrphan, one("deadline"), _WAKEUP, timeout=1.0),
    _twin(CleansOnlyWhatItKnows, one("cancel"), _WAKEUP),
    Twin(
        CleansUpUnshielded.__name__,
        _mistake(CleansUpUnshielded),
        cancelled_twice(CleansUpUnshielded),
        cancelled_twice(ReentrantLock),
        Faults(2, ("cancel",)),
        _WAKEUP,
    ),
    Twin(
        "RemovesOthersWatches",
        "A session that, when one actor is cancelled, removes a watch which another one needs.",
        careless,
        rivals(HerdLock, 3, shared=True),
        one("cancel"),
        _WAKEUP,
        of_a_lock,
    ),
    _twin(ComparesAsText, NO_FAULTS, _EXCLUSION, next_sequence=2**31 - 1),
    _twin(
        DeletesByName, one("reply lost"), "nobody takes away what others hold", 2, of_a_lock,
        HerdLock,
    ),
    _twin(HoldsAfterExpiry, one("expire"), _REAL),
    _twin(WatchesTheParent, NO_FAULTS, "at most one woken per release", 3, _no_herd),
    Twin(
        SleepsBesideAFreeLease.__name__,
        _mistake(SleepsBesideAFreeLease),
        rivals(SleepsBesideAFreeLease, 3),
        _TWO_LEASES,
        NO_FAULTS,
        "nobody sleeps beside a free lease",
        _leases,
    ),
)  # fmt: skip
"""Locks."""


# --- the table of all else ------------------------------------------------------------------


def _other(
    broken: Callable[..., Any],
    worlds: tuple[Callable[[], World], Callable[[], World]],
    faults: Faults,
    *properties: Callable[[], Property],
) -> Twin:
    """The first of the properties is the one it breaks."""

    def asked() -> Sequence[Property]:
        return (*[each() for each in properties], NoLostWakeup())

    breaks = properties[0]().name
    return Twin(broken.__name__, _mistake(broken), *worlds, faults, breaks, asked)


OTHERS = (
    _other(
        CountsThenTakes,
        (rivals(CountsThenTakes, 3), _TWO_LEASES),
        NO_FAULTS,
        lambda: AtMost(2),
        lambda: NoSleeper(2),
    ),
    _other(
        trusts_a_reader,
        (users_of(writer, reader, trusts_a_reader), users_of(writer, reader, reader)),
        NO_FAULTS,
        ReadersAndWriters,
    ),
    _other(
        looks_then_stands,
        (actors(2, looks_then_stands), actors(2, stands_for_election)),
        NO_FAULTS,
        one_leader,
    ),
    _other(
        WritesUnguarded,
        (writers(WritesUnguarded), writers(GuardedWrites)),
        one("expire"),
        lambda: NothingLost(STORE),
        mutual_exclusion,
    ),
    _other(
        WritesUnfenced,
        (writers(WritesUnfenced), writers(FencedWrites)),
        one("pause"),
        lambda: NothingLost(STORE, value_in_store),
        mutual_exclusion,
    ),
    _other(
        FencesOnlyItsWrites,
        (writers(FencesOnlyItsWrites), writers(FencedWrites)),
        one("pause"),
        lambda: NothingLost(STORE, value_in_store),
        mutual_exclusion,
    ),
    _other(
        adds_blindly,
        (actors(2, adds_blindly), actors(2, adds_one)),
        one("reply lost"),
        lambda: CountsOnce("/n"),
    ),
    _other(
        passes_when_woken,
        (actors(3, passes_when_woken, 3), actors(3, meets, 3)),
        NO_FAULTS,
        lambda: NobodyPassesEarly(3),
    ),
)
"""Leases, readers and writers, leaders, writes under a lock, counters, barriers."""
