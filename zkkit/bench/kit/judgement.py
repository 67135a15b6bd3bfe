"""What an experiment found, in the one form that all of them use.

verdict    results.json   exit code
holds      true           0
broken     false          1
unknown    "unknown"      2
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Self

VerdictWord = Literal["holds", "broken", "unknown"]

HOLDS, BROKEN, UNKNOWN, INTERRUPTED = 0, 1, 2, 130
"""The exit codes."""

_WORDS: tuple[VerdictWord, ...] = ("holds", "broken", "unknown")
_IN_JSON = (True, False, "unknown")
_COLOURS = ("green", "red", "yellow")


class Judgement(NamedTuple):
    """A verdict and the sentence that goes with it."""

    verdict: VerdictWord
    why: str

    @property
    def exit_code(self) -> int:
        """What the command ends with."""
        return _WORDS.index(self.verdict)

    @property
    def colour(self) -> str:
        """How a terminal shows it."""
        return _COLOURS[self.exit_code]

    def as_data(self) -> dict[str, Any]:
        """The judgement as two lines of results.json."""
        return {"verdict": _IN_JSON[self.exit_code], "why": self.why}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Make a judgement of the two lines of results.json."""
        return cls(_WORDS[_IN_JSON.index(data["verdict"])], data["why"])


def first_of(reasons: Sequence[str], most: int = 1) -> str:
    """The first reasons as part of a sentence, and how many more there are."""
    more = len(reasons) - most
    return "; ".join(reasons[:most]) + (f"; and {more} more" if more > 0 else "")
