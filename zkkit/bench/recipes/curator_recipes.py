"""Java Curator's recipes, to be measured: the same kinds as in zkkit_recipes.py."""

from __future__ import annotations

from zkkit.bench.peers.curator import JavaActor
from zkkit.bench.peers.libraries import Races, Stages
from zkkit.bench.recipes.plan import CONTENDERS

RACES: Races = {
    "increment": JavaActor.atomic_long,
    "barrier": lambda actor, path: actor.barrier_rounds(path, CONTENDERS),
}
STAGES: Stages = {
    "election": JavaActor.latch,
    "cache": lambda actor, path: actor.cache(path, counting=True),
}
