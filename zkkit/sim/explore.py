"""Try everything that can happen, up to stated bounds.

Breadth first: the first story found is a shortest one. The verdict is True (nothing wrong in all
states within the bounds that it names), False (with a story) or None: unknown, since the budget of
states or seconds was used up, or since random walks never try everything.
"""

from __future__ import annotations

import gc
import random
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from .faults import CANCEL, Faults
from .machine import Machine
from .properties import Property, View, of_a_lock
from .rounds import Rounds
from .standing import short
from .state import Draft, Event, State
from .story import Story
from .watchdog import guarded
from .world import World


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an exploration found. `holds` is None where it cannot be known."""

    holds: bool | None
    states: int
    events: int
    seconds: float
    bounds: str
    story: Story | None = None

    def __str__(self) -> str:
        what = {True: "holds", False: "broken", None: "unknown"}[self.holds]
        text = f"{what}: {self.states:,} states in {self.seconds:.2f} s ({self.bounds})"
        return text if self.story is None else f"{text}\n{self.story}"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an exploration has come."""

    states: int
    waiting: int
    seconds: float
    over: bool = False


def explore(
    world: World,
    *,
    faults: Faults = CANCEL,
    properties: Sequence[Property] | None = None,
    states: int = 1_000_000,
    seconds: float = 600.0,
    preemptions: int | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> Verdict:
    """Try all interleavings of the world's actors, with these faults.

    With `preemptions` only those in which a session that could go on is left for another one at
    most so often; faults are not counted as leaving.
    """
    search = _Search(world, faults, of_a_lock() if properties is None else properties)
    with search.running():
        return search.breadth_first(states, seconds, preemptions, progress)


def walk(
    world: World,
    *,
    seed: int,
    walks: int = 1000,
    faults: Faults = CANCEL,
    properties: Sequence[Property] | None = None,
    steps: int = 1000,
    seconds: float = 600.0,
) -> Verdict:
    """Where all is too much: random walks. They can find a story, never prove there is none."""
    search = _Search(world, faults, of_a_lock() if properties is None else properties)
    with search.running():
        return search.random_walks(random.Random(seed), seed, walks, steps, seconds)


def retrace(world: World, events: Sequence[Event], properties: Sequence[Property]) -> str | None:
    """Let these events happen; gives what is wrong then, or None."""
    search = _Search(world, Faults(len(events)), properties)
    machine = search.machine
    with search.running():
        Story.of(machine, events, "", "")  # raises if they do not fit
        state, wrong = search.start()
        for event in events:
            state, wrong = search.judge(machine.after(state, event), state[5])
        wrong = wrong or search.at_rest(state, machine.moves(state)) or search.for_ever(state)
        return None if wrong is None else short(machine.names, wrong)


class _Search:
    def __init__(self, world: World, faults: Faults, properties: Sequence[Property]) -> None:
        if not world.actors:
            raise ValueError("there is nobody in this world: add actors with world.actor(...)")
        self.machine = world.machine(faults)
        self.properties = tuple(properties)
        self._asked: dict[frozenset[str], list[tuple[int, Property]]] = {}
        self._against_rounds = [
            (index, each)
            for index, each in enumerate(self.properties)
            if type(each).for_ever is not Property.for_ever
        ]
        self._rounds = Rounds(
            self.machine,
            lambda state, event: self.judge(self.machine.after(state, event), state[5])[0],
        )
        self.bounds = f"{len(world.actors)} actors, {faults}"

    @contextmanager
    def running(self) -> Iterator[None]:
        """Explore inside this block. The garbage collector rests: it would look again and again at
        hundreds of thousands of states of which none is garbage."""
        collecting = gc.isenabled()
        gc.disable()
        try:
            with guarded(self.machine.pulse):
                yield
                self.machine.check_purity()
        finally:
            self.machine.close()
            if collecting:
                gc.enable()

    def start(self) -> tuple[State, str | None]:
        draft = self.machine.begin()
        return self.judge(draft, tuple(each.memo for each in self.properties))

    def judge(self, draft: Draft, memos: tuple[Any, ...]) -> tuple[State, str | None]:
        """Close a draft: ask the properties that want to know."""
        wrong: str | None = None
        if not draft.facts:
            return draft.done(memos), None
        kinds = frozenset([fact[0] for fact in draft.facts])
        asked = self._asked.get(kinds)
        if asked is None:
            asked = self._asked[kinds] = [
                (index, each)
                for index, each in enumerate(self.properties)
                if not each.wants.isdisjoint(kinds)
            ]
        if asked:
            view = View(self.machine, draft)
            remembered = list(memos)
            for index, each in asked:
                remembered[index], found = each.after(memos[index], draft.facts, view)
                if found and wrong is None:
                    wrong = f"{each.name}: {found}"
            memos = tuple(remembered)
        return draft.done(memos), wrong

    def at_rest(self, state: State, moves: Sequence[Event]) -> str | None:
        """Ask about a state in which nothing is under way."""
        if any(move[0] not in _AT_LEISURE for move in moves):
            return None
        view = View(self.machine, state)
        for index, each in enumerate(self.properties):
            found = each.calm(state[5][index], view)
            if not moves:
                found = found or each.quiet(state[5][index], view)
            if found:
                return f"{each.name}: {found}"
        return None

    def breadth_first(
        self,
        most: int,
        seconds: float,
        preemptions: int | None,
        progress: Callable[[Progress], object] | None,
    ) -> Verdict:
        began = time.perf_counter()
        machine = self.machine
        bounds = self.bounds
        rounds_matter = preemptions is None and bool(self._against_rounds)
        suspects: dict[State, tuple[State, Event]] = {}
        if preemptions is not None:
            bounds += f", at most {preemptions} preemptions"
        first, wrong = self.start()
        # Under a bound on preemptions, who moved last and how often it was left are part of it.
        start: Any = first if preemptions is None else (first, -1, 0)
        came: dict[Any, tuple[Any, Event, int] | None] = {start: None}
        queue: deque[tuple[Any, int]] = deque([(start, 0)])
        events = 0

        def tell(over: bool) -> None:
            if progress is not None:
                progress(Progress(len(came), len(queue), time.perf_counter() - began, over))

        def verdict(
            holds: bool | None, found: str | None = None, key: Any = None, *last: Event
        ) -> Verdict:
            story = None
            if found is not None:
                story = Story.of(machine, [*_way(came, key), *last], found, bounds)
            spent = time.perf_counter() - began
            tell(over=True)
            return Verdict(holds, len(came), events, spent, bounds, story)

        if wrong:
            return verdict(False, wrong, start)
        told = began
        while queue:
            if not events % 64 and (len(came) > most or time.perf_counter() - began > seconds):
                bounds += f", given up after {len(came):,} states"
                return verdict(None)
            if progress is not None and time.perf_counter() - told > 0.1:
                tell(over=False)
                told = time.perf_counter()
            key, depth = queue.popleft()
            state = key if preemptions is None else key[0]
            moves = machine.moves(state)
            wrong = self.at_rest(state, moves)
            if wrong:
                return verdict(False, wrong, key)
            own = len(moves)
            moves += machine.misfortunes(state)
            for place, event in enumerate(moves):
                events += 1
                state_after, wrong = self.judge(machine.after(state, event), state[5])
                after: Any = state_after
                if preemptions is not None:
                    mover, left = _preempted(machine, key, event, moves)
                    if left > preemptions:
                        continue
                    after = (state_after, mover, left)
                if wrong:
                    # Before asking whether the state is known: the way here may be what is wrong.
                    return verdict(False, wrong, key, event)
                new = (key, event, depth + 1)
                known = came.setdefault(after, new)  # hashed once: that is what takes the time
                if known is new:
                    queue.append((after, depth + 1))
                elif rounds_matter and place < own and (known is None or known[2] <= depth):
                    suspects.setdefault(after, (key, event))
        for state, (key, event) in suspects.items():
            wrong = self.for_ever(state)
            if wrong:
                return verdict(False, wrong, key, event)
        return verdict(True)

    def for_ever(self, state: State) -> str | None:
        """Ask about a state from which no way leads to a quiet one."""
        who = self._rounds.trapped(state) if self._against_rounds else None
        for index, each in self._against_rounds if who else ():
            found = each.for_ever(state[5][index], who or "")
            if found:
                return f"{each.name}: {found}"
        return None

    def random_walks(
        self, chance: random.Random, seed: int, walks: int, steps: int, seconds: float
    ) -> Verdict:
        began = time.perf_counter()
        machine = self.machine
        bounds = f"{self.bounds}, {walks} random walks of at most {steps} events, seed {seed}"
        seen: set[int] = set()
        events = 0
        for _ in range(walks):
            state, wrong = self.start()
            way: list[Event] = []
            while len(way) < steps:
                seen.add(hash(state))
                moves = machine.moves(state)
                wrong = wrong or self.at_rest(state, moves)
                if wrong:
                    story = Story.of(machine, way, wrong, bounds)
                    spent = time.perf_counter() - began
                    return Verdict(False, len(seen), events, spent, bounds, story)
                faults = machine.misfortunes(state)
                if not moves and not faults:
                    break
                # Faults are rare, or every walk would spend them at its very beginning.
                pick_fault = faults and (not moves or chance.random() < 0.1)
                event = chance.choice(faults if pick_fault else moves)
                way.append(event)
                events += 1
                state, wrong = self.judge(machine.after(state, event), state[5])
            if time.perf_counter() - began > seconds:
                break
        return Verdict(None, len(seen), events, time.perf_counter() - began, bounds)


_AT_LEISURE = ("work", "close")  # whoever does these takes as long as it likes


def _way(came: dict[Any, tuple[Any, Event, int] | None], key: Any) -> list[Event]:
    """The events that lead to a state."""
    way: list[Event] = []
    while (step := came[key]) is not None:
        key, event, _ = step
        way.append(event)
    return way[::-1]


def _preempted(machine: Machine, key: Any, event: Event, moves: Sequence[Event]) -> tuple[int, int]:
    """Who moves with this event, and how often somebody who could go on was left by then."""
    _, before, left = key
    mover = _mover(machine, event)
    if mover < 0:
        return before, left
    could = any(_mover(machine, other) == before for other in moves)
    return mover, left + (before not in (-1, mover) and could)


def _mover(machine: Machine, event: Event) -> int:
    if event[0] in ("apply", "call", "close"):
        return int(event[1])
    return machine.home[event[1]] if event[0] in ("begin", "work") else -1
