"""Families: what must hold of a kind of recipe, and what must be reachable. `explore` is told which
one to ask.

A new family is a function here that gives its properties and goals, and a line in FAMILIES. The
gravest stands first: of several broken properties it is told first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...errors import ConnectionLost, CounterUsedUp, SessionLost, TimedOut
from .barriers import NobodyIsKeptIn, NobodyIsLeftOutside, NobodyLeavesEarly, NobodyPassesEarly
from .base import Property, Unreadable, View, read
from .caches import (
    CachesAddUp,
    Converges,
    EventsSumUp,
    MembersAreAlive,
    MembersAreCounted,
    MembersAreReal,
    NeverGoesBack,
    NobodyRemovesMembers,
    everything,
    number,
)
from .effects import CountsOnce
from .elections import LeadsAsItBelieves
from .goals import (
    Drained,
    Reached,
    SomebodyIsGranted,
    SomebodyReads,
    SomebodySays,
    SomebodyWrites,
    TogetherHold,
)
from .locks import (
    AtMost,
    Fifo,
    NobodySleepsBesideReaders,
    NobodyTakesAway,
    OnePlace,
    ReadersAndWriters,
    RealGrants,
    WorksWhileItHolds,
    is_writer,
    mutual_exclusion,
    one_leader,
)
from .queues import InOrder, NobodyWaitsBesideAnItem, NothingTakenTwice, NothingVanishes, items_of
from .waiting import (
    EndsWell,
    NobodyGivesUp,
    NobodyGoesRound,
    NobodySleepsBesideAFreeLock,
    NobodyWaitsWhile,
    NoLostWakeup,
    NoSleeper,
    NothingLeft,
    OneWokenPerRelease,
)

Errors = Sequence[type[BaseException]]

EXPLAINED: Errors = (SessionLost, ConnectionLost, TimedOut, CounterUsedUp)
"""The errors that a fault explains, or the end of a counter: who ends with one of them is excused
(and must leave nothing behind all the same)."""


def of_a_lock(*, places: int = 1, fails: Errors = EXPLAINED) -> tuple[Property, ...]:
    """What every lock must hold to. `places`: in how many directories it has its nodes; `fails`:
    the errors that a script may end with, besides `Cancelled`."""
    return (mutual_exclusion(), *_of_holders(places, fails))


def of_a_fair_lock(*, places: int = 1, fails: Errors = EXPLAINED) -> tuple[Property, ...]:
    """What a lock that queues must hold to. Whoever is granted watches nothing any more."""
    holders = _of_holders(places, fails, NothingLeft())
    return (mutual_exclusion(), *holders, Fifo(), OneWokenPerRelease())


def of_leases(count: int, *, at_once: int = 1, fails: Errors = EXPLAINED) -> tuple[Property, ...]:
    """What a semaphore with so many leases must hold to. `at_once`: the most that one takes at a
    time."""
    together = (TogetherHold(count, grants=True),) if count > 1 else ()
    return (AtMost(count), NoSleeper(count, at_once=at_once), *_of_holders(1, fails), *together)


def of_readers_and_writers(
    writes: Callable[[str], bool] | None = None, *, readers: int = 1, fails: Errors = EXPLAINED
) -> tuple[Property, ...]:
    """What a lock for readers and writers must hold to. `writes(path)` says whether the grant with
    this node is to write; by default all do whose name has neither "__READ__" nor "-R-" in it. A
    reader that watches need not wait for readers; `readers`: so many, also if they poll, must be
    able to read together."""
    which = (writes or is_writer,)
    together = (TogetherHold(readers),) if readers > 1 else ()
    return (
        ReadersAndWriters(*which),
        *_of_holders(1, fails),
        NobodySleepsBesideReaders(*which),
        SomebodyReads(*which),
        *together,
    )


def of_an_election(*, fails: Errors = EXPLAINED) -> tuple[Property, ...]:
    """What an election must hold to. A leader that acts says what it believes, `Say("believes")`,
    or `Say("doubts")` when it knows that it may no longer lead."""
    leaders = _of_leaders(1, fails, NothingLeft(while_holding=False))
    return (one_leader(), LeadsAsItBelieves(), *leaders, SomebodyIsGranted("somebody leads"))


def _of_holders(
    places: int, fails: Errors, left: NothingLeft | None = None
) -> tuple[Property, ...]:
    """The properties of those who hold and work. Where several hold, one may still watch when it is
    granted."""
    left = left or NothingLeft(while_holding=False)
    return (WorksWhileItHolds(), *_of_leaders(places, fails, left), SomebodyIsGranted())


def _of_leaders(places: int, fails: Errors, left: NothingLeft) -> tuple[Property, ...]:
    return (
        OnePlace(places),
        RealGrants(),
        NobodyTakesAway(),
        NoLostWakeup(),
        NobodySleepsBesideAFreeLock(),
        left,
        EndsWell(*fails),
    )


def of_a_barrier(
    *, count: int = 1, path: str = "", fails: Errors = EXPLAINED
) -> tuple[Property, ...]:
    """What a barrier must hold to at which `count` must arrive; 1: one actor opens it. Scripts say
    `Say("arrives")` (the opener: before it opens it) and `Say("passes")`. `path`: the node that
    keeps it closed, if there is one; when it is gone nobody may wait."""

    def opened(view: View) -> str | None:
        return None if path in view.tree.nodes else f"{path} is gone"

    gate = NobodyWaitsWhile(opened, "nobody waits at an open barrier")
    return (
        NobodyPassesEarly(count),
        *((gate,) if path else ()),
        *((NobodyIsLeftOutside(count),) if count == 1 or not path else ()),
        *((NobodyGivesUp(("arrives", "passes")),) if count > 1 else ()),
        NobodyGoesRound(),
        EndsWell(*fails),
        SomebodySays("passes"),
    )


def of_a_double_barrier(
    count: int, *, which: str = "", fails: Errors = EXPLAINED
) -> tuple[Property, ...]:
    """What a double barrier must hold to. On the way in scripts say "arrives" and "passes", on the
    way out "leaves" and "left". `which`: what follows these words in this round, " again"."""
    return (
        NobodyPassesEarly(count, which=which),
        NobodyLeavesEarly(count, which=which),
        NobodyIsLeftOutside(count, which=which),
        NobodyIsKeptIn(count, which=which),
        NobodyGivesUp(("arrives", "passes"), ("passes", "left"), which=which),
        NobodyGoesRound(),
        EndsWell(*fails),
        SomebodySays("passes" + which),
        SomebodySays("left" + which),
    )


def of_a_counter(
    path: str,
    value: Callable[[bytes], int] = number,
    *,
    fails: Errors = EXPLAINED,
) -> tuple[Property, ...]:
    """What a counter must hold to. Scripts say `Say("adds", n)` and `Say("added", n)`; and
    `Say("adds", -n)` if nothing was added after all."""

    def shows_something(view: View) -> bool:
        entry = view.tree.nodes.get(path)
        try:
            return entry is not None and read(value, path, entry.data) != 0
        except Unreadable:
            return False

    return (
        CountsOnce(path, value),
        NoLostWakeup(),
        NobodyGivesUp(("adds", "added")),
        EndsWell(*fails),
        SomebodySays("added"),
        Reached(f"{path} counts", shows_something, "applied"),
    )


def of_a_queue(
    path: str,
    *,
    item: Callable[[bytes], int] = number,
    redelivers: bool = False,
    ordered: bool = True,
    drains: bool = True,
    fails: Errors = EXPLAINED,
) -> tuple[Property, ...]:
    """What a queue must hold to whose items are the children of `path`; `item` reads an item's
    number from the data. Scripts say `Say("puts", n)` before they try and `Say("put", n)` when they
    know; `Say("takes")` before they try, `Say("took", n)` when they have one for sure, and
    `Say("done", n)`. Each item has a number of its own. Whoever finds nothing to take may go home;
    of one that must wait ask `NobodyGivesUp(("takes", "took"))` as well.

    A queue that `redelivers` loses nothing: an item goes to another one if its taker is struck
    before it is done. One that does not gives nothing twice, and may lose what a taker that
    failed or crashed had in its hands. A lost reply excuses nobody: one can find out."""
    found = items_of(path, item)
    order = (InOrder(found, redelivers=redelivers),) if ordered else ()
    goals = (Drained(path), SomebodySays("took")) if drains else (SomebodySays("took"),)
    return (
        NothingVanishes(found, redelivers=redelivers),
        NothingTakenTwice(redelivers=redelivers),
        *order,
        NobodyWaitsBesideAnItem(found, redelivers=redelivers),
        NobodyGivesUp(("puts", "put")),
        NobodyGoesRound(),
        EndsWell(*fails),
        *goals,
    )


def of_a_cache(
    path: str,
    value: Callable[[bytes], int] = number,
    *,
    events: bool = False,
    fails: Errors = EXPLAINED,
) -> tuple[Property, ...]:
    """What a cache of the node `path` must hold to. Scripts say `Say("sees", value)`: what it shows
    now, 0 for nothing; and `Say("event", value)` when it tells of a change, which with `events` it
    must. Somebody must change what is there."""
    heard = (SomebodySays("event"),) if events else ()
    return (
        Converges(path, value),
        NeverGoesBack(path, value),
        EventsSumUp(always=events),
        NobodyGoesRound(),
        EndsWell(*fails),
        SomebodySays("sees"),
        *heard,
        SomebodyWrites(path),
    )


def of_a_cached_tree(
    path: str, covers: Callable[[str], bool] = everything, *, fails: Errors = EXPLAINED
) -> tuple[Property, ...]:
    """What a cache of many nodes must hold to: of `path` and what is below it, as far as `covers`
    says. It says `Mark("cached", path, mzxid, kind)`: created, changed or deleted."""
    told = SomebodySays("cached")
    return (CachesAddUp(path, covers), NobodyGoesRound(), EndsWell(*fails), told)


def of_a_group(path: str, *, fails: Errors = EXPLAINED) -> tuple[Property, ...]:
    """What a group must hold to whose members are the children of `path`; there must be some.
    Scripts say `Say("members", count)`: how many it shows now; members may say
    `Mark("entered", path, czxid)`."""

    def joined(view: View) -> bool:
        return path in view.tree.nodes and bool(view.tree.nodes[path].children)

    return (
        MembersAreCounted(path),
        MembersAreReal(path),
        MembersAreAlive(path),
        NobodyRemovesMembers(path),
        NothingLeft(while_holding=False),
        NobodyGoesRound(),
        EndsWell(*fails),
        SomebodySays("members"),
        Reached("somebody is a member", joined, "applied"),
    )


FAMILIES: dict[str, Callable[..., tuple[Property, ...]]] = {
    family.__name__: family
    for family in (
        of_a_lock, of_a_fair_lock, of_leases, of_readers_and_writers, of_a_barrier,
        of_a_double_barrier, of_an_election, of_a_counter, of_a_queue, of_a_cache, of_a_cached_tree,
        of_a_group,
    )
}  # fmt: skip
"""The families there are, by the names to ask for them."""
