"""What holds of writes, counters and barriers.

Where only the script can know, it says so with `Say`, a step of the simulator: that it is about to
add, that it has added; that it arrives at a barrier, that it has passed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..state import Fact
from .base import Property, View


class NothingLost(Property):
    """No write is lost: the value of the node `path` only ever grows at its end.

    So let every writer read the value and write it back with something added: a write whose value
    does not begin with the value it replaces was made by one who had not seen that, and an update
    is gone. `value` takes this log out of the node's data.
    """

    name = "nothing is lost"
    wants = frozenset({"applied"})
    memo = b""

    def __init__(self, path: str, value: Callable[[bytes], bytes] = bytes) -> None:
        self.path = path
        self._value = value

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        entry = view.tree.nodes.get(self.path)
        value = b"" if entry is None else self._value(entry.data)
        if value.startswith(memo):
            return value, None
        writer = next(fact.actor for fact in facts if fact.kind == "applied")
        who = view.name(writer) if writer >= 0 else "somebody who has left"
        return value, (
            f"{who} replaces {memo.decode()!r} in {self.path} by {value.decode()!r}, "
            f"and an update is gone"
        )


class CountsOnce(Property):
    """Every addition to the counter `path` counts once.

    Scripts say `Say("adds", n)` before they try and `Say("added", n)` when they know that it has
    worked. At every zxid the counter shows at least all that is known to have worked and at most
    all that was tried; so k additions that have all worked leave exactly their sum. (One that was
    cut short may have counted or not.) It begins at 0; `value` reads it from the node's data.
    """

    name = "counts once"
    wants = frozenset({"applied", "said"})
    memo = (0, 0)

    def __init__(
        self, path: str, value: Callable[[bytes], int] = lambda data: int(data or b"0")
    ) -> None:
        self.path = path
        self._value = value

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        tried, worked = memo
        for fact in facts:
            if fact.kind == "said":
                tried += fact.outcome if fact.what == "adds" else 0
                worked += fact.outcome if fact.what == "added" else 0
        entry = view.tree.nodes.get(self.path)
        shown = 0 if entry is None else self._value(entry.data)
        wrong = None
        if shown > tried:
            wrong = f"{self.path} shows {shown}, where only {tried} was to be added"
        elif shown < worked:
            wrong = f"{self.path} shows {shown}, where {worked} was added"
        return (tried, worked), wrong


class NobodyPassesEarly(Property):
    """Nobody passes a barrier before `count` different actors have arrived at it.

    Scripts say `Say("arrives")` before they begin to wait and `Say("passes")` when they are
    through. For a barrier that one actor opens, count is 1, and that actor says it arrives before
    it opens it. For the way out of a double barrier give other words to a second one of these.
    """

    name = "nobody passes early"
    wants = frozenset({"said"})
    memo: frozenset[int] = frozenset()

    def __init__(self, count: int, *, arrives: str = "arrives", passes: str = "passes") -> None:
        self.count = count
        self._arrives = arrives
        self._passes = passes

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        for fact in facts:
            if fact.kind == "said" and fact.what == self._arrives:
                memo = memo | {fact.actor}
            elif fact.kind == "said" and fact.what == self._passes and len(memo) < self.count:
                who = view.name(fact.actor)
                return memo, f"{who} passes when {len(memo)} of {self.count} have arrived"
        return memo, None
