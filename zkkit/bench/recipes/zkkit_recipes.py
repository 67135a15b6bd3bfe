"""zkkit's recipes, to be measured: the same names as in kazoo_recipes.py."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import zkkit
from zkkit import AtomicLong, Cache, DoubleBarrier, LeaderLatch, Session
from zkkit.bench.recipes.plan import CONTENDERS
from zkkit.recipes.caches import CacheEvent, EventKind
from zkkit.recipes.elections import LeaderEvent
from zkkit.session.options import BUSY_TIMEOUT

VERSION = zkkit.__version__

connect = partial(zkkit.connect, timeout=BUSY_TIMEOUT)
close = Session.close


def identity(session: Session) -> tuple[int, bytes]:
    """The id and the password of its session."""
    number, password = session.kazoo.client_id
    return number, password


class Increments:
    """To acquire is to add one, however often it takes; there is nothing to release."""

    def __init__(self, session: Session, path: str) -> None:
        self._number = AtomicLong(session, path)

    def acquire(self) -> None:
        while not self._number.increment().succeeded:
            pass

    def release(self) -> None: ...


class BarrierRounds:
    """To acquire is to enter a barrier of its own for this round, to release is to leave it."""

    def __init__(self, session: Session, path: str) -> None:
        self._session, self._path = session, path
        self._round = 0
        self._barrier: DoubleBarrier[Session] | None = None

    def acquire(self) -> None:
        path = f"{self._path}/{self._round}"
        self._barrier = DoubleBarrier(self._session, path, CONTENDERS)
        self._round += 1
        self._barrier.enter()

    def release(self) -> None:
        assert self._barrier is not None
        self._barrier.leave()


def latch(session: Session, path: str, tell: Callable[..., None]) -> LeaderLatch[Session]:
    """It tells when it leads."""
    found = LeaderLatch(session, path)

    def hear(event: LeaderEvent) -> None:
        if event.is_leader:
            tell("leader")

    found.add_listener(hear)
    return found


def cache(session: Session, path: str, tell: Callable[..., None]) -> Cache[Session]:
    """It tells how many nodes there are when it has them, and what changes after that."""
    created = 0

    def hear(event: CacheEvent) -> None:
        nonlocal created
        if event.kind is EventKind.CREATED:
            created += 1
        elif event.kind is EventKind.INITIALIZED:
            tell("initialized", created)
        elif event.kind is EventKind.CHANGED and event.new is not None:
            tell("changed", [event.path, (event.new.data or b"").hex()])

    found = Cache(session, path)
    found.add_listener(hear)
    return found


RACES: dict[str, Any] = {"increment": Increments, "barrier": BarrierRounds}
STAGES: dict[str, Any] = {"election": latch, "cache": cache}
