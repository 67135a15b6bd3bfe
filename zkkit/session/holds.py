"""What scripts of this session hold or lead, from their marks until it is given back or lost."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from ..steps import Mark, Tally
from .clock import Proof, now
from .run import Run

_GIVEN_BACK = {"released": "acquired", "unled": "led"}


class HeldNode(NamedTuple):
    """A node that is held or led: who has it, whether it outlives its session, in which era of the
    session's proof it was granted, who counts, since when, and whom to tell if it is lost."""

    what: str
    actor_name: str
    recipe: str
    path: str
    zxid: int
    outlives_session: bool
    era: int
    tally: Tally | None
    since: int
    on_lost: list[Callable[[], object]]


class Holds:
    """What is held and led in one session after the other; whoever changes it has the monitor."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, str, int], HeldNode] = {}
        self._lapsed: set[tuple[str, int]] = set()

    @property
    def any_mortal(self) -> bool:
        """Whether something is held that is lost with its session."""
        return any(not held.outlives_session for held in self._held.values())

    def marked(self, run: Run, mark: Mark, era: int) -> int:
        """Take notice of a mark. Gives the nanoseconds it was held, if it is given back, else those
        since the run began. A hold that is marked again is reentered, which changes nothing."""
        at = time.monotonic_ns()
        begun = _GIVEN_BACK.get(mark.what)
        if begun is not None:
            self._lapsed.discard((mark.path, mark.zxid))
            held = self._held.pop((begun, mark.path, mark.zxid), None)
            return at - held.since if held else 0
        key = (mark.what, mark.path, mark.zxid)
        if mark.what in ("acquired", "led") and key not in self._held:
            self._held[key] = HeldNode(
                mark.what, run.actor_name, run.recipe, mark.path, mark.zxid,
                mark.kind == "persistent", era, mark.tally, at, [],
            )  # fmt: skip
        return at - run.began

    def valid(self, proof: Proof | None, path: str, zxid: int) -> bool:
        """Whether it surely is still held. Needs no monitor: it may be asked at any time."""
        held = self.find(path, zxid)
        if held is None or held.outlives_session:
            return held is not None
        return proof is not None and proof.holds(held.era, now())

    def find(self, path: str, zxid: int) -> HeldNode | None:
        """The hold, or else the lead, that this node gives."""
        return self._held.get(("acquired", path, zxid)) or self._held.get(("led", path, zxid))

    def has_lapsed(self, path: str, zxid: int) -> bool:
        """Whether it was lost with its proof, and is not yet released."""
        return (path, zxid) in self._lapsed

    def lapse(self, era: int) -> list[HeldNode]:
        """A proof has lapsed and another era begun: what was held till then, and is lost."""
        lost = self._take(lambda held: held.era != era)
        self._lapsed.update((held.path, held.zxid) for held in lost)
        return lost

    def forfeit(self, path: str, zxid: int) -> list[HeldNode]:
        """A lead is in doubt, or its node was taken away: it is lost, whatever becomes of the
        session."""
        lost = self._take(lambda held: (held.path, held.zxid) == (path, zxid))
        self._lapsed.update((held.path, held.zxid) for held in lost)
        return lost

    def end(self) -> list[HeldNode]:
        """The session is over: what was held in it, and is lost."""
        self._lapsed.clear()
        return self._take(lambda held: True)

    def _take(self, which: Callable[[HeldNode], bool]) -> list[HeldNode]:
        taken = [held for held in self._held.values() if not held.outlives_session and which(held)]
        for held in taken:
            del self._held[held.what, held.path, held.zxid]
        return taken
