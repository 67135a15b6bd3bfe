"""Runs scripts in a model of ZooKeeper and tries everything that can happen between their steps."""

from .errors import Endless, Impure, ScriptFault, StoryMismatch, SwallowedCancel
from .explore import Progress, Verdict, explore, walk
from .faults import CANCEL, NO_FAULTS, Faults, every, one
from .lives import contenders, use
from .story import Story
from .world import Say, SimSession, Work, World

__all__ = [
    "World", "SimSession", "Work", "Say", "use", "contenders",
    "explore", "walk", "Verdict", "Progress", "Story",
    "Faults", "NO_FAULTS", "CANCEL", "one", "every",
    "ScriptFault", "Impure", "Endless", "SwallowedCancel", "StoryMismatch",
]  # fmt: skip
