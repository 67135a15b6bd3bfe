"""An actor that counts: it adds one to a counter, again and again, and writes down what it is told
of each addition. What the counter holds in the end is read when all processes have ended.
"""

from __future__ import annotations

from typing import Any

from zkkit import AtomicLong, Session
from zkkit.chaos.actors import CLOSE, PROMISED, ActorInStorm
from zkkit.chaos.ground import settled
from zkkit.chaos.scene import COUNTER
from zkkit.errors import OutcomeUnknown
from zkkit.steps import Sync


class CountingActor(ActorInStorm):
    """Adds one at a time, in the storm, and once more in the calm."""

    async def live(self, session: Any) -> None:
        """Count until the storm is over and one more addition has succeeded."""
        counter = AtomicLong(session, COUNTER)
        while self._storms():
            await self._surely(self._add(counter))
            await self._sleep(0.05, 0.3)
        while self.phase.read() != CLOSE and not await self._surely(self._add(counter)):
            await self._sleep(0.02, 0.1)

    async def _add(self, counter: AtomicLong[Any]) -> bool:
        self.attempts += 1
        attempt = self.attempts
        self._note(attempt, "add", counter=COUNTER)
        try:
            result = await settled(counter.increment())
        except (OutcomeUnknown, *PROMISED) as error:
            self._note(attempt, "unknown", why=type(error).__name__)
            return False
        if not result.succeeded:  # others were quicker, too often
            self._note(attempt, "unadded")
            return False
        self._note(attempt, "added", before=result.before, after=result.after)
        return True


def count(session: Session) -> int:
    """What the counter holds. The server we ask has seen all that was written before."""
    session.run(Sync(COUNTER))
    return AtomicLong(session, COUNTER).get()
