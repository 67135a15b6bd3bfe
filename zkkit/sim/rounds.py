"""Whether somebody goes round and round for ever.

A script that polls is right as long as something can still happen that lets it end. It is wrong
where nothing can: from there on the same states come again and again, whatever comes next, and none
of them is quiet. That is what is looked for here, and nothing less: never a recipe that only takes
its time. Nor one that goes on for ever and gets something done: where somebody is granted something
again, or says something, a way leads on.

Every round must come back to a state that was known, at a depth no greater than where it came from.
So only such states are looked at, and usually the first way tried leads out of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from . import state as at
from .machine import Machine
from .places import script_at
from .state import Event, Fact, State

Then: TypeAlias = Callable[[State, Event], tuple[State, State, Sequence[Fact]]]
"""What there is after an event: the state, the one that stands for it among those that are alike,
the facts."""


class Trap(NamedTuple):
    """A round that no way leads out of: who goes round, and where, in words; and whether each of
    them waits for its clock every time."""

    who: str
    polls: bool


class Rounds:
    """Looks for states that no way leads out of."""

    def __init__(self, machine: Machine, then: Then) -> None:
        self._machine = machine
        self._then = then
        self._fine: set[State] = set()

    def trapped(self, state: State) -> Trap | None:
        """Who goes round for ever from here; None if all can come to an end."""
        if state in self._fine:
            return None
        seen = {state}
        way = [(state, iter(self._machine.moves(state)))]
        while way:
            here, moves = way[-1]
            if here in self._fine:
                break
            # One way at a time: the first one tried usually leads out.
            move = next(moves, None)
            if move is None:
                if not self._machine.moves(here):
                    break
                way.pop()
                continue
            _, after, facts = self._then(here, move)
            if any(fact.kind in ("acquired", "said") for fact in facts):
                break
            if after not in seen:
                seen.add(after)
                way.append((after, iter(self._machine.moves(after))))
        if not way:
            return self._tell(self._innermost(state))
        self._fine.update(each for each, _ in way)
        return None

    def _reach(self, state: State) -> set[State]:
        found = {state}
        ahead = [state]
        while ahead:
            here = ahead.pop()
            new = {self._then(here, move)[1] for move in self._machine.moves(here)} - found
            found |= new
            ahead += new
        return found

    def _innermost(self, state: State) -> set[State]:
        """The states that come again and again: from each of them all the others."""
        while True:
            round_ = self._reach(state)
            deeper = next((each for each in round_ if state not in self._reach(each)), None)
            if deeper is None:
                return round_
            state = deeper

    def _tell(self, round_: set[State]) -> Trap:
        machine = self._machine
        places: dict[int, set[str]] = {}
        patient: set[int] = set()
        for state in round_:
            for kind, who, *_ in machine.moves(state):
                a = state[at.SESSIONS][who][at.QUEUE][0][0] if kind == "apply" else who
                if kind in ("apply", "begin", "work", "pause over") and a >= 0:
                    place = state[at.ACTORS][a][at.FRAMES][-1][at.MOMENT].place
                    places.setdefault(a, set()).add(script_at(place.text))
                if kind == "pause over":
                    patient.add(a)
        told = " and ".join(
            f"{machine.roster.names[a]} goes round for ever in {', '.join(sorted(where))}"
            for a, where in sorted(places.items())
        )
        return Trap(told, patient.issuperset(places))
