"""Breaks one thing after the other: two hands for the clients, one for the servers.

Each hand has a deck with the kinds of faults it knows, shuffled, and begins anew when it is used
up: so all kinds come up before one comes up again. A fault that found nothing to strike goes back
on top. At most one server is broken at a time, so that a majority is always there.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Sequence

from zkkit.chaos.crew import Crew
from zkkit.chaos.diary import Diary
from zkkit.chaos.faults import OF_CLIENTS, OF_SERVERS, Trouble
from zkkit.ensemble import Ensemble
from zkkit.errors import ZkkitError

_HANDS = 2  # for clients
_MISSES = 3  # in a row, then another kind of fault gets its turn
_BETWEEN_CLIENTS = (0.1, 1.0)  # seconds from one fault to the next
_BETWEEN_SERVERS = (0.5, 2.0)


class StormFailed(ZkkitError):
    """Something that was broken could not be mended."""


class Storm:
    """Begins at once, and is over when `end` returns."""

    def __init__(
        self, ensemble: Ensemble, crew: Crew, kinds: Sequence[str], diary: Diary, seed: int
    ) -> None:
        self.faults: Counter[str] = Counter()
        self.last = "nothing yet"
        """The fault that struck last."""
        self.failed = threading.Event()
        """Set if a hand had to give up."""
        self._diary = diary
        self._crew = crew
        self._over, self._abandoned = threading.Event(), threading.Event()
        self._errors: list[Exception] = []
        decks = [[kind for kind in kinds if kind in OF_CLIENTS]] * _HANDS
        decks.append([kind for kind in kinds if kind in OF_SERVERS])
        self._threads = []
        for number, deck in enumerate(decks):
            chance = random.Random(f"{seed} {number}")
            trouble = Trouble(ensemble, crew, chance, self._over, self._abandoned)
            between = _BETWEEN_SERVERS if number == _HANDS else _BETWEEN_CLIENTS
            if deck:
                self._threads.append(
                    threading.Thread(target=self._hand, args=(deck, trouble, between), daemon=True)
                )
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Begin nothing more; return when all is mended."""
        self._over.set()
        for thread in self._threads:
            thread.join()
        if self._errors:
            raise StormFailed(f"the storm broke off: {self._errors[0]}") from self._errors[0]

    def abandon(self) -> None:
        """The same in a hurry, whatever became of it. After `end` there is nothing to do."""
        self._over.set()
        self._abandoned.set()
        for thread in self._threads:
            thread.join()

    def _hand(self, kinds: Sequence[str], trouble: Trouble, between: tuple[float, float]) -> None:
        deck: list[str] = []
        misses = 0
        try:
            while not self._over.is_set():
                if not deck:
                    deck = trouble.chance.sample(kinds, len(kinds))
                if self._strike(deck[-1], trouble) or misses == _MISSES:
                    deck.pop()
                    misses = 0
                else:
                    misses += 1
                trouble.wait(*between)
        except Exception as error:
            self._errors.append(error)
            self.failed.set()

    def _strike(self, kind: str, trouble: Trouble) -> bool:
        """Whether it struck."""
        if kind in OF_SERVERS:
            return self._note(kind, lambda: OF_SERVERS[kind](trouble))
        client = trouble.chance.choice(self._crew.clients)
        if not client.busy.acquire(blocking=False):
            return False
        try:
            return self._note(kind, lambda: OF_CLIENTS[kind](trouble, client))
        finally:
            client.busy.release()

    def _note(self, kind: str, fault: Callable[[], str | None]) -> bool:
        self._diary.note("begin", kind=kind)
        struck = fault()
        if struck is None:
            self._diary.note("missed", kind=kind)
            return False
        self._diary.note("fault", kind=kind, on=struck)
        self.faults[kind] += 1
        self.last = f"{kind} ({struck})"
        return True
