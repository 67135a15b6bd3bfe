"""What holds of barriers, with one way or two.

Scripts say where they are: `Say("arrives")` before they begin to wait and `Say("passes")` when they
are through; on the way out of a double barrier `Say("leaves")` and `Say("left")`. For a barrier
that one actor opens the count is 1, and that actor says it arrives before it opens it. Whoever uses
a double barrier a second time says so in words of its own, for example `Say("arrives again")`:
each property is about one round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...kernel import RUNS
from .. import state as at
from ..state import Fact
from .base import Property, View
from .goals import SomebodySays
from .waiting import how_it_waits, waiting


class NobodyPassesEarly(Property):
    """Nobody passes a barrier before `count` different actors have arrived at it. (With words of
    one's own for another kind of barrier.)"""

    name = "nobody passes early"
    wants = frozenset({"said"})
    memo: frozenset[int] = frozenset()

    def __init__(
        self, count: int, *, arrives: str = "arrives", passes: str = "passes", which: str = ""
    ) -> None:
        self.count = count
        self.name = self.name + which
        self._arrives = arrives + which
        self._passes = passes + which
        self.needs = SomebodySays(self._passes)

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        for fact in facts:
            if fact.kind == "said" and fact.what == self._arrives:
                memo = memo | {fact.actor}
            elif fact.kind == "said" and fact.what == self._passes and len(memo) < self.count:
                who = view.name(fact.actor)
                have = "has" if len(memo) == 1 else "have"
                return memo, f"{who} passes when {len(memo)} of {self.count} {have} arrived"
        return memo, None


ARRIVED, PASSED, LEAVING, OUT = range(4)
_STAGES = {"arrives": ARRIVED, "passes": PASSED, "leaves": LEAVING, "left": OUT}
_ENDED_WELL = 0


class Guest(NamedTuple):
    """Somebody at a barrier: how far it is; the session in which it came there, none once its
    script has ended well; and whether its connection has broken since."""

    actor: int
    stage: int
    session: int
    struck: bool = False


class OfGuests(Property):
    """A property of those who are at a barrier. Whoever ends with an error, or gives up before it
    passes, is there no more. `which`: what follows the words, and the name, in this round."""

    wants = frozenset({"said", "ended", "lost"})
    memo: tuple[Guest, ...] = ()
    comes_to = "passes"  # without which it holds of nobody

    def __init__(self, count: int, *, which: str = "") -> None:
        self.count = count
        self.needs = SomebodySays(self.comes_to + which)
        self.name = self.name + which
        self._stages = {word + which: stage for word, stage in _STAGES.items()}

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        guests = {guest.actor: guest for guest in memo}
        wrong = None
        for fact in facts:
            a = fact.actor
            if fact.kind == "said" and fact.what in self._stages:
                session = view.sessions[view.home(a)][at.ID]
                guests[a] = Guest(a, self._stages[fact.what], session)
                wrong = wrong or self.told(guests[a], guests, view)
            elif fact.kind == "lost" and a in guests:
                guests[a] = guests[a]._replace(struck=True)
            elif fact.kind == "ended" and a in guests:
                stays = guests[a].stage > ARRIVED or self.count == 1
                if fact.what is None and stays:
                    guests[a] = guests[a]._replace(session=_ENDED_WELL, struck=False)
                else:
                    del guests[a]
        return tuple(sorted(guests.values())), wrong

    def told(self, guest: Guest, guests: dict[int, Guest], view: View) -> str | None:
        """Somebody has just said how far it is: what is wrong with that."""
        return None


def _is_well(guest: Guest, view: View) -> bool:
    """Whether nothing has happened to it: it has ended well, or goes on in the same session."""
    if guest.session == _ENDED_WELL:
        return True
    actor, session = view.actors[guest.actor], view.sessions[view.home(guest.actor)]
    if not actor[at.FRAMES] or actor[at.CANCELS]:
        return False
    # Whoever asks for something after its connection broke may be on its way out.
    unwinds = guest.struck or any(frame[at.FATE] != RUNS for frame in actor[at.FRAMES])
    if unwinds and actor[at.DOES] == "fly":
        return False
    return bool(session[at.LIFE] == "up" and session[at.ID] == guest.session)


class NobodyIsLeftOutside(OfGuests):
    """Nobody waits to pass when enough have arrived to whom nothing has happened since. So whoever
    waits for one that was cancelled, has crashed or has lost its session is right to wait."""

    name = "nobody is left outside"

    def idle(self, memo: Any, view: View) -> str | None:
        stage = {guest.actor: guest.stage for guest in memo}
        those = waiting(view)
        outside = [
            a for a in those if stage.get(a, ARRIVED if self.count == 1 else PASSED) < PASSED
        ]
        if not outside:
            return None
        if self.count == 1:
            opened = [g for g in memo if g.stage == ARRIVED and g.session == _ENDED_WELL]
            if opened:
                who = view.name(opened[0].actor)
                return f"{how_it_waits(view, outside[0])} though {who} has opened the barrier"
            return None
        there = [g for g in memo if _is_well(g, view) and (g.stage > ARRIVED or g.actor in those)]
        if len(there) < self.count:
            return None
        return f"{how_it_waits(view, outside[0])} though all {self.count} have arrived"


class NobodyLeavesEarly(OfGuests):
    """Nobody is out of a double barrier before all who are in it have begun to leave. Whoever was
    cancelled, has crashed or has lost its session is not waited for. Whoever has come counts as in
    it, if as many come as are counted; with `more` only who has passed."""

    name = "nobody leaves early"
    comes_to = "left"

    def __init__(self, count: int, *, which: str = "", more: bool = False) -> None:
        super().__init__(count, which=which)
        self._more = more

    def told(self, guest: Guest, guests: dict[int, Guest], view: View) -> str | None:
        if guest.stage != OUT:
            return None
        first = PASSED if self._more else ARRIVED
        inside = [g for g in guests.values() if first <= g.stage < LEAVING and _is_well(g, view)]
        leaving = sum(g.stage >= LEAVING for g in guests.values())
        # More may come than are counted: they wait for the next time.
        if not inside or (leaving >= self.count and not self._more):
            return None
        who, other = view.name(guest.actor), view.name(inside[0].actor)
        return f"{who} is out while {other} has not begun to leave"


class NobodyIsKeptIn(OfGuests):
    """Nobody waits to leave a double barrier when all others have begun to leave, or something has
    happened to them."""

    name = "nobody is kept in"
    comes_to = "left"

    def idle(self, memo: Any, view: View) -> str | None:
        leaving = [guest.actor for guest in memo if guest.stage == LEAVING]
        kept = [a for a in waiting(view) if a in leaving]
        if not kept or any(g.stage < LEAVING and _is_well(g, view) for g in memo):
            return None
        return f"{how_it_waits(view, kept[0])} though all others have begun to leave"
