"""Goals: what must be reachable, so that nothing holds only because nothing happens.

A goal is met by one event somewhere in an exploration. If all is explored and a goal was never met,
the verdict is called vacuous: nothing is wrong, and nothing was done. Families have goals; and a
property that is about something which somebody must do `needs` one, which is then asked for, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..state import Fact
from .base import ANY, Property, View, written


class Goal(Property):
    """Base of all goals. It is asked along with the properties, about events with facts that it
    `wants`, until it is met. It remembers nothing from event to event, so it costs no states."""

    name = "goal"
    wants: frozenset[str] = ANY

    def met(self, facts: Sequence[Fact], view: View) -> bool:
        """Whether it is reached now, after an event with these facts."""
        raise NotImplementedError

    def fresh(self) -> Goal:
        """One to begin an exploration with: itself, unless it counts something."""
        return self


class SomebodyIsGranted(Goal):
    """Somebody is told that it holds (or leads), and is right: its node is there."""

    wants = frozenset({"acquired"})

    def __init__(self, name: str = "somebody is granted") -> None:
        self.name = name

    def met(self, facts: Sequence[Fact], view: View) -> bool:
        return bool(view.real_grants())


class SomebodyReads(Goal):
    """Somebody is told that it holds who does not want to write."""

    name = "somebody reads"
    wants = frozenset({"acquired"})

    def __init__(self, writes: Callable[[str], bool]) -> None:
        self._writes = writes

    def met(self, facts: Sequence[Fact], view: View) -> bool:
        return any(not self._writes(grant.path) for grant in view.real_grants())


class _Everybody(Goal):
    """Each actor does it, in one run or another. Those who are spawned do not count."""

    def __init__(self) -> None:
        self._done: set[int] = set()

    def does(self, fact: Fact) -> bool:
        """Whether this fact is what its actor must do."""
        raise NotImplementedError

    def met(self, facts: Sequence[Fact], view: View) -> bool:
        self._done.update(fact.actor for fact in facts if self.does(fact))
        return self._done.issuperset(view.everybody)


class EverybodyIsGranted(_Everybody):
    """Each actor is granted, in one run or another."""

    name = "everybody is granted"
    wants = frozenset({"acquired"})

    def does(self, fact: Fact) -> bool:
        return fact.kind == "acquired"

    def fresh(self) -> Goal:
        return EverybodyIsGranted()


class TogetherHold(Goal):
    """So many hold at one time, as two readers do: or all, where there are fewer actors. With
    `grants` an actor that has several counts as often."""

    wants = frozenset({"acquired"})

    def __init__(self, count: int, *, grants: bool = False) -> None:
        self.count = count
        self._grants = grants
        self.name = f"{count} hold together"

    def met(self, facts: Sequence[Fact], view: View) -> bool:
        held: Sequence[Any] = view.real_grants()
        if not self._grants:
            held = [*{grant.actor for grant in held}]
        return len(held) >= min(self.count, len(view.everybody))


class SomebodySays(Goal):
    """Somebody says this word, by `Say` or by `Mark`."""

    wants = frozenset({"said"})

    def __init__(self, word: str) -> None:
        self.word = word
        self.name = f"somebody says {word!r}"

    def met(self, facts: Sequence[Fact], view: View) -> bool:
        return any(fact.kind == "said" and fact.what == self.word for fact in facts)


class EverybodySays(_Everybody):
    """Each actor says this word, in one run or another."""

    wants = frozenset({"said"})

    def __init__(self, word: str) -> None:
        super().__init__()
        self.word = word
        self.name = f"everybody says {word!r}"

    def does(self, fact: Fact) -> bool:
        return fact.kind == "said" and fact.what == self.word

    def fresh(self) -> Goal:
        return EverybodySays(self.word)


class Drained(Goal):
    """This directory, in which something was created, is empty."""

    wants = frozenset({"applied"})

    def __init__(self, path: str) -> None:
        self.path = path
        self.name = f"{path} is drained"

    def met(self, facts: Sequence[Fact], view: View) -> bool:
        entry = view.tree.nodes.get(self.path)
        return entry is not None and not entry.children and entry.pzxid > entry.czxid


class SomebodyWrites(Goal):
    """Somebody writes this node: creates, sets or deletes it."""

    wants = frozenset({"applied"})

    def __init__(self, path: str) -> None:
        self.path = path
        self.name = f"{path} changes"

    def met(self, facts: Sequence[Fact], view: View) -> bool:
        return any(self.path in written(fact) for fact in facts if fact.kind == "applied")


class Reached(Goal):
    """A goal of one's own: a state in which `check(view)` is true. Asked after every event that has
    facts of these kinds, by default of any."""

    def __init__(self, name: str, check: Callable[[View], bool], *wants: str) -> None:
        self.name = name
        self._check = check
        self.wants = frozenset(wants) or ANY

    def met(self, facts: Sequence[Fact], view: View) -> bool:
        return bool(self._check(view))


def needed(asked: Sequence[Property]) -> list[Goal]:
    """The goals that these properties need and that are not asked for."""
    known = {_meaning(each) for each in asked if isinstance(each, Goal)}
    missing = {
        _meaning(each.needs): each.needs for each in reversed(asked) if each.needs is not None
    }
    return [goal for meaning, goal in reversed(missing.items()) if meaning not in known]


def _meaning(goal: Goal) -> tuple[type[Goal], str]:
    """What is to be reached, whatever it is called."""
    return type(goal), getattr(goal, "word", "")
