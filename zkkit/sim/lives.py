"""What actors do with a lock, as scripts: to build worlds from."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from ..paths import join
from ..retry import NEVER, RetryPolicy
from ..scripting import ScriptMethod, script
from ..steps import Script
from .errors import NotALock
from .steps import Work
from .world import SimSession, World


class UsableLock(Protocol):
    """What `use` and `contenders` want of a lock: two scripts, as a recipe has them.

    `acquire` has a `timeout` parameter and gives None when that has passed, else what it holds;
    `release` gives it back. Both mark what they do, by `Mark`, or no property knows of it."""

    @property
    def acquire(self) -> ScriptMethod[..., Any]: ...

    @property
    def release(self) -> ScriptMethod[..., Any]: ...


def use(lock: UsableLock, *, timeout: float | None = None, times: int | None = 1) -> Script[None]:
    """Acquire, work, release: what `with lock:` does. So many times, or for ever (None)."""
    left = times
    while left is None or left > 0:
        left = None if left is None else left - 1
        hold = yield from lock.acquire.of(timeout=timeout)
        if hold is None:
            return
        try:
            yield from Work()
        finally:
            yield from lock.release.of()
        del hold  # whoever begins anew remembers nothing: else there are more states than need be


def check_lock(lock: object) -> None:
    """Raise NotALock unless this is a UsableLock."""
    for name, parameters in (("acquire", {"timeout"}), ("release", set[str]())):
        found = getattr(type(lock), name, None)
        if isinstance(found, script):
            if parameters <= {*inspect.signature(found.function).parameters}:
                continue
            name += f" with the parameter {' and '.join(parameters)}"
        raise NotALock(
            f"{lock!r} cannot be used as a lock: it has no script {name}",
            hint="a lock has the scripts acquire(self, timeout=None) and release(self); to run "
            "other scripts use world.actor(name, session, function, *args)",
        )


def named(
    world: World, count: int, *, shared: bool = False, retry: RetryPolicy = NEVER
) -> Iterator[tuple[str, SimSession]]:
    """The names A, B, ... of so many actors, each with a new session, or all with the same one."""
    common = world.connect("the session", retry=retry) if shared else None
    for name in map(chr, range(ord("A"), ord("A") + count)):
        yield name, common or world.connect(f"{name}'s session", retry=retry)


def contenders(
    lock_class: Callable[[SimSession, str], UsableLock],
    count: int,
    *,
    shared: bool = False,
    retry: RetryPolicy = NEVER,
    timeout: float | None = None,
    times: int | None = 1,
    next_sequence: int = 0,
    wraps: bool = True,
    path: str = "/l",
    parent: bool = True,
    below: Sequence[str] = (),
    listing: str = "sorted",
    one_process: bool = False,
) -> World:
    """A world with `count` actors A, B, ... that each use a lock of their own on one path; each in
    a session of its own, or all in one; those sessions in one process or not. `parent`: whether the
    path is there at the beginning, and `below` it, these. Raises NotALock if
    `lock_class(session, path)` gives no UsableLock."""
    nodes = [path, *(join(path, name) for name in below)] if parent else []
    world = World(
        *nodes,
        next_sequence=next_sequence,
        wraps=wraps,
        listing=listing,
        one_process=one_process,
    )
    for name, session in named(world, count, shared=shared, retry=retry):
        lock = lock_class(session, path)
        check_lock(lock)
        world.actor(name, session, use, lock, timeout=timeout, times=times)
    return world
