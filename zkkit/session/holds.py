"""The nodes that scripts of this session have marked as acquired, until they are released."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from ..steps import Mark, Tally
from .clock import Proof, now
from .run import Run


class Held(NamedTuple):
    """One of them: who has it, whether it outlives its session, in which era of the session's proof
    it was granted, who counts, since when, and whom to tell if it is lost."""

    actor: str
    recipe: str
    path: str
    zxid: int
    lasting: bool
    era: int
    tally: Tally | None
    since: int
    on_lost: list[Callable[[], object]]


class Holds:
    """What is held in one session after the other; whoever changes it has the monitor."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, int], Held] = {}
        self._lapsed: set[tuple[str, int]] = set()

    @property
    def any_mortal(self) -> bool:
        """Whether something is held that is lost with its session."""
        return any(not held.lasting for held in self._held.values())

    def acquired(self, run: Run, mark: Mark, era: int) -> None:
        """Marked as acquired; a second time for a reentry, which changes nothing."""
        key = (mark.path, mark.zxid)
        if key not in self._held:
            at, lasting = time.monotonic_ns(), mark.kind == "persistent"
            self._held[key] = Held(
                run.actor_name, run.recipe, mark.path, mark.zxid, lasting, era, mark.tally, at, []
            )

    def released(self, path: str, zxid: int) -> int:
        """Marked as released; gives the time it was held, in nanoseconds."""
        self._lapsed.discard((path, zxid))
        held = self._held.pop((path, zxid), None)
        return time.monotonic_ns() - held.since if held else 0

    def valid(self, proof: Proof | None, path: str, zxid: int) -> bool:
        """Whether it surely is still held. Needs no monitor: it may be asked at any time."""
        held = self._held.get((path, zxid))
        if held is None or held.lasting:
            return held is not None
        return proof is not None and proof.holds(held.era, now())

    def find(self, path: str, zxid: int) -> Held | None:
        return self._held.get((path, zxid))

    def has_lapsed(self, path: str, zxid: int) -> bool:
        """Whether it was lost with its proof, and is not yet released."""
        return (path, zxid) in self._lapsed

    def lapse(self, era: int) -> list[Held]:
        """A proof has lapsed and another era begun: what was held till then, and is lost."""
        lost = self._take(lambda held: held.era != era)
        self._lapsed.update((held.path, held.zxid) for held in lost)
        return lost

    def end(self) -> list[Held]:
        """The session is over: what was held in it, and is lost."""
        self._lapsed.clear()
        return self._take(lambda held: True)

    def _take(self, which: Callable[[Held], bool]) -> list[Held]:
        taken = [held for held in self._held.values() if not held.lasting and which(held)]
        for held in taken:
            del self._held[held.path, held.zxid]
        return taken
