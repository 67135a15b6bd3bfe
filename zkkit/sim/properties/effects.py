"""What holds of writes and counters.

Where only the script can know, it says so with `Say`, a step of the simulator: that it is about to
add, that it has added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...errors import OutcomeUnknown
from ..state import Fact
from .base import Property, Value, View, read
from .goals import SomebodySays


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
    needs = SomebodySays("added")
    memo = (0, 0)

    def __init__(self, path: str, value: Value = lambda data: int(data or b"0")) -> None:
        self.path = path
        self._value = value

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        tried, worked = memo
        for fact in facts:
            if fact.kind == "said":
                tried += fact.outcome if fact.what == "adds" else 0
                worked += fact.outcome if fact.what == "added" else 0
        entry = view.tree.nodes.get(self.path)
        shown = 0 if entry is None else read(self._value, self.path, entry.data)
        wrong = None
        if shown > tried:
            wrong = f"{self.path} shows {shown}, where only {tried} was to be added"
        elif shown < worked:
            wrong = f"{self.path} shows {shown}, where {worked} was added"
        return (tried, worked), wrong


class DoubtsWithReason(Property):
    """Nobody says that the outcome of a write is unknown (OutcomeUnknown) whose session lives on:
    after a lost reply one can find out."""

    name = "nobody doubts without reason"
    wants = frozenset({"expired", "ended"})
    memo = frozenset[int]()

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        wrong = None
        for fact in facts:
            if fact.kind == "expired":
                memo |= {fact.actor}
            elif isinstance(fact.what, OutcomeUnknown) and fact.actor not in memo:
                wrong = f"{view.name(fact.actor)} does not know what it did, and could find out"
        return memo, wrong
