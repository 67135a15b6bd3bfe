"""Carries a rule through the model: any object, as a value that can be compared.

Two states are the same if they differ only in what time it is. So all times are counted from now: a
request that was sent three units ago was sent at -3, and when a unit passes, every time in the
rule's memory is moved back by one. The rule itself notices nothing of it.
"""

from __future__ import annotations

from _thread import LockType
from collections import deque
from collections.abc import Callable
from typing import Any

from .rules import ClockRule


class RelativeTime(int):
    """A time, counted from now. A timeout added to it gives a time; a timeout alone is none."""

    __slots__ = ()

    def __add__(self, units: int) -> RelativeTime:
        return RelativeTime(int(self) + int(units))

    __radd__ = __add__


NOW = RelativeTime(0)
OVER = -1
"""The number of the rule that knows the session to be over."""
Memory = tuple[tuple[str, Any], ...]
"""What a rule remembers: its attributes by name."""


class Carried:
    """A kind of rule. What one of its objects remembers is stored once and known by a number."""

    def __init__(self, kind: type[ClockRule], timeout: int, gap: int) -> None:
        self._new: Callable[[], ClockRule] = lambda: kind(timeout, gap, NOW)
        self._oldest = RelativeTime(-timeout)  # what is older proves nothing any more
        self._memories: list[Memory] = []
        self._numbers: dict[Memory, int] = {}
        self._told: dict[tuple[Any, ...], int] = {}
        self._holds = {OVER: False}

    def born(self) -> int:
        """The rule of a session whose connect was sent now."""
        return self._number(self._new())

    def disconnected(self, number: int) -> int:
        """The rule after it has been told so."""
        return self._after(number, "disconnected")

    def reconnected(self, number: int, age: int) -> int:
        """The rule after it has been told so, of a connect sent `age` units ago."""
        return self._after(number, "reconnected", RelativeTime(-age), NOW)

    def answered(self, number: int, request: str, age: int) -> int:
        """The rule after it has been told so, of a request sent `age` units ago."""
        return self._after(number, "answered", request, RelativeTime(-age), NOW)

    def later(self, number: int) -> int:
        """The rule a unit later: all that it remembers is a unit older."""
        found = self._told.get((number,))
        if found is None:
            aged = tuple((name, self._aged(value)) for name, value in self._memories[number])
            found = self._told[number,] = self._store(aged)
        return found

    def holds(self, number: int) -> bool:
        """Whether it says that the session lives."""
        found = self._holds.get(number)
        if found is None:
            found = self._holds[number] = self._object(number).holds_at(NOW)
        return found

    def _after(self, number: int, method: str, *what: Any) -> int:
        key = (number, method, *what)
        found = self._told.get(key)
        if found is None:
            rule = self._object(number)
            tell: Callable[..., None] = getattr(rule, method)
            tell(*what)
            found = self._told[key] = self._number(rule)
        return found

    def _aged(self, value: Any) -> Any:
        if isinstance(value, RelativeTime):
            return max(self._oldest, RelativeTime(value - 1))
        return tuple(map(self._aged, value)) if isinstance(value, tuple) else value

    def _object(self, number: int) -> ClockRule:
        rule = self._new()
        for name, value in self._memories[number]:
            was = getattr(rule, name)
            setattr(rule, name, deque(value, was.maxlen) if isinstance(was, deque) else value)
        return rule

    def _number(self, rule: ClockRule) -> int:
        names = [name for kind in type(rule).__mro__ for name in getattr(kind, "__slots__", ())]
        names += getattr(rule, "__dict__", {})
        values = [(name, getattr(rule, name)) for name in names]
        return self._store(
            tuple(
                (name, tuple(value) if isinstance(value, deque) else value)
                for name, value in values
                if not isinstance(value, LockType)
            )
        )

    def _store(self, memory: Memory) -> int:
        number = self._numbers.setdefault(memory, len(self._memories))
        if number == len(self._memories):
            self._memories.append(memory)
        return number
