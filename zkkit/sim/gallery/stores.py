"""Writes under a lock: each right, and with one mistake."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ...errors import NotHeld, SessionLost
from ...recipes.locks.hold import Hold
from ...recipes.locks.reentrant import ReentrantLock
from ...steps import Actor, Get, Script, Set
from ..faults import one
from ..lives import named
from ..outside import ReadOutside, WriteOutside, value_in_store
from ..properties import NoLostWakeup, NothingLost, Property, mutual_exclusion
from ..steps import Work
from ..world import World
from .twin import Right, Twin, both, twin

# --- writes under a lock --------------------------------------------------------------------

STORE = "/store"


class GuardedWrites(ReentrantLock[Any]):
    """Under the lock reads a node, works, and writes what it has read with its name added: in a
    transaction that fails if the lock is no longer its own."""

    def life(self) -> Script[None]:
        hold = yield from self.acquire.of()
        assert hold is not None
        name = yield from Actor()
        try:
            value = yield from self._read(hold)
            yield from self._work()
            if value is not None:
                yield from self._write(hold, value + str(name).encode())
        except NotHeld:
            pass  # refused
        finally:
            yield from self.release.of()

    def _read(self, hold: Hold[Any]) -> Script[bytes | None]:
        return (yield from Get(STORE)).data

    def _write(self, hold: Hold[Any], value: bytes) -> Script[Any]:
        return (yield from hold.transaction.of(Set(STORE, value)))

    def _work(self) -> Script[None]:
        try:
            yield from Work()
        except SessionLost:
            pass  # user code: nobody interrupts it, and it did not ask


class WritesUnguarded(GuardedWrites):
    """Writes without asking whether the lock is still its own: its session has expired, and the
    write goes through the new one."""

    def _write(self, hold: Hold[Any], value: bytes) -> Script[Any]:
        yield from Set(STORE, value)


class FencedWrites(GuardedWrites):
    """The same with a store outside ZooKeeper, which is shown the token at every access; and
    whoever learns that its session is over stops. That alone is not enough: one may be late."""

    def _work(self) -> Script[None]:
        yield from Work()

    def _read(self, hold: Hold[Any]) -> Script[bytes | None]:
        yield from Work()
        return (yield from ReadOutside(STORE, hold.token))

    def _write(self, hold: Hold[Any], value: bytes) -> Script[Any]:
        return (yield from WriteOutside(STORE, value, hold.token))


class FencesOnlyItsWrites(FencedWrites):
    """Shows its token only when it writes: after a pause it writes when the next holder has read
    and not yet written, is believed, and overwritten."""

    def _read(self, hold: Hold[Any]) -> Script[bytes | None]:
        yield from Work()
        return (yield from ReadOutside(STORE))


class WritesUnfenced(FencesOnlyItsWrites):
    """Shows no token: after a pause it writes as though it still held."""

    def _write(self, hold: Hold[Any], value: bytes) -> Script[Any]:
        return (yield from WriteOutside(STORE, value))


# --- the table ------------------------------------------------------------------------------

FAMILY = "write under a lock"


def writers(lock_class: type[GuardedWrites], count: int = 2) -> World:
    """So many who write to the store under a lock."""
    world = World("/l", STORE)
    for name, session in named(world, count):
        world.actor(name, session, lock_class(session, "/l").life)
    return world


def _asked(*value: Any) -> Sequence[Property]:
    return (NothingLost(STORE, *value), mutual_exclusion(), NoLostWakeup())


def _store(broken: type[Any], right: type[Any], fault: str, teaches: str, *value: Any) -> Twin:
    """One who writes under a lock, and loses what the next holder wrote."""
    worlds, asked = both(writers, broken, right), partial(_asked, *value)
    return twin(broken, worlds, one(fault), "nothing is lost", asked, FAMILY, teaches)


RIGHT = (
    Right(
        "GuardedWrites",
        FAMILY,
        "a transaction that checks the lock",
        partial(writers, GuardedWrites),
        _asked,
    ),
    Right(
        "FencedWrites",
        FAMILY,
        "a token shown at every access",
        partial(writers, FencedWrites),
        partial(_asked, value_in_store),
    ),
)
TWINS = (
    _store(
        WritesUnguarded,
        GuardedWrites,
        "expire",
        "You may have lost the lock and not know it: let the write itself check.",
    ),
    _store(
        WritesUnfenced,
        FencedWrites,
        "pause",
        "A store outside ZooKeeper must be shown a token that grows from grant to grant.",
        value_in_store,
    ),
    _store(
        FencesOnlyItsWrites,
        FencedWrites,
        "pause",
        "Show the token when you read, too: the store must know the newest holder by then.",
        value_in_store,
    ),
)
