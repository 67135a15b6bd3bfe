"""Writes under a lock, counters and barriers: each right, and with one mistake."""

from __future__ import annotations

from typing import Any

from ...errors import BadVersion, ConnectionLost, MultiFailed, NotHeld, SessionLost
from ...paths import join
from ...recipes.locks.hold import Hold
from ...recipes.locks.reentrant import ReentrantLock
from ...recipes.shared import delete_surely
from ...steps import (
    Actor,
    Children,
    Create,
    Exists,
    Get,
    Guid,
    Mode,
    Multi,
    Script,
    Set,
    Sync,
    Together,
    Wait,
)
from ..outside import ReadOutside, WriteOutside
from ..world import Say, Work

# --- writes under a lock --------------------------------------------------------------------

STORE = "/store"


class GuardedWrites(ReentrantLock[Any]):
    """Under the lock reads a node, works, and writes what it has read with its name added: in a
    transaction that fails if the lock is no longer its own."""

    def life(self) -> Script[None]:
        hold = yield from ReentrantLock.acquire.of(self)
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
            yield from ReentrantLock.release.of(self)

    def _read(self, hold: Hold[Any]) -> Script[bytes | None]:
        return (yield from Get(STORE)).data

    def _write(self, hold: Hold[Any], value: bytes) -> Script[Any]:
        return Hold.transaction.of(hold, Set(STORE, value))

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


class WritesUnfenced(FencedWrites):
    """Shows no token: after a pause it writes as though it still held."""

    def _read(self, hold: Hold[Any]) -> Script[bytes | None]:
        yield from Work()
        return (yield from ReadOutside(STORE))

    def _write(self, hold: Hold[Any], value: bytes) -> Script[Any]:
        return (yield from WriteOutside(STORE, value))


class FencesOnlyItsWrites(FencedWrites):
    """Shows its token only when it writes: after a pause it writes when the next holder has read
    and not yet written, is believed, and overwritten."""

    def _read(self, hold: Hold[Any]) -> Script[bytes | None]:
        yield from Work()
        return (yield from ReadOutside(STORE))


# --- counters -------------------------------------------------------------------------------


def adds_one(path: str) -> Script[None]:
    """Read, and write one more if nobody wrote meanwhile; a marker made in the same transaction
    tells after a lost reply whether it was applied."""
    marker = join("/marks", (yield from Guid()))
    yield from Say("adds", 1)
    while True:
        try:
            data, stat = yield from Get(path)
            one_more = Set(path, b"%d" % (int(data or b"0") + 1), stat.version)
            yield from Multi((one_more, Create(marker, mode=Mode.EPHEMERAL)))
            break
        except MultiFailed:
            continue  # somebody was quicker
        except ConnectionLost:
            if (yield from _is_there(marker)):
                break
    yield from Say("added", 1)
    yield from delete_surely(marker)


def adds_blindly(path: str) -> Script[None]:
    """Adds once more after a lost reply: the first may have counted (Curator's and kazoo's do)."""
    yield from Say("adds", 1)
    while True:
        try:
            data, stat = yield from Get(path)
            yield from Set(path, b"%d" % (int(data or b"0") + 1), stat.version)
            break
        except (BadVersion, ConnectionLost):
            continue
    yield from Say("added", 1)


def _is_there(path: str) -> Script[bool]:
    while True:
        try:
            _, stat = yield from Together(Sync(path), Exists(path))
            return stat is not None
        except ConnectionLost:
            continue


# --- barriers -------------------------------------------------------------------------------


def meets(path: str, count: int) -> Script[None]:
    """Nobody goes on before all are there: whoever is woken counts again."""
    yield from Work()  # each comes when it comes
    yield from Say("arrives")
    yield from Create(join(path, "member-"), mode=Mode.EPHEMERAL_SEQUENTIAL)
    while len((yield from Children(path, watch=True))) < count:
        yield from Wait()
    yield from Say("passes")


def passes_when_woken(path: str, count: int) -> Script[None]:
    """Goes on when it is woken, and does not count again."""
    yield from Work()
    yield from Say("arrives")
    yield from Create(join(path, "member-"), mode=Mode.EPHEMERAL_SEQUENTIAL)
    if len((yield from Children(path, watch=True))) < count:
        yield from Wait()
    yield from Say("passes")
