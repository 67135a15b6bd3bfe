"""What actors do with a lock, as scripts: to build worlds from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..paths import join
from ..recipes.locks.owned import OwnedLock
from ..retry import NEVER, RetryPolicy
from ..steps import Script
from .world import Work, World


def use(lock: OwnedLock[Any], *, timeout: float | None = None, times: int = 1) -> Script[None]:
    """Acquire, work, release: what `with lock:` does."""
    for _ in range(times):
        hold = yield from type(lock).acquire.of(lock, timeout=timeout)
        if hold is None:
            return
        try:
            yield from Work()
        finally:
            yield from type(lock).release.of(lock)


def contenders(
    lock_class: type[OwnedLock[Any]],
    count: int,
    *,
    shared: bool = False,
    retry: RetryPolicy = NEVER,
    timeout: float | None = None,
    times: int = 1,
    next_sequence: int = 0,
    wraps: bool = True,
    path: str = "/l",
    parent: bool = True,
    below: Sequence[str] = (),
) -> World:
    """A world with `count` actors A, B, ... that each use a lock of their own on one path; each in
    a session of its own, or all in one. `parent`: whether the path is there at the beginning, and
    `below` it, these."""
    there = [path, *(join(path, name) for name in below)] if parent else []
    world = World(*there, next_sequence=next_sequence, wraps=wraps)
    one = world.connect("the session", retry=retry) if shared else None
    for number in range(count):
        name = chr(ord("A") + number)
        session = one or world.connect(f"{name}'s session", retry=retry)
        lock = lock_class(session, path)
        world.actor(name, session, lambda lock=lock: use(lock, timeout=timeout, times=times))  # type: ignore[misc]
    return world
