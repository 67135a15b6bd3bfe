"""A room that only one may be in, and its visitors."""

from __future__ import annotations

import threading
from typing import Any


class Room:
    """Notices when two are inside at once."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self.inside = 0
        self.most = 0
        self.overlaps = 0
        self.visits: list[Any] = []

    def enter(self, who: Any) -> None:
        with self._guard:
            self.inside += 1
            self.most = max(self.most, self.inside)
            self.overlaps += self.inside > 1
            self.visits.append(who)

    def leave(self) -> None:
        with self._guard:
            self.inside -= 1


def visit(actor: Any, lock: Any, room: Room, who: Any, rounds: int) -> list[Any]:
    """Let an actor acquire, be inside and release, several times."""
    jobs = []
    for _ in range(rounds):
        jobs.append(actor.begin(lambda: lock.acquire()))
        jobs.append(actor.begin(lambda: room.enter(who)))
        jobs.append(actor.begin(lambda: room.leave()))
        jobs.append(actor.begin(lambda: lock.release()))
    return jobs


def finish(jobs: list[Any]) -> list[Any]:
    return [job.result(60) for job in jobs]
