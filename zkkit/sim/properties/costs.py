"""What holds of what it costs, and of who is served before whom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import state as at
from ..state import Fact
from .base import Property, View
from .goals import SomebodyIsGranted


class CostsAtMost(Property):
    """No acquisition costs more than this: so many requests of its actor, wakeups by a fire, and
    polls (waits that only a clock ends). What an actor does before it is granted counts, from its
    beginning or its last grant on. Ask for it without faults, or leave room for them: each costs
    some requests."""

    name = "costs"
    wants = frozenset({"applied", "woke", "polled", "acquired", "ended"})
    needs = SomebodyIsGranted()
    memo: Any = ()

    def __init__(
        self, *, requests: int | None = None, fires: int | None = None, polls: int | None = None
    ) -> None:
        limits = (
            ("applied", "requests", requests), ("woke", "fires", fires), ("polled", "polls", polls),
        )  # fmt: skip
        self._limits = [(kind, word, most) for kind, word, most in limits if most is not None]
        if not self._limits:
            raise ValueError("CostsAtMost() limits nothing: say requests=, fires= or polls=")
        self.wants = frozenset({"acquired", "ended", *(kind for kind, _, _ in self._limits)})
        told = ", ".join(f"{most} {word}" for _, word, most in self._limits)
        self.name = f"costs at most {told}"

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        spent = {actor: list(costs) for actor, *costs in memo}
        for fact in facts:
            if fact.kind in ("acquired", "ended"):
                spent.pop(fact.actor, None)
                continue
            for place, (kind, word, most) in enumerate(self._limits):
                if fact.kind != kind or fact.actor < 0:
                    continue
                costs = spent.setdefault(fact.actor, [0] * len(self._limits))
                costs[place] += 1
                if costs[place] > most:
                    who = view.name(fact.actor)
                    return memo, f"{who} needs more than {most} {word} for one acquisition"
        return tuple((actor, *spent[actor]) for actor in sorted(spent)), None


class NobodyIsOvertaken(Property):
    """Nobody is granted more than `times` times while another one waits. Its waiting begins when it
    first waits, and ends with its grant. (Once is no sign of anything: whoever is granted may have
    come first.)"""

    wants = frozenset({"applied", "acquired", "ended"})
    needs = SomebodyIsGranted()
    memo: Any = ()

    def __init__(self, times: int = 1) -> None:
        if times < 1:
            raise ValueError("somebody is always served first: times must be at least 1")
        self.times = times
        often = "once" if times == 1 else f"{times} times"
        self.name = f"nobody is served more than {often} while another waits"

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        served = {waiter: dict(others) for waiter, others in memo}
        wrong = None
        for fact in facts:
            if fact.kind in ("acquired", "ended"):
                served.pop(fact.actor, None)
            if fact.kind != "acquired":
                continue
            for waiter, others in sorted(served.items()):
                others[fact.actor] = others.get(fact.actor, 0) + 1
                if others[fact.actor] > self.times and wrong is None:
                    who, waits = view.name(fact.actor), view.name(waiter)
                    wrong = f"{who} is served {others[fact.actor]} times while {waits} waits"
        holders = {grant.actor for grant in view.grants}
        for number, actor in enumerate(view.actors):
            if not actor[at.FRAMES]:
                served.pop(number, None)
            elif actor[at.DOES] in ("wait", "pause") and number not in holders:
                served.setdefault(number, {})
        waiters = sorted(served.items())
        return tuple((waiter, tuple(sorted(others.items()))) for waiter, others in waiters), wrong
