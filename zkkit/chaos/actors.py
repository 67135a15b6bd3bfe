"""What an actor does: ask for a lock, ask its hold again and again whether it is valid, write
something under it, give it back.

It is written once, as a coroutine. On asyncio it is a task. On threads and greenlets, where every
call waits by itself, the coroutine never has to be suspended, and `drive` runs it as a function.
"""

from __future__ import annotations

import inspect
import json
import random
import traceback
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from zkkit.chaos.diary import Diary, now
from zkkit.chaos.scene import LEDGER, LONG, Wanted, session_of
from zkkit.errors import ConnectionLost, DeadlineExceeded, NotHeld, SessionLost
from zkkit.steps import Create, Mode

STORM, CALM, CLOSE = "storm", "calm", "close"
"""What a client is told to do: contend; take every lock once more and rest; end."""

PROMISED = (SessionLost, ConnectionLost, DeadlineExceeded)
"""What a call may raise when servers and networks fail. Anything else is a defect."""

_LINES = 12  # of the story of an error that should not be


class Ground(NamedTuple):
    """What actors stand on: one of the fronts."""

    front: str
    open: Callable[..., Any]
    sleep: Callable[[float], Any]
    start: Callable[[Coroutine[Any, Any, None]], Callable[[], bool]]
    """Start an actor; gives the question whether it has ended."""


async def settled(value: Any) -> Any:
    """What a call gives on any front."""
    return await value if inspect.isawaitable(value) else value


def drive(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine whose calls all wait by themselves."""
    try:
        coroutine.send(None)
    except StopIteration:
        return
    raise RuntimeError("a call of a blocking session gave something to await")


class Told:
    """What the clients are told, in a file."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __call__(self) -> str:
        return self._file.read_text()

    def say(self, phase: str) -> None:
        """Tell them, in one step: nobody reads half a word."""
        fresh = self._file.with_suffix(".new")
        fresh.write_text(phase)
        fresh.replace(self._file)


class Actor:
    """One of those who contend."""

    def __init__(
        self, process: str, name: str, ground: Ground, diary: Diary, told: Told, seed: str
    ) -> None:
        self._process = process
        self._name = name
        self._ground = ground
        self._diary = diary
        self._told = told
        self._random = random.Random(seed)
        self._attempt = 0

    async def live(self, locks: Sequence[Wanted]) -> None:
        """Contend in the storm, take each lock once in the calm, and end."""
        while self._told() == STORM:
            await self._surely(self._once(self._random.choice(locks), self._deadline()))
            await self._sleep(0.02, 0.2)
        for wanted in locks:
            while self._told() != CLOSE and not await self._surely(self._once(wanted, None)):
                await self._sleep(0.02, 0.1)

    async def _surely(self, attempt: Coroutine[Any, Any, bool]) -> bool:
        """One attempt, whatever it raises."""
        try:
            return await attempt
        except Exception:
            story = traceback.format_exc().splitlines()[-_LINES:]
            self._diary.note("crash", actor=self._name, why="\n".join(story))
            return False

    async def _once(self, wanted: Wanted, within: float | None) -> bool:
        """Ask for a lock and use it; whether it was granted."""
        self._attempt += 1
        self._note("ask", lock=wanted.name, within=within)
        try:
            hold = await settled(wanted.lock.acquire(timeout=within))
        except PROMISED as error:
            self._note("denied", why=type(error).__name__)
            return False
        if hold is None:
            self._note("denied", why="timeout")
            return False
        self._note("granted", parts=wanted.parts(hold), session=session_of(hold))
        try:
            await self._use(wanted, hold)
        finally:
            await self._give_back(hold)
        return True

    async def _use(self, wanted: Wanted, hold: Any) -> None:
        valid = self._ask(hold)
        if wanted.name.startswith(LONG):
            valid = await self._hold_on(wanted, hold)
        else:
            await self._sleep(0.001, 0.008)
        if not valid:  # a holder that does not know, and acts when others may hold the lock
            await self._sleep(0.0, 0.5)
            await self._write(wanted, hold)
        elif self._random.random() < 0.3:
            await self._write(wanted, hold)
        self._ask(hold)

    async def _hold_on(self, wanted: Wanted, hold: Any) -> bool:
        """Hold for seconds, or until it is lost; whether it is still valid."""
        end = now() + int(self._random.uniform(0.5, 9.0) * 1e9)
        while now() < end and self._told() == STORM:
            if not self._ask(hold):
                return False
            if self._random.random() < 0.05:
                await self._write(wanted, hold)
            await self._sleep(0.02, 0.06)
        return self._ask(hold)

    def _ask(self, hold: Any) -> bool:
        """Whether the hold calls itself valid; the time is taken before it answers."""
        before = now()
        valid = bool(hold.valid)
        self._note("valid", at=before, valid=valid)
        return valid

    async def _write(self, wanted: Wanted, hold: Any) -> None:
        """Write into the ledger, guarded by the hold."""
        who = (self._process, self._name, self._attempt)
        data = json.dumps({"who": who, "parts": wanted.parts(hold)}).encode()
        entry = Create(f"{LEDGER}/write-", data, Mode.PERSISTENT_SEQUENTIAL)
        try:
            (node,) = await settled(hold.transaction(entry))
        except NotHeld:
            self._note("refused")
        except PROMISED as error:
            self._note("unsure", why=type(error).__name__)
        else:
            self._note("wrote", node=node)

    async def _give_back(self, hold: Any) -> None:
        self._note("release")
        try:
            await settled(hold.release())
        except PROMISED as error:
            self._note("unreleased", why=type(error).__name__)
        else:
            self._note("released")

    def _deadline(self) -> float | None:
        """Half of the attempts have one."""
        return self._random.uniform(0.2, 6.0) if self._random.random() < 0.5 else None

    async def _sleep(self, least: float, most: float) -> None:
        await settled(self._ground.sleep(self._random.uniform(least, most)))

    def _note(self, event: str, *, at: int | None = None, **facts: Any) -> None:
        self._diary.note(event, at=at, actor=self._name, attempt=self._attempt, **facts)
