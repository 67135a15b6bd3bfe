"""Breaks one thing after the other: two threads strike clients, a third one strikes servers.

Each of these hands has a deck, the kinds of faults it knows in random order, and shuffles again
when the deck is used up: so all kinds come up before one comes up twice. A fault that found nothing
to strike is tried again. At most one server is broken at a time, so a majority is always there.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Sequence

from zkkit.chaos.crew import StormCrew
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
        self, ensemble: Ensemble, crew: StormCrew, kinds: Sequence[str], diary: Diary, seed: int
    ) -> None:
        self.faults: Counter[str] = Counter()
        self.last = "nothing yet"
        """The fault that struck last."""
        self.failed = threading.Event()
        """Set if a hand met an error."""
        self._diary = diary
        self._crew = crew
        self._over, self._abandoned = threading.Event(), threading.Event()
        self._errors: list[Exception] = []
        self._threads = []
        for number in range(_HANDS + 1):
            known = OF_SERVERS if number == _HANDS else OF_CLIENTS
            deck = [kind for kind in kinds if kind in known]
            chance = random.Random(f"{seed} {number}")
            trouble = Trouble(ensemble, crew, chance, self._over, self._abandoned)
            hand = threading.Thread(target=self._hand, args=(deck, trouble), daemon=True)
            if deck:
                self._threads.append(hand)
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Begin nothing more; return when all is mended."""
        self._join()
        if self._errors:
            raise StormFailed(f"the storm broke off: {self._errors[0]}") from self._errors[0]

    def abandon(self) -> None:
        """End at once, without an error. After `end` this does nothing."""
        self._abandoned.set()
        self._join()

    def _join(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _hand(self, kinds: Sequence[str], trouble: Trouble) -> None:
        between = _BETWEEN_SERVERS if kinds[0] in OF_SERVERS else _BETWEEN_CLIENTS
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
