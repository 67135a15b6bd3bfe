"""What holds of waiting, of waking, and of what is left in the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import Cancelled
from ...steps import FireKind
from ..state import DOES, USERS, WATCHES, Fact
from .base import Property, View


class NoLostWakeup(Property):
    """Nobody waits while nothing can come; nor asks again and again while nothing can change."""

    name = "no lost wakeup"

    def quiet(self, memo: Any, view: View) -> str | None:
        for number, actor in enumerate(view.actors):
            if actor[DOES] == "wait":
                return f"{view.name(number)} waits for ever"
        return None

    def for_ever(self, memo: Any, who: str) -> str | None:
        return f"{who}: nothing can happen any more that would end it"


class NoSleeper(Property):
    """When nothing is under way nobody waits while fewer than `count` hold."""

    name = "nobody sleeps beside a free lease"

    def __init__(self, count: int) -> None:
        self.count = count

    def calm(self, memo: Any, view: View) -> str | None:
        waiting = [n for n, actor in enumerate(view.actors) if actor[DOES] == "wait"]
        held = len(view.real_grants())
        if waiting and held < self.count:
            return f"{view.name(waiting[0])} waits while {held} of {self.count} are taken"
        return None


class OneWokenPerRelease(Property):
    """A single event wakes at most one waiter about a deleted node."""

    name = "at most one woken per release"
    wants = frozenset({"woke"})

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        woken = [
            fact.actor
            for fact in facts
            if fact.kind == "woke" and fact.what.kind in (FireKind.DELETED, FireKind.CHILD)
        ]
        if len(woken) > 1 and any(fact.kind == "deleted" for fact in facts):
            return memo, f"one release woke {', '.join(map(view.name, woken))}"
        return memo, None


class NothingLeft(Property):
    """When all is over no ephemeral node and no watch is left, and whoever is granted something has
    no watch left from its waiting (unless it is a design that watches more than one node's going:
    then that watch goes with the acquire)."""

    name = "nothing left behind"

    def __init__(self, *, while_holding: bool = True) -> None:
        self.wants = frozenset({"acquired"}) if while_holding else frozenset()

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        for fact in facts:
            if fact.kind != "acquired":
                continue
            users = view.sessions[view.home(fact.actor)][USERS]
            left = sorted(path for _, path, _, actor in users if actor == fact.actor)
            if left:
                return memo, f"{view.name(fact.actor)} holds and still watches {', '.join(left)}"
        return memo, None

    def quiet(self, memo: Any, view: View) -> str | None:
        if any(actor[DOES] != "ended" for actor in view.actors):
            return None  # somebody waits for ever: that is another property's business
        left = sorted(path for path, entry in view.tree.nodes.items() if entry.owner)
        if left:
            return f"all have ended and {', '.join(left)} is left behind"
        for number, session in enumerate(view.sessions):
            if session[WATCHES]:
                paths = ", ".join(sorted(path for _, path, _ in session[WATCHES]))
                return f"all have ended and {view.session_name(number)} still watches {paths}"
        return None


class EndsWell(Property):
    """No actor ends with an error, except one that a fault explains."""

    name = "nobody fails"
    wants = frozenset({"ended"})

    def __init__(self, *allowed: type[BaseException]) -> None:
        self.allowed: tuple[type[BaseException], ...] = (Cancelled, *allowed)

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        for fact in facts:
            if fact.kind != "ended" or fact.what is None:
                continue
            if not isinstance(fact.what, self.allowed):
                return memo, f"{view.name(fact.actor)} fails with {fact.what!r}"
        return memo, None
