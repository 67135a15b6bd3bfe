"""Runs scripts in a model of ZooKeeper and tries everything that can happen between their steps."""

from .errors import (
    Endless,
    Impure,
    NotALock,
    NothingAsked,
    ScriptFault,
    StoryMismatch,
    SwallowedCancel,
)
from .explore import Explored, explore, explore_origin, replay, walk
from .faults import CANCEL, NO_FAULTS, Faults, every, one
from .lives import UsableLock, contenders, use
from .properties import (
    FAMILIES,
    Goal,
    Property,
    of_a_barrier,
    of_a_cache,
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
from .steps import Say, Work
from .story import Story
from .tree import StartNode
from .verdict import Verdict
from .world import SimSession, World

__all__ = [
    "World", "StartNode", "SimSession", "Work", "Say", "use", "contenders", "UsableLock",
    "explore", "walk", "replay", "explore_origin", "Verdict", "Explored", "Story",
    "FAMILIES", "of_a_lock", "of_a_fair_lock", "of_leases", "of_readers_and_writers",
    "of_an_election", "of_a_barrier", "of_a_double_barrier", "of_a_counter", "of_a_queue",
    "of_a_cache", "of_a_group", "Property", "Goal",
    "Faults", "NO_FAULTS", "CANCEL", "one", "every",
    "ScriptFault", "Impure", "Endless", "SwallowedCancel", "StoryMismatch",
    "NothingAsked", "NotALock",
]  # fmt: skip
