"""An election that an actor takes part in as if it took a lock: it stands, waits until it leads,
and withdraws. What it is given is the leadership, which says of itself what a hold does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any

from zkkit import LeaderLatch, Leadership
from zkkit.chaos.ground import settled


class StormCandidate:
    """Somebody who stands. It may lead several times: by the same node, if only its connection
    broke, or in the next session."""

    def __init__(self, latch: LeaderLatch[Any]) -> None:
        self.path = latch.path
        self.latch = latch

    async def acquire(self, timeout: float | None = None) -> StormTerm | None:
        """Wait until we lead; None if time is up before, and we stand on."""
        lead = await settled(self.latch.wait(timeout))
        return None if lead is None else StormTerm(self, lead)


class StormTerm:
    """A leadership, and the candidate that has it."""

    def __init__(self, candidate: StormCandidate, lead: Leadership[Any]) -> None:
        self.candidate = candidate
        self.token = lead.token
        self.session_id = lead.session_id
        self.transaction = lead.transaction
        self._lead = lead

    @property
    def valid(self) -> bool:
        """Whether we surely still lead."""
        return self._lead.valid

    async def release(self) -> None:
        """Withdraw."""
        await settled(self.candidate.latch.close())


class StormElection:
    """Each attempt is a candidate of its own, of the given kinds in turn."""

    def __init__(
        self, session: Any, path: str, kinds: Sequence[Callable[..., LeaderLatch[Any]]]
    ) -> None:
        self.path = path
        self._session = session
        self._kinds = cycle(kinds)

    async def acquire(self, timeout: float | None = None) -> StormTerm | None:
        """Stand until we lead; None, and nobody stands any more, if time is up before."""
        latch = next(self._kinds)(self._session, self.path)
        term: StormTerm | None = None
        try:
            await settled(latch.start())
            term = await StormCandidate(latch).acquire(timeout)
        finally:
            if term is None:
                await settled(latch.close())
        return term
