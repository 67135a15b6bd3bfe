"""Meetings that all enter together and leave together.

In the storm half of the processes make a meeting, and each process sends somebody, again and again,
with deadlines that pass now and then. In the calm all of them meet once more.
"""

from __future__ import annotations

from typing import Any

from zkkit import DoubleBarrier
from zkkit.chaos.actors import CLOSE, PROMISED, ActorInStorm
from zkkit.chaos.ground import AttemptCancelled, settled
from zkkit.chaos.scene import MEETINGS
from zkkit.errors import NotInside

_IN_THE_CALM = 30.0  # seconds to enter, and to leave: all others are on their way


def meetings(processes: int) -> dict[str, int]:
    """The meetings of the storm and of the calm, and how many make each."""
    return {f"{MEETINGS}/some": max(2, processes // 2), f"{MEETINGS}/all": processes}


class MeetingMember(ActorInStorm):
    """Enters a meeting, is inside for a moment and leaves."""

    async def live(self, session: Any, processes: int) -> None:
        """Meet some in the storm, and all in the calm."""
        some, everybody = (
            DoubleBarrier(session, path, members) for path, members in meetings(processes).items()
        )
        while self._storms():
            await self._surely(self._meet(some, self.chance.uniform(0.2, 6.0)))
            await self._sleep(0.05, 0.3)
        while self.phase.read() != CLOSE and not await self._surely(
            self._meet(everybody, _IN_THE_CALM)
        ):
            await self._sleep(0.02, 0.1)

    async def _meet(self, meeting: DoubleBarrier[Any], within: float) -> bool:
        """Whether both calls came to an answer, be it that time was up."""
        self.attempts += 1
        attempt = self.attempts
        self._note(attempt, "enter", meeting=meeting.path)
        try:
            entered = await self._perhaps_cancelled(lambda: meeting.enter(timeout=within))
        except (*PROMISED, AttemptCancelled) as error:
            self._note(attempt, "enter unsure", why=type(error).__name__)
            return False
        self._note(attempt, "entered" if entered else "turned away")
        if not entered:
            return True
        await self._sleep(0.0, 0.2)
        self._note(attempt, "leave")
        try:
            left = await settled(meeting.leave(timeout=within))
        except (NotInside, *PROMISED) as error:
            self._note(attempt, "leave unsure", why=type(error).__name__)
            return False
        self._note(attempt, "left" if left else "left alone")
        return True
