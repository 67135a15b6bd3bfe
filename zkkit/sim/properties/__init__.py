"""What must hold, whatever happens.

A property is told of the facts of each event (who was told that it holds, who woke, ...) and of
each quiet state: one in which nothing can happen any more by itself. It answers None, or in words
what is wrong. What it must remember from event to event it gives back as its memo, a hashable value
that becomes part of the state. A goal is what must be reachable.

Properties and goals go together as a sequence, the gravest first.

    families    of_a_lock, of_a_fair_lock, of_leases, of_readers_and_writers, of_an_election,
                of_a_barrier, of_a_double_barrier, of_a_counter, of_a_queue, of_a_cache,
                of_a_cached_tree, of_a_group: what to ask of a kind of recipe; FAMILIES has them by
                name
    goals       SomebodyIsGranted, EverybodyIsGranted, SomebodyReads, TogetherHold, SomebodySays,
                EverybodySays, Drained, SomebodyWrites, Reached
    locks       AtMost, mutual_exclusion, one_leader, NoOverlap, ReadersAndWriters, Fifo,
                RealGrants, OnePlace, WorksWhileItHolds, NobodyTakesAway,
                NobodySleepsBesideReaders
    elections   LeadsAsItBelieves, ServesOnce
    waiting     NoLostWakeup, NobodyGoesRound, NobodyWaitsWhile, NobodySleepsBesideAFreeLock,
                NoSleeper, OneWokenPerRelease, NothingLeft, EndsWell, NobodyGivesUp
    costs       CostsAtMost, NobodyIsOvertaken
    fairness    NobodyStarves: in the long run, in lives without an end
    barriers    NobodyPassesEarly, NobodyIsLeftOutside, NobodyLeavesEarly, NobodyIsKeptIn
    effects     NothingLost, CountsOnce, DoubtsWithReason
    queues      NothingVanishes, NothingTakenTwice, InOrder, NobodyWaitsBesideAnItem
    caches      Converges, NeverGoesBack, EventsSumUp, CachesAddUp, FreshReads; of groups
                MembersAreCounted, MembersAreReal, MembersAreAlive, NobodyRemovesMembers
    your own    Always, of the state; History, of all that has happened
"""

from .barriers import NobodyIsKeptIn, NobodyIsLeftOutside, NobodyLeavesEarly, NobodyPassesEarly
from .base import Always, History, Property, View
from .caches import (
    CachesAddUp,
    Converges,
    EventsSumUp,
    FreshReads,
    MembersAreAlive,
    MembersAreCounted,
    MembersAreReal,
    NeverGoesBack,
    NobodyRemovesMembers,
)
from .costs import CostsAtMost, NobodyIsOvertaken
from .effects import CountsOnce, DoubtsWithReason, NothingLost
from .elections import LeadsAsItBelieves, ServesOnce
from .fairness import NobodyStarves
from .families import (
    EXPLAINED,
    FAMILIES,
    of_a_barrier,
    of_a_cache,
    of_a_cached_tree,
    of_a_counter,
    of_a_double_barrier,
    of_a_fair_lock,
    of_a_group,
    of_a_lock,
    of_a_queue,
    of_an_election,
    of_leases,
    of_readers_and_writers,
)
from .goals import (
    Drained,
    EverybodyIsGranted,
    EverybodySays,
    Goal,
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
    NoOverlap,
    OnePlace,
    ReadersAndWriters,
    RealGrants,
    WorksWhileItHolds,
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

__all__ = [
    "Property", "View", "Always", "History",
    "Goal", "SomebodyIsGranted", "EverybodyIsGranted", "SomebodyReads", "TogetherHold",
    "SomebodySays", "EverybodySays", "Drained", "SomebodyWrites", "Reached",
    "AtMost", "mutual_exclusion", "one_leader", "NoOverlap", "ReadersAndWriters",
    "Fifo", "RealGrants", "OnePlace", "WorksWhileItHolds", "NobodyTakesAway", "LeadsAsItBelieves",
    "ServesOnce", "NobodySleepsBesideReaders",
    "NoLostWakeup", "NobodyGoesRound", "NobodyWaitsWhile", "NobodySleepsBesideAFreeLock",
    "NoSleeper", "OneWokenPerRelease", "NothingLeft", "EndsWell", "NobodyGivesUp",
    "CostsAtMost", "NobodyIsOvertaken", "NobodyStarves",
    "NobodyPassesEarly", "NobodyIsLeftOutside", "NobodyLeavesEarly", "NobodyIsKeptIn",
    "NothingLost", "CountsOnce", "DoubtsWithReason",
    "NothingVanishes", "NothingTakenTwice", "InOrder", "NobodyWaitsBesideAnItem", "items_of",
    "Converges", "NeverGoesBack", "EventsSumUp", "CachesAddUp", "MembersAreCounted",
    "MembersAreReal", "MembersAreAlive", "NobodyRemovesMembers", "FreshReads",
    "FAMILIES", "EXPLAINED", "of_a_lock", "of_a_fair_lock", "of_leases", "of_readers_and_writers",
    "of_an_election", "of_a_barrier", "of_a_double_barrier", "of_a_counter", "of_a_queue",
    "of_a_cache", "of_a_cached_tree", "of_a_group",
]  # fmt: skip
