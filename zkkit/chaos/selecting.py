"""An actor that is elected: a LeaderSelector runs its function, and each run is a hold.

The function uses its leadership as others use a lock. It ends when it likes, or when it has seen
that it leads no more. Then it goes on for a while all the same, and the selector must wait for it
before it lets it lead again. The selector stands again and again, in whatever session, until it is
closed and another one follows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from zkkit import LeaderSelector
from zkkit.chaos.actors import CLOSE, STORM, StormActor, TakenLock
from zkkit.chaos.diary import now
from zkkit.chaos.ground import drive, settled
from zkkit.chaos.scene import SELECTOR, LockToTake, session_of
from zkkit.scripting import Awaiting

_LONG = 0.2  # of the runs last for seconds
_LINGER = 8.0  # seconds: the next turn may come before that
_INTERRUPT = 0.02  # of the looks at the phase


@dataclass
class ElectedActor(StormActor):
    """Stands by one selector after the other."""

    selectors: int = 0
    runs: int = 0
    """How many runs of the present selector came to their end."""
    since: int = 0
    """When it got in line."""

    async def be_elected(self, session: Any) -> None:
        """Stand for some seconds at a time in the storm, and until it has led in the calm."""
        while self._storms():
            await self._surely(self._stand(session))
            await self._sleep(0.02, 0.2)
        while self.phase.read() != CLOSE and not await self._surely(self._stand(session)):
            await self._sleep(0.02, 0.1)

    async def _stand(self, session: Any) -> bool:
        """Stand by a new selector, and see it end. Returns whether it has led."""
        self.selectors, self.runs = self.selectors + 1, 0
        number = self.selectors
        selector: LeaderSelector[Any]

        async def awaited(lead: Any) -> None:
            self.attempts += 1
            taken = TakenLock(self.attempts, LockToTake("selector", selector), lead)
            await self._surely(self._lead(taken, number))

        def blocking(lead: Any) -> None:
            drive(awaited(lead))

        function = awaited if isinstance(session, Awaiting) else blocking
        selector = LeaderSelector(session, SELECTOR, function, auto_requeue=True)
        end = now() + int(self.chance.uniform(5.0, 30.0) * 1e9)
        self.since = now()
        await settled(selector.start())
        try:
            while self._stands(end):
                if self.chance.random() < _INTERRUPT:
                    await settled(selector.interrupt())
                await self._sleep(0.02, 0.1)
        finally:
            await settled(selector.close())
        return self.runs > 0

    def _stands(self, end: int) -> bool:
        phase = self.phase.read()
        return now() < end if phase == STORM else phase != CLOSE and not self.runs

    async def _lead(self, taken: TakenLock, selector: int) -> bool:
        """What a leader does."""
        parts, session = taken.target.parts(taken.hold), session_of(taken.hold)
        self._note(taken.attempt, "ask", at=self.since, lock=taken.target.name, within=None)
        self._note(taken.attempt, "granted", parts=parts, session=session, selector=selector)
        try:
            try:
                await self._use(taken, long=self.chance.random() < _LONG)
            finally:  # on asyncio it is cancelled, once, wherever it stands: below this as well
                if not self._ask(taken) and self._storms():
                    await self._sleep(0.0, _LINGER)
        finally:
            self._ask(taken)
            self.runs, self.since = self.runs + 1, now()
            self._note(taken.attempt, "release")
        return True
