"""What an actor does: it asks for a lock, asks its hold again and again whether it is valid, writes
something under it and releases it. Now and then it takes the lock once more meanwhile, or changes
from writing to reading, or is cancelled while it waits. (To stand in an election and to lead is the
same to it, also where a function leads: selecting.py. Others count, meet and change a tree:
counting.py, meetings.py, trees.py.)
"""

from __future__ import annotations

import json
import random
import traceback
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from zkkit.chaos.diary import Diary, now
from zkkit.chaos.election import StormCandidate, StormTerm
from zkkit.chaos.ground import AttemptCancelled, Ground, settled
from zkkit.chaos.scene import LEDGER, LONG, LockToTake, session_of
from zkkit.errors import ConnectionLost, DeadlineExceeded, NotHeld, SessionLost
from zkkit.steps import Create, Mode

STORM, CALM, CLOSE = "storm", "calm", "close"
"""The phases of a run: clients contend, then take every lock once more and rest, then end."""

PROMISED = (SessionLost, ConnectionLost, DeadlineExceeded)
"""What a call may raise when servers and networks fail. Anything else is a defect."""

_LINES = 12  # of the traceback of an unexpected error


class TakenLock(NamedTuple):
    """A lock that was granted: in which attempt, and the hold."""

    attempt: int
    target: LockToTake
    hold: Any


class PhaseFile:
    """A file that says in which phase the run is; all clients that write into this directory read
    it."""

    def __init__(self, directory: Path) -> None:
        self._file = directory / "phase"

    def read(self) -> str:
        """The present phase."""
        return self._file.read_text()

    def write(self, phase: str) -> None:
        """Begin a phase. The file is replaced in one step: nobody reads half a word."""
        fresh = self._file.with_suffix(".new")
        fresh.write_text(phase)
        fresh.replace(self._file)


@dataclass
class ActorInStorm:
    """What all actors have, and what they do alike."""

    process: str
    name: str
    ground: Ground
    diary: Diary
    phase: PhaseFile
    chance: random.Random
    attempts: int = 0

    def _storms(self) -> bool:
        return self.phase.read() == STORM

    async def _surely(self, attempt: Coroutine[Any, Any, bool]) -> bool:
        """Make one attempt; write down whatever unexpected error it raises."""
        try:
            return await attempt
        except Exception:
            lines = traceback.format_exc().splitlines()[-_LINES:]
            self.diary.note("crash", actor=self.name, why="\n".join(lines))
            return False

    async def _sleep(self, least: float, most: float) -> None:
        await settled(self.ground.sleep(self.chance.uniform(least, most)))

    async def _perhaps_cancelled(self, call: Callable[[], Any]) -> Any:
        """Call something; in the storm it is now and then cancelled, where that can be."""
        cancel_after = self.ground.cancel_after
        if cancel_after is not None and self.chance.random() < 0.1 and self._storms():
            return await settled(cancel_after(self.chance.uniform(0.0, 2.0), call))
        return await settled(call())

    def _note(self, attempt: int, event: str, *, at: int | None = None, **facts: Any) -> None:
        self.diary.note(event, at=at, actor=self.name, attempt=attempt, **facts)


class StormActor(ActorInStorm):
    """One of the actors that contend for the locks."""

    async def live(self, locks: Sequence[LockToTake]) -> None:
        """Contend in the storm, take each lock once in the calm, and end."""
        while self._storms():
            await self._surely(self._once(self.chance.choice(locks), self._deadline()))
            await self._sleep(0.02, 0.2)
        for target in locks:
            while self.phase.read() != CLOSE and not await self._surely(self._once(target, None)):
                await self._sleep(0.02, 0.1)

    async def _once(self, target: LockToTake, within: float | None) -> bool:
        """Ask for a lock and use it. Returns whether it was granted."""
        taken = await self._take(target, within)
        if taken is None:
            return False
        rest = taken
        try:
            await self._use(taken, long=target.name.startswith(LONG))
            later = await self._lead_again(taken)
            if later is not None:
                await self._use(later, long=target.name.startswith(LONG))
            inner = await self._take_inside(taken)
            if inner is not None:
                self._ask(inner)
                # A reentry ends before the hold it is in; a downgrade lasts longer than the write.
                again = inner.target is taken.target
                first, rest = (inner, taken) if again else (taken, inner)
                await self._give_back(first)
                await self._use(rest, long=False)
        finally:
            await self._give_back(rest)
        return True

    async def _take(
        self, target: LockToTake, within: float | None, inside: int | None = None
    ) -> TakenLock | None:
        """Ask for a lock, `inside` another attempt if that one's hold is not yet given back."""
        self.attempts += 1
        attempt = self.attempts
        self._note(attempt, "ask", lock=target.name, within=within)
        try:
            hold = await self._perhaps_cancelled(lambda: target.lock.acquire(timeout=within))
        except (*PROMISED, AttemptCancelled) as error:
            self._note(attempt, "denied", why=type(error).__name__)
            return None
        if hold is None:
            self._note(attempt, "denied", why="timeout")
            return None
        parts, session = target.parts(hold), session_of(hold)
        again = isinstance(target.lock, StormCandidate)
        self._note(attempt, "granted", parts=parts, session=session, inside=inside, again=again)
        return TakenLock(attempt, target, hold)

    async def _take_inside(self, taken: TakenLock) -> TakenLock | None:
        """Now and then take the lock once more, or the read lock of a write lock."""
        choices = taken.target.inside
        if not choices or self.chance.random() > 0.3 or not self._storms():
            return None
        within = self.chance.uniform(0.2, 3.0)
        return await self._take(self.chance.choice(choices), within, taken.attempt)

    async def _lead_again(self, taken: TakenLock) -> TakenLock | None:
        """A leader that leads no more still stands: wait until it leads again."""
        if not isinstance(taken.hold, StormTerm) or taken.hold.valid or not self._storms():
            return None
        target = taken.target._replace(lock=taken.hold.candidate)
        return await self._take(target, self.chance.uniform(1.0, 6.0), taken.attempt)

    async def _use(self, taken: TakenLock, *, long: bool) -> None:
        valid = self._ask(taken)
        if long:
            valid = await self._hold_on(taken)
        else:
            await self._sleep(0.001, 0.008)
        if not valid:  # a holder that does not know, and acts when others may hold the lock
            await self._sleep(0.0, 0.5)
            await self._write(taken)
        elif self.chance.random() < 0.3:
            await self._write(taken)
        self._ask(taken)

    async def _hold_on(self, taken: TakenLock) -> bool:
        """Hold for some seconds, or until the hold is lost. Returns whether it is still valid."""
        end = now() + int(self.chance.uniform(0.5, 9.0) * 1e9)
        while now() < end and self._storms():
            if not self._ask(taken):
                return False
            if self.chance.random() < 0.05:
                await self._write(taken)
            await self._sleep(0.02, 0.06)
        return self._ask(taken)

    def _ask(self, taken: TakenLock) -> bool:
        """Whether the hold says it is valid; the time written down is that of the question."""
        before = now()
        valid = bool(taken.hold.valid)
        self._note(taken.attempt, "valid", at=before, valid=valid)
        return valid

    async def _write(self, taken: TakenLock) -> None:
        """Write into the ledger, guarded by the hold; nothing where it cannot guard."""
        attempt, target, hold = taken
        if not target.guards:
            return
        who = (self.process, self.name, attempt)
        data = json.dumps({"who": who, "parts": target.parts(hold)}).encode()
        entry = Create(f"{LEDGER}/write-", data, Mode.PERSISTENT_SEQUENTIAL)
        try:
            (node,) = await settled(hold.transaction(entry))
        except NotHeld:
            self._note(attempt, "refused")
        except PROMISED as error:
            self._note(attempt, "unsure", why=type(error).__name__)
        else:
            self._note(attempt, "wrote", node=node)

    async def _give_back(self, taken: TakenLock) -> None:
        self._note(taken.attempt, "release")
        try:
            await settled(taken.hold.release())
        except PROMISED as error:
            self._note(taken.attempt, "unreleased", why=type(error).__name__)
        else:
            self._note(taken.attempt, "released")

    def _deadline(self) -> float | None:
        """The seconds after which an attempt is given up; None for half of them."""
        return self.chance.uniform(0.2, 6.0) if self.chance.random() < 0.5 else None
