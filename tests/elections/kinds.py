"""The elections that the contract runs over, and how to take part in them on every front."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.sessions import lapse as forget_the_proof
from zkkit import HerdElection, LeaderLatch, LeaderSelector
from zkkit.testing import eventually

SHORT = 2.0
"""A session timeout that a test can outwait."""


@dataclass(frozen=True)
class Kind:
    """A kind of election: how to make a candidate, and what it claims beyond what all do."""

    name: str
    make: Callable[..., Any]
    fair: bool = True
    """Candidates lead in the order in which they came."""
    lists_all: bool = True
    """It knows all who take part."""
    guards: bool = True
    """Its leaderships guard transactions."""

    def __str__(self) -> str:
        return self.name


LATCH = Kind("LeaderLatch", LeaderLatch)
HERD = Kind("HerdElection", HerdElection, fair=False, lists_all=False, guards=False)


def over(*kinds: Any) -> Any:
    """Run a test over these kinds of election."""
    return pytest.mark.parametrize("kind", kinds, ids=str)


every_kind = over(LATCH, HERD)


def stand(front: Any, latch: Any) -> Any:
    """Start a candidate; it is one, and stands behind those who came before, when this returns."""
    began = threading.Event()

    class Began:
        def watch_set(self, event: Any) -> None:
            began.set()

    latch.session.hooks.add(Began())
    front.call(lambda: latch.start())
    assert began.wait(20)
    return latch


def leads(front: Any, latch: Any, seconds: float = 20.0) -> Any:
    """The leadership of a candidate that leads in time."""
    lead = front.call(lambda: latch.wait(timeout=seconds))
    assert lead is not None, f"{latch!r} does not lead: {latch.session.standing()}"
    return lead


def lapse(session: Any) -> None:
    """As if no beat had been answered in time."""
    forget_the_proof(session)
    with session._runner._monitor:
        session._runner._engine.drain()  # as its timer does


class Told:
    """A listener that keeps what it was told."""

    def __init__(self, latch: Any) -> None:
        self.events: list[Any] = []
        latch.add_listener(self.events.append)

    @property
    def words(self) -> list[bool]:
        """Whether we lead, one event after the other."""
        return [event.is_leader for event in self.events]

    def hears(self, *words: bool) -> None:
        """Has been told this, and nothing else, in time."""
        eventually(lambda: self.words == [*words], 20, otherwise=lambda: self.words)

    def leads_no_more(self) -> None:
        """Was told so in time. Perhaps not at once: a client that is disconnected while somebody
        ends its session may be back for a moment before that is done."""
        eventually(lambda: self.words[-1:] == [False], 20, otherwise=lambda: self.words)


class Duty:
    """What leaders of a selector do, on any front: note that they run, wait until they are asked to
    stop or may go, and stay longer if they may not leave yet."""

    def __init__(self, front: Any) -> None:
        self.front = front
        self.running = 0
        self.most = 0
        self.terms: list[Any] = []
        self.stopped = 0
        """How many have been asked to stop."""
        self.go = threading.Event()
        """Set: leaders leave of their own accord."""
        self.may_leave = threading.Event()
        self.may_leave.set()
        """Cleared: who was asked to stop does not leave until it is set."""
        self._guard = threading.Lock()

    def selector(self, session: Any, path: str, **options: Any) -> Any:
        function = self.awaited if self.front.name == "asyncio" else self.blocking
        return LeaderSelector(session, path, function, **options)

    def _enter(self, term: Any) -> None:
        with self._guard:
            self.running += 1
            self.most = max(self.most, self.running)
            self.terms.append(term)

    def _leave(self) -> None:
        with self._guard:
            self.running -= 1

    def blocking(self, term: Any) -> None:
        self._enter(term)
        try:
            while not self.go.is_set():
                if term.stop.wait(0.01):
                    self.stopped += 1
                    self.may_leave.wait(20)
                    return
        finally:
            self._leave()

    async def awaited(self, term: Any) -> None:
        self._enter(term)
        try:
            while not self.go.is_set():
                await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            self.stopped += 1
            assert term.stop.is_set()
            while not self.may_leave.is_set():
                await asyncio.sleep(0.01)
            raise
        finally:
            self._leave()

    def runs(self, times: int) -> Any:
        """The term of the leader that runs when so many have begun, in time."""
        eventually(lambda: len(self.terms) >= times, 20, otherwise=lambda: self.terms)
        return self.terms[times - 1]
