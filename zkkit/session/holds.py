"""The nodes that scripts of this session have marked as acquired, until they are released."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from ..steps import Mark, Tally
from .clock import SessionClock
from .run import Run


class Held(NamedTuple):
    """One of them: who has it, whether it outlives its session, who counts, since when, and whom
    to tell if it is lost."""

    actor: str
    recipe: str
    path: str
    zxid: int
    lasting: bool
    tally: Tally | None
    since: int
    on_lost: list[Callable[[], object]]


class Holds:
    """What is held in one session after the other; whoever changes it has the monitor."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, int], Held] = {}

    def acquired(self, run: Run, mark: Mark) -> None:
        """Marked as acquired; a second time for a reentry, which changes nothing."""
        key = (mark.path, mark.zxid)
        if key not in self._held:
            at, lasting = time.monotonic_ns(), mark.kind == "persistent"
            self._held[key] = Held(
                run.actor_name, run.recipe, mark.path, mark.zxid, lasting, mark.tally, at, []
            )

    def released(self, path: str, zxid: int) -> int:
        """Marked as released; gives the time it was held, in nanoseconds."""
        held = self._held.pop((path, zxid), None)
        return time.monotonic_ns() - held.since if held else 0

    def valid(self, clock: SessionClock, session_id: int, path: str, zxid: int) -> bool:
        """Whether it surely is still held. Needs no monitor: it may be asked at any time."""
        lives = not session_id or (clock.session_id == session_id and clock.alive())
        return lives and (path, zxid) in self._held

    def find(self, path: str, zxid: int) -> Held | None:
        return self._held.get((path, zxid))

    def lose_all(self) -> list[Held]:
        """The session is over: what was held in it, and only in it."""
        lost = [held for held in self._held.values() if not held.lasting]
        self._held = {key: held for key, held in self._held.items() if held.lasting}
        return lost
