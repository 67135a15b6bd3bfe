"""Gates that are closed and opened, and actors that come to them.

Each process keeps a gate of its own (its next life keeps the same one), and sends somebody to the
gates of all. Who comes lets its server catch up first: only then has it come while a gate that
another one had closed was closed.
"""

from __future__ import annotations

from typing import Any

from zkkit import Barrier
from zkkit.chaos.actors import CLOSE, PROMISED, ActorInStorm
from zkkit.chaos.ground import settled
from zkkit.chaos.scene import GATES
from zkkit.steps import Sync


class GateKeeper(ActorInStorm):
    """Closes its gate and opens it, as long as the storm lasts; then it stays open."""

    async def live(self, session: Any) -> None:
        """Close and open, again and again."""
        path = f"{GATES}/{self.process.rpartition('-')[0]}"
        gate = Barrier(session, path)
        while self._storms():
            await self._surely(self._do("close", path, gate.set))
            await self._sleep(0.2, 2.0)
            await self._surely(self._do("open", path, gate.remove))
            await self._sleep(0.05, 0.5)
        while self.phase.read() != CLOSE and not await self._surely(
            self._do("open", path, gate.remove)
        ):
            await self._sleep(0.02, 0.1)

    async def _do(self, event: str, path: str, call: Any) -> bool:
        self.attempts += 1
        attempt = self.attempts
        self._note(attempt, event, gate=path)
        try:
            await settled(call())
        except PROMISED as error:
            self._note(attempt, "gate unsure", why=type(error).__name__)
            return False
        self._note(attempt, "gate done")
        return True


class Passenger(ActorInStorm):
    """Comes to one gate after the other; most of its waits have a deadline that passes."""

    async def live(self, session: Any) -> None:
        """Come and wait, in the storm; in the calm pass each gate once more."""
        while self._storms():
            await self._surely(self._come_to_any(session))
            await self._sleep(0.05, 0.3)
        while self.phase.read() != CLOSE and not await self._surely(self._pass_all(session)):
            await self._sleep(0.02, 0.1)

    async def _come_to_any(self, session: Any) -> bool:
        names = await self._gates(session)
        if not names:
            return False
        return await self._come(session, self.chance.choice(names), self.chance.uniform(0.1, 3.0))

    async def _pass_all(self, session: Any) -> bool:
        names = await self._gates(session)
        return all([await self._come(session, name, None) for name in names])

    async def _gates(self, session: Any) -> list[str]:
        """The gates that are closed, as our server has it."""
        try:
            return sorted(await settled(session.children(GATES)))
        except PROMISED:
            return []

    async def _come(self, session: Any, name: str, within: float | None) -> bool:
        self.attempts += 1
        attempt, path = self.attempts, f"{GATES}/{name}"
        self._note(attempt, "come", gate=path)
        try:
            await settled(session.run(Sync(path)))
            passed = await settled(Barrier(session, path).wait(timeout=within))
        except PROMISED as error:
            self._note(attempt, "gate unsure", why=type(error).__name__)
            return False
        self._note(attempt, "passed" if passed else "turned back")
        return bool(passed)
