"""What a twin is, and the worlds they live in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...recipes.herd import HerdLock
from ...recipes.locks.owned import OwnedLock
from ...steps import Script
from ..faults import Faults
from ..lives import contenders, use
from ..properties import Property, of_a_fair_lock
from ..world import World
from .effects import STORE, GuardedWrites


class Twin(NamedTuple):
    """One mistake: a world that has it, the same world without it, what brings it to light, and
    the name of the property it breaks."""

    name: str
    mistake: str
    broken: Callable[[], World]
    right: Callable[[], World]
    faults: Faults
    breaks: str
    properties: Callable[[], Sequence[Property]] = of_a_fair_lock


# --- the worlds -----------------------------------------------------------------------------


def rivals(lock_class: type[Any], count: int = 2, **options: Any) -> Callable[[], World]:
    """Some who contend for one lock."""
    return lambda: contenders(lock_class, count, **options)


def careless() -> World:
    """One session that breaks rule 8 of the runner."""
    world = contenders(HerdLock, 3, shared=True)
    world.careless_watches = True
    return world


def cancelled_twice(lock_class: type[Any]) -> Callable[[], World]:
    """Sessions that break rule 2 of the runner: they throw a second cancel."""

    def build() -> World:
        world = contenders(lock_class, 2)
        world.cancels = 2
        return world

    return build


def users_of(*locks: Callable[..., OwnedLock[Any]]) -> Callable[[], World]:
    """Each actor with a lock of another kind on one path."""

    def build() -> World:
        world = World("/l")
        for number, make in enumerate(locks):
            name = chr(ord("A") + number)
            session = world.connect(f"{name}'s session")
            lock = make(session, "/l")
            world.actor(name, session, lambda lock=lock: use(lock))  # type: ignore[misc]
        return world

    return build


def writers(lock_class: type[GuardedWrites]) -> Callable[[], World]:
    """Two who write to the store under a lock."""

    def build() -> World:
        world = World("/l", STORE)
        for name in "AB":
            session = world.connect(f"{name}'s session")
            world.actor(name, session, lock_class(session, "/l").life)
        return world

    return build


def actors(count: int, script: Callable[..., Script[None]], *options: Any) -> Callable[[], World]:
    """Each actor runs this script in a session of its own."""

    def build() -> World:
        world = World("/n", "/marks")
        for name in "ABC"[:count]:
            world.actor(name, world.connect(f"{name}'s session"), lambda: script("/n", *options))
        return world

    return build
