"""What holds in the long run, if everybody who can move does move some day."""

from __future__ import annotations

from collections.abc import Sequence

from ..state import Fact
from .base import Property
from .goals import SomebodyIsGranted, SomebodySays


class NobodyStarves(Property):
    """Nobody asks for ever and is never served, while all who can move do move again and again.

    It is asked about lives that go on for ever, such as `use(lock, times=None)`, and it is asked at
    the end, when all states are known: is there a round that can be gone for ever, in which
    somebody lives, holds nothing and is never granted anything? In such a round nobody may stand
    still who could move all the time: a request that is under way is answered, work ends, a pause
    is over. So being slow is no excuse, and being unlucky is none either.

    `whom`: the names of those who must be served; all but the spawned ones, if none is named.
    `word`: they are served when they say this word, instead of when they are granted something.
    """

    name = "nobody starves"

    def __init__(self, *whom: str, word: str = "") -> None:
        self.whom = whom
        self.word = word
        self.needs = SomebodySays(word) if word else SomebodyIsGranted()

    def serves(self, fact: Fact) -> bool:
        """Whether an actor is served with this fact."""
        if self.word:
            return fact.kind == "said" and bool(fact.what == self.word)
        return fact.kind == "acquired"

    def starves(self, who: str, others: Sequence[str], events: int, *, waits: bool) -> str:
        """What is wrong, in words, with a round of so many events."""
        asks = "waits for ever" if waits else "asks again and again"
        never = f"never says {self.word}" if self.word else "is never granted anything"
        do = ("does" if self.word else "is") if len(others) < 2 else "do" if self.word else "are"
        beside = (
            f"while {' and '.join(others)} {do}" if others else f"and neither {do} anybody else"
        )
        return f"{who} {asks} and {never}, {beside}: the last {events} events can go on for ever"
