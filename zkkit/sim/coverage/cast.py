"""A cast: actors, what each of them does, what is asked of them, and how much of it is explored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...errors import SessionLost
from ...steps import Script
from ..explore import explore
from ..faults import KINDS, NO_FAULTS, one
from ..lives import named
from ..properties import Property
from ..tree import StartNode
from ..verdict import Verdict
from ..world import SimSession, World

FAULTS = ("", *[kind for kind in KINDS if kind != "lapse"])
"""The faults that strike a cast, one kind at a time. A lapse matters to who acquires again
(tests/locks has it)."""

_STATES = 20_000_000  # more than any of them has

Begin = Callable[[float | None], Script[Any]]
Life = Callable[[SimSession], Begin]
"""What an actor does: given its session, then a deadline or none, its script."""


class Cast(NamedTuple):
    """Actors, what each of them does, and what is asked of them all."""

    name: str
    lives: tuple[Life, ...]
    properties: Sequence[Property]
    nodes: tuple[str | StartNode, ...] = ("/l",)
    shared: bool = False
    one_process: bool = False
    preemptions: int | None = None

    @property
    def bound(self) -> str:
        """What of it is explored."""
        if self.preemptions is None:
            return "every interleaving"
        return f"preemptions up to {self.preemptions}"

    def __str__(self) -> str:
        where = ", one session" if self.shared else ""
        process = ", one process" if self.one_process else ""
        return f"{self.name}: {len(self.lives)}{where}{process}"

    def world(self, deadline: float | None) -> World:
        """The world they live in."""
        world = World(*self.nodes, one_process=self.one_process)
        actors = named(world, len(self.lives), shared=self.shared)
        for life, (name, session) in zip(self.lives, actors, strict=True):
            world.actor(name, session, life(session), deadline)
        return world

    def under(self, fault: str) -> Verdict:
        """Every interleaving within the bounds, with at most one such fault ("": without)."""
        world = self.world(1.0 if fault == "deadline" else None)
        faults = one(fault) if fault else NO_FAULTS
        most = self.preemptions
        return explore(world, self.properties, faults=faults, states=_STATES, preemptions=most)


LOST = (SessionLost,)
"""Nothing else may stop a recipe: a lost connection does not."""

_WIDER = {1: 2, 2: None}


def widened(casts: Sequence[Cast]) -> list[Cast]:
    """The bounded ones of them with wider bounds, or without: every interleaving."""
    return [c._replace(preemptions=_WIDER[c.preemptions]) for c in casts if c.preemptions]
