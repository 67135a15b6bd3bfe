"""Steps that exist only in the simulator."""

from __future__ import annotations

from dataclasses import dataclass

from ..steps import Step


@dataclass(frozen=True, slots=True)
class Work(Step[None]):
    """What an actor does while it holds something: it takes as long as it likes. Only in the
    simulator: the others get time to move."""


@dataclass(frozen=True, slots=True)
class Say(Step[None]):
    """Something that a property should know and only the script can tell, such as `Say("arrives")`
    or `Say("added", 1)`. Where no amount is said it counts as 0; one that is no number is a
    TypeError. Only in the simulator."""

    what: str
    amount: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.amount, int | None):
            raise TypeError(f"Say({self.what!r}): the amount is no number: {self.amount!r}")
