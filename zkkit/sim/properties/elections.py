"""What holds of elections, besides what holds of locks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..state import Fact
from .base import Property, View
from .goals import SomebodyIsGranted, SomebodySays


class LeadsAsItBelieves(Property):
    """Whoever acts as a leader, and says so by `Say("believes")`, was told that it leads and has
    not been told that this is over: by its own release, by the loss of its session, by its clock;
    nor has it deleted its node. (That the servers have ended its session a moment ago it cannot
    know.) Somebody else in its session may have been told, so that a leader's work can be a script
    of its own."""

    name = "leaders believe what they were told"
    wants = frozenset({"said", "acquired", "released", "lapsed", "expired", "deleted"})
    needs = SomebodyIsGranted("somebody leads")
    # who was told, by session, of which node, and whether it has deleted that
    memo: frozenset[tuple[int, str, bool]] = frozenset()

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        told = {(home, path): gone for home, path, gone in memo}
        wrong = None
        for fact in facts:
            if fact.kind not in self.wants or fact.actor < 0:
                continue
            home = view.home(fact.actor)
            if fact.kind == "acquired":
                told[home, fact.what] = False
            elif fact.kind in ("released", "lapsed"):
                told.pop((home, fact.what), None)
            elif fact.kind == "expired":
                told = {each: gone for each, gone in told.items() if each[0] != home}
            elif fact.kind == "deleted" and (home, fact.what) in told:
                told[home, fact.what] = True
            elif fact.what == "believes":
                leads = {path: gone for (ses, path), gone in told.items() if ses == home}
                who = view.name(fact.actor)
                if not leads:
                    wrong = wrong or f"{who} believes that it leads, and it does not"
                elif all(leads.values()):
                    wrong = wrong or f"{who} has given up {min(leads)} and believes that it leads"
        return frozenset((*each, gone) for each, gone in told.items()), wrong


class ServesOnce(Property):
    """What a leader does is not done twice at once by one candidate, also not after it lost its
    session: `Say("serves", who)` when it begins, `Say("served", who)`, or the end of its script,
    when it is over. `everywhere`: nor by two candidates, which holds as long as no session ends
    under a leader."""

    name = "nobody serves twice at once"
    wants = frozenset({"said", "ended"})
    needs = SomebodySays("serves")
    memo: frozenset[tuple[int, int]] = frozenset()  # who serves, by which actor

    def __init__(self, *, everywhere: bool = False) -> None:
        self._everywhere = everywhere

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        serving = set(memo)
        wrong = None
        for fact in facts:
            if fact.kind == "ended" or (fact.kind == "said" and fact.what == "served"):
                serving = {each for each in serving if each[1] != fact.actor}
            elif fact.kind == "said" and fact.what == "serves":
                others = [a for who, a in serving if self._everywhere or who == fact.outcome]
                if others:
                    name = view.name(fact.actor)
                    wrong = wrong or f"{name} serves while {view.name(others[0])} still does"
                serving.add((fact.outcome, fact.actor))
        return frozenset(serving), wrong
