"""Try everything that can happen, up to stated bounds.

Breadth first: the first story found of each broken property is a shortest one. When something is
broken the search goes on for a while, for the other properties; behind what is broken it does not
look. The verdict (zkkit.sim.verdict) is what was found, and how far it can be trusted.
"""

from __future__ import annotations

import gc
import random
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

from .errors import NothingAsked, ScriptFault, StoryMismatch
from .fairness import OutOfTime, find_round, move_of, round_at_end
from .faults import CANCEL, Faults
from .machine import Machine
from .origin import Origin
from .properties import FAMILIES, Goal, NobodyStarves, Property, View
from .properties.base import Unreadable
from .properties.goals import needed
from .properties.scripts import ALWAYS_ASKED
from .ranks import BY_RANK, Ranks, has_grown
from .rounds import Rounds
from .snapshot import short
from .state import MEMOS, Draft, Event, Fact, State
from .story import Breach, Story
from .verdict import Verdict
from .watchdog import watched_over
from .world import World


class _Budget(NamedTuple):
    """How many states, and how many seconds."""

    states: int
    seconds: float


Trial: TypeAlias = Callable[[_Budget], "Verdict | None"]
"""Another search, given what this one has used up so far; None: this one is to go on."""
Breaches: TypeAlias = tuple[Breach, ...]
Asking: TypeAlias = tuple[int, str, Callable[..., str | None]]
"""Where a property stands among them all, its name, and a question that it has an answer to."""


@dataclass(frozen=True, slots=True)
class Explored:
    """How far an exploration has come."""

    states: int
    waiting: int
    seconds: float
    over: bool = False


def explore(
    world: World,
    properties: Sequence[Property] | None = None,
    *,
    goals: Sequence[Goal] = (),
    faults: Faults = CANCEL,
    states: int = 1_000_000,
    seconds: float = 600.0,
    preemptions: int | None = None,
    by_rank: bool | None = None,
    progress: Callable[[Explored], object] | None = None,
) -> Verdict:
    """Try all interleavings of the world's actors, with these faults: do the properties hold?

    What is asked must be said: a family such as `of_a_lock()`, or a list of properties. An empty
    list asks only whether the scripts keep the rules. Goals are what must be reachable, or the
    verdict is vacuous; families bring their own along, and so does each property about something
    that somebody must do.

    With `preemptions` only those in which a session that could go on is left for another one at
    most so often; faults are not counted as leaving.

    Where scripts try again and again numbers only grow, and there is no end of states. After 10,000
    of them, or 2 seconds, and now and then from there on, it is tried whether that is so, and where
    it is all is explored with numbers compared by rank (zkkit.sim.ranks), with the same budget; so
    it is where the budget is used up. True does so at once, False never. `NobodyStarves` needs it
    at once.

    Raises:
        NothingAsked: `properties` is left out.
        ValueError: the world has no actors, or does not know one of the faults; or numbers are to
            be compared by rank, or it is asked who starves, under a bound on preemptions.
        ScriptFault: a script breaks the rules of exploring: Impure or Endless. (Any other mistake
            in a script is a story.)
        Unsupported: the code of a Call gives a value that cannot be compared.
    """
    asked = (*_asked(properties), *goals)
    in_the_long_run = any(isinstance(each, NobodyStarves) for each in asked)
    if preemptions is not None:
        if by_rank or in_the_long_run:
            raise ValueError(
                "a bound on preemptions leaves no rounds to look for: neither can numbers be "
                "compared by rank, nor can it be asked who starves"
            )
        by_rank = False
    at_once = in_the_long_run if by_rank is None else by_rank
    told: list[Explored] = []  # that it is over is told once, at the very end

    def tell(explored: Explored) -> None:
        if explored.over:
            told.append(explored)
        elif progress is not None:
            progress(explored)

    def search(ranks: bool, preemptions: int | None = None, **more: Any) -> tuple[Verdict, bool]:
        searching = _Search(world, faults, asked, by_rank=ranks)
        with searching.running():
            found = searching.breadth_first(budget, preemptions, heard, **more)
        return found, searching.grows

    budget = _Budget(states, seconds)
    heard = None if progress is None else tell
    last: Verdict | None = None  # by rank, with all of the budget
    trying = by_rank is None and not at_once

    def try_by_rank(so_far: _Budget) -> Verdict | None:
        """What is found by rank; None unless exactly there is no end, or something is broken."""
        nonlocal last, trying
        if last is not None or not trying:
            return None
        try:
            found, grows = search(True, trial=so_far)
        except ScriptFault:
            trying = False  # it computes with numbers, and these are large
            return None
        if grows:
            last = found
        if not found.stories and (not grows or found.holds is None):
            return None
        return replace(found, seconds=so_far.seconds + found.seconds)

    verdict, _ = search(at_once, preemptions, otherwise=try_by_rank if trying else None)
    if verdict.holds is None and trying:
        again = last or search(True)[0]
        spent = verdict.seconds + again.seconds
        if again.holds is None:
            verdict = replace(verdict, bounds=f"{verdict.bounds}, by rank as well", seconds=spent)
        else:
            verdict = replace(again, seconds=spent)
    if progress is not None and told:
        progress(told[-1])
    return verdict


def walk(
    world: World,
    properties: Sequence[Property] | None = None,
    *,
    seed: int,
    walks: int = 1000,
    faults: Faults = CANCEL,
    steps: int = 1000,
    seconds: float = 600.0,
) -> Verdict:
    """Where all is too much: random walks. They can find a story, never prove there is none.
    Raises as `explore`."""
    search = _Search(world, faults, _asked(properties))
    with search.running():
        return search.random_walks(random.Random(seed), seed, walks, steps, seconds)


def explore_origin(origin: Origin, **bounds: Any) -> Verdict:
    """Explore the world that an origin builds; a story that is found remembers where it comes from.
    Whatever the origin names is imported: it is for those you wrote yourself. Raises NoWorld if it
    cannot be built, and as `explore`."""
    trusted = origin.modules()
    verdict = explore(origin.world(trusted), origin.properties(trusted), **bounds)
    stories = tuple(replace(story, origin=origin) for story in verdict.stories)
    return replace(verdict, stories=stories)


def replay(story: Story, world: World, properties: Sequence[Property]) -> str | None:
    """Let a story happen again in this world; gives what is wrong at its end, or None. Raises
    StoryMismatch if it does not fit, ValueError if there is nobody in this world, and whatever
    `explore` raises for a script."""
    events = story.events
    search = _Search(world, Faults(len(events), world.setting.kinds), properties)
    machine = search.machine
    with search.running():
        Story.of(machine, events, Breach("", ""), "")  # raises if they do not fit
        wrong = search.end_of(events)
        if not wrong:
            # Whatever never ends is known by coming back to where it was, but for its numbers.
            again = _Search(world, search.faults, properties, by_rank=True)
            with again.running():
                wrong = again.without_end(events)
        found = {breach.breaks: breach.text for breach in reversed(wrong)}
        if not found:
            return None
        return short(machine.roster.names, found.get(story.breaks, wrong[0].text))


def _asked(properties: Sequence[Property] | None) -> Sequence[Property]:
    if properties is None:
        raise NothingAsked(
            "nothing is asked of this world: say what must hold",
            hint=f"explore(world, of_a_lock()); the families are {', '.join(FAMILIES)}, and "
            "zkkit.sim.properties has single properties",
        )
    return properties


class _Search:
    def __init__(
        self, world: World, faults: Faults, asked: Sequence[Property], *, by_rank: bool = False
    ) -> None:
        if not world.actors:
            raise ValueError("there is nobody in this world: add actors with world.actor(...)")
        self.world = world
        self.faults = faults
        self.given = tuple(asked)
        self.machine = machine = world.machine(faults)
        self.ranks = Ranks(machine) if by_rank else None
        self.grows = False
        """Whether it is known that without ranks there is no end of states."""
        own = (each for each in asked if not isinstance(each, Goal))
        self.properties: tuple[Property, ...] = (*ALWAYS_ASKED, *own)
        asked = (*asked, *needed(asked))
        self.goals = [each.fresh() for each in asked if isinstance(each, Goal)]
        self.asked = tuple(dict.fromkeys(each.name for each in asked))
        self._concerned: dict[frozenset[str], tuple[list[tuple[int, Property]], list[Goal]]] = {}
        self._against_rounds = self._that_ask("for_ever")
        self._of_idle = self._that_ask("idle")
        self._of_calm = sorted((*self._of_idle, *self._that_ask("calm")), key=_place)
        self._of_quiet = sorted((*self._of_calm, *self._that_ask("quiet")), key=_place)
        self._rounds = Rounds(machine, self._then)
        self.bounds = f"{len(world.actors)} actors, {faults}" + f", {BY_RANK}" * by_rank
        budget = faults.budget(machine.kinds)
        self.kinds = tuple(kind for kind, n in zip(machine.kinds, budget[1:], strict=True) if n)
        self.never = set(self.kinds)
        """The faults that could strike nowhere so far."""

    def _that_ask(self, question: str) -> list[Asking]:
        """The properties that have an answer of their own to this question."""
        return [
            (index, each.name, getattr(each, question))
            for index, each in enumerate(self.properties)
            if getattr(type(each), question) is not getattr(Property, question)
        ]

    @contextmanager
    def running(self) -> Iterator[None]:
        """Explore inside this block. The garbage collector rests: it would look again and again at
        hundreds of thousands of states of which none is garbage."""
        collecting = gc.isenabled()
        gc.disable()
        try:
            with watched_over(self.machine.activity):
                yield
                self.machine.check_purity()
        finally:
            self.machine.close()
            if collecting:
                gc.enable()

    # --- asking -------------------------------------------------------------------------------

    def start(self) -> tuple[State, Breaches]:
        draft = self.machine.begin()
        view = View(self.machine.roster, draft, self.faults.at_most)
        return self.judge(draft, tuple(each.at_first(view) for each in self.properties))

    def judge(self, draft: Draft, memos: tuple[Any, ...]) -> tuple[State, Breaches]:
        """Close a draft: ask the properties and goals that want to know."""
        if not draft.facts:
            return draft.done(memos), ()
        kinds = frozenset([fact[0] for fact in draft.facts])
        concerned = self._concerned.get(kinds)
        if concerned is None:
            concerned = self._concerned[kinds] = self._those_concerned(kinds)
        asked, goals = concerned
        wrong: Breaches = ()
        if asked or goals:
            view = View(self.machine.roster, draft, self.faults.at_most)
            remembered = list(memos)
            for index, each in asked:
                try:
                    remembered[index], found = each.after(memos[index], draft.facts, view)
                except Unreadable as error:
                    found = _written(draft.facts, view, error)
                if found:
                    wrong = (*wrong, Breach(each.name, found))
            memos = tuple(remembered)
            for goal in goals:
                if goal.met(draft.facts, view):
                    self.goals = [each for each in self.goals if each is not goal]
                    self._concerned.clear()
        return draft.done(memos), wrong

    def _those_concerned(
        self, kinds: frozenset[str]
    ) -> tuple[list[tuple[int, Property]], list[Goal]]:
        asked = [
            (index, each)
            for index, each in enumerate(self.properties)
            if not each.wants.isdisjoint(kinds)
        ]
        return asked, [goal for goal in self.goals if not goal.wants.isdisjoint(kinds)]

    def at_rest(self, state: State, moves: Sequence[Event]) -> Breaches:
        """Ask about a state in which nothing is under way."""
        those = self._of_calm if moves else self._of_quiet
        for move in moves:
            if move[0] == _CLOCK:
                those = self._of_idle
            elif move[0] not in _AT_LEISURE:
                return ()
        if not those:
            return ()
        view = View(self.machine.roster, Draft(state), self.faults.at_most)
        told = [(name, _answer(ask, state[MEMOS][index], view)) for index, name, ask in those]
        return tuple(Breach(name, found) for name, found in told if found)

    def for_ever(self, state: State) -> Breaches:
        """Ask about a state from which no way leads to a quiet one."""
        trap = self._rounds.trapped(state) if self._against_rounds else None
        if trap is None:
            return ()
        told = [
            (name, ask(state[MEMOS][index], trap.who, polls=trap.polls))
            for index, name, ask in self._against_rounds
        ]
        return tuple(Breach(name, found) for name, found in told if found)

    # --- following ----------------------------------------------------------------------------

    def _then(self, state: State, event: Event) -> tuple[State, State, Sequence[Fact]]:
        """After an event: the state, the one that stands for it, and the facts."""
        draft = self.machine.after(state, event)
        after, _ = self.judge(draft, state[MEMOS])
        return after, after if self.ranks is None else self.ranks.first(after), draft.facts

    def end_of(self, events: Sequence[Event]) -> Breaches:
        """What is wrong with, or after, the last of these events."""
        state, wrong = self.start()
        for event in events:
            state, wrong = self.judge(self.machine.after(state, event), state[MEMOS])
        return wrong or self.at_rest(state, self.machine.moves(state))

    def without_end(self, events: Sequence[Event]) -> Breaches:
        """What is wrong in the long run after these events."""
        assert self.ranks is not None
        states = [self.start()[0]]
        happened: list[Sequence[Fact]] = []
        for event in events:
            after, _, facts = self._then(states[-1], event)
            states.append(after)
            happened.append(facts)
        wrong: Breaches = ()
        for prop in self.properties:
            if isinstance(prop, NobodyStarves):
                moves = [
                    move_of(prop, states[n], event, states[n + 1], happened[n], n + 1)
                    for n, event in enumerate(events)
                ]
                found = round_at_end(self.machine, prop, states, moves, self.ranks.key)
                wrong += (Breach(prop.name, found),) if found else ()
        return wrong or self.for_ever(self.ranks.first(states[-1]))

    def _tell(
        self, events: Sequence[Event], found: Breach, bounds: str, *, at_end: bool
    ) -> Story | None:
        """Tell these events with their true numbers; None if with them nothing is wrong. `at_end`:
        what was found is wrong at their end, not in the long run."""
        if self.ranks is None:
            return Story.of(self.machine, events, found, bounds)
        exact = _Search(self.world, self.faults, self.given)
        with exact.running():
            try:
                story = Story.of(exact.machine, events, found, bounds)
            except StoryMismatch:
                return None
            if not at_end:
                return story
            truly = [each for each in exact.end_of(events) if each.breaks == found.breaks]
            return Story.of(exact.machine, events, truly[0], bounds) if truly else None

    # --- searching ----------------------------------------------------------------------------

    def breadth_first(
        self,
        budget: _Budget,
        preemptions: int | None,
        progress: Callable[[Explored], object] | None,
        *,
        trial: _Budget | None = None,
        otherwise: Trial | None = None,
    ) -> Verdict:
        """Explore within a budget: that of a trial, until something is broken or it is known that
        without ranks there is no end. `otherwise`: what else to try before it is used up."""
        machine, never = self.machine, self.never
        rounds_matter = preemptions is None and bool(self._against_rounds)
        suspects: dict[State, tuple[State, Event]] = {}
        ranks = self.ranks
        first, wrong = self.start()
        if ranks is not None:
            first = ranks.first(first)
        # Under a bound on preemptions, who moved last and how often it was left are part of it.
        start: Any = first if preemptions is None else (first, -1, 0)
        came: dict[Any, tuple[Any, Event, int] | None] = {start: None}
        queue: deque[tuple[Any, int]] = deque() if wrong else deque([(start, 0)])
        broken = _Broken(self.properties)
        broken.add(wrong, start)
        limit = _Limit(trial or budget, progress)
        events = 0
        while queue:
            if limit.is_near(events):
                if self.grows or broken:
                    limit.budget = budget
                if limit.is_reached(events, len(came), len(queue), broken):
                    break
                if otherwise and not broken and limit.is_late(len(came)):
                    found = otherwise(_Budget(len(came), limit.spent))
                    if found is not None:
                        return found
                    limit.go_on()
            key, depth = queue.popleft()
            state = key if preemptions is None else key[0]
            moves = machine.moves(state)
            wrong = self.at_rest(state, moves)
            if wrong:
                broken.add(wrong, key)
                continue
            own = len(moves)
            moves += machine.misfortunes(state)
            if never and len(moves) > own:
                never.difference_update([event[0] for event in moves[own:]])
            for place, event in enumerate(moves):
                events += 1
                true_after, wrong = self.judge(machine.after(state, event), state[MEMOS])
                state_after = true_after
                if ranks is not None and not wrong:
                    state_after = ranks.first(state_after)
                after: Any = state_after
                if preemptions is not None:
                    mover, left = _preempted(machine, key, event, moves)
                    if left > preemptions:
                        continue
                    after = (state_after, mover, left)
                if wrong:
                    # Before asking whether the state is known: the way here may be what is wrong.
                    broken.add(wrong, key, event)
                    continue
                new = (key, event, depth + 1)
                known = came.setdefault(after, new)  # hashed once: that is what takes the time
                if known is new:
                    queue.append((after, depth + 1))
                    continue
                if trial and not self.grows and _goes_on(true_after, after, key, came):
                    self.grows = True
                if rounds_matter and place < own and (known is None or known[2] <= depth):
                    suspects.setdefault(after, (key, event))
        endless = _Broken(self.properties)
        out_of_time = False
        if not queue:
            for state, (key, event) in suspects.items():
                wrong = self.for_ever(state)
                if wrong:
                    endless.add(wrong, key, event)
                    break
            if any(isinstance(each, NobodyStarves) for each in self.properties):
                far = {key: 0 if step is None else step[2] for key, step in came.items()}
                out_of_time = not self._find_rounds(far, endless, limit.end)
        limit.tell(len(came), len(queue), over=True)
        bounds, complete = self.bounds, "all explored"
        if preemptions is not None:
            plural = "" if preemptions == 1 else "s"
            bounds, complete = f"{bounds}, at most {preemptions} preemption{plural}", "bounded"
        if ranks is not None:
            bounds += ranks.bounds
        if out_of_time:
            bounds, complete = f"{bounds}, given up looking for rounds", "given up"
        if queue:
            complete = "bounded" if broken else "given up"
            bounds += "" if broken else f", given up after {len(came):,} states"
        told = [
            self._tell([*way_to(key, came)[1], *last], breach, bounds, at_end=each is broken)
            for each in (broken, endless)
            for breach, key, last in each.gravest_first()
        ]
        stories = broken.in_order(filter(None, told))
        if told and not stories:
            bounds, complete = f"{bounds}, given up: the scripts compute with numbers", "given up"
        return self._verdict(len(came), events, limit.spent, bounds, complete, stories)

    def _find_rounds(self, far: Mapping[State, int], endless: _Broken, until: float) -> bool:
        """Ask who starves in the states that are so far from the beginning. False: no time."""
        for prop in self.properties:
            if isinstance(prop, NobodyStarves):
                try:
                    found = find_round(self.machine, prop, far, self._then, until=until)
                except OutOfTime:
                    return False
                if found is not None:
                    endless.add((Breach(prop.name, found.text),), found.start, *found.events)
        return True

    def _verdict(
        self,
        states: int,
        events: int,
        spent: float,
        bounds: str,
        complete: str,
        stories: Sequence[Story],
        holds: bool | None = True,
    ) -> Verdict:
        if stories:
            holds = False
        elif complete == "given up":
            holds = None
        elif holds and self.goals:
            holds = None if complete == "bounded" else False
        return Verdict(
            holds, states, events, spent, bounds, self.asked, tuple(stories), complete,
            unmet=tuple(goal.name for goal in self.goals),
            could_strike=tuple(kind for kind in self.kinds if kind not in self.never),
            could_not_strike=tuple(kind for kind in self.kinds if kind in self.never),
            whom=self.faults.whom,
            stood_still=self.machine.stood_still,
        )  # fmt: skip

    def random_walks(
        self, chance: random.Random, seed: int, walks: int, steps: int, seconds: float
    ) -> Verdict:
        began = time.perf_counter()
        machine = self.machine
        bounds = f"{self.bounds}, {walks} random walks of at most {steps} events, seed {seed}"
        seen: set[int] = set()
        events = 0

        def verdict(*stories: Story) -> Verdict:
            spent = time.perf_counter() - began
            return self._verdict(len(seen), events, spent, bounds, "bounded", stories, None)

        for _ in range(walks):
            state, wrong = self.start()
            way: list[Event] = []
            while len(way) < steps:
                seen.add(hash(state))
                moves = machine.moves(state)
                wrong = wrong or self.at_rest(state, moves)
                if wrong:
                    return verdict(*[Story.of(machine, way, each, bounds) for each in wrong])
                faults = machine.misfortunes(state)
                self.never.difference_update([event[0] for event in faults])
                if not moves and not faults:
                    break
                # Faults are rare, or every walk would spend them at its very beginning.
                pick_fault = faults and (not moves or chance.random() < 0.1)
                event = chance.choice(faults if pick_fault else moves)
                way.append(event)
                events += 1
                state, wrong = self.judge(machine.after(state, event), state[MEMOS])
            if time.perf_counter() - began > seconds:
                break
        return verdict()


def _answer(ask: Callable[..., str | None], memo: Any, view: View) -> str | None:
    """What a property says of a state; what it cannot read is wrong."""
    try:
        return ask(memo, view)
    except Unreadable as error:
        return str(error)


def _written(facts: Sequence[Fact], view: View, error: Unreadable) -> str:
    """An event has left what cannot be read: by whom it was written."""
    writers = [fact.actor for fact in facts if fact.kind == "applied" and fact.actor >= 0]
    return f"{error}: {view.name(writers[-1])} wrote it" if writers else str(error)


def _place(asking: Asking) -> int:
    return asking[0]


_AT_LEISURE = ("work", "close", "come")  # whoever does these takes as long as it likes
_CLOCK = "pause over"  # so does whoever waits for a clock, unless something else wakes it


class _Broken:
    """What is broken so far: of each property the first breach, and the way there."""

    def __init__(self, properties: Sequence[Property]) -> None:
        self._order = {each.name: place for place, each in reversed([*enumerate(properties)])}
        self._found: dict[str, tuple[Breach, Any, tuple[Event, ...]]] = {}

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, wrong: Breaches, key: Any, *last: Event) -> None:
        for breach in wrong:
            self._found.setdefault(breach.breaks, (breach, key, last))

    @property
    def all_of_them(self) -> bool:
        return len(self._found) == len(self._order)

    def in_order(self, stories: Iterable[Story]) -> list[Story]:
        """One story for each property, as they were asked about."""
        first = {story.breaks: story for story in reversed([*stories])}
        return sorted(first.values(), key=lambda story: self._order[story.breaks])

    def gravest_first(self) -> list[tuple[Breach, Any, tuple[Event, ...]]]:
        """What was found, in the order in which the properties were asked for."""
        return sorted(self._found.values(), key=lambda each: self._order[each[0].breaks])


class _Limit:
    """How far a search goes: within its budget of states and seconds; and once something is broken,
    about as many events again, so that a second try finds the same."""

    LEAST, MOST = 2_000, 40_000
    LATE, LATER = _Budget(10_000, 2.0), 10
    """When to try something else first, and how many times later the next time is."""

    def __init__(self, budget: _Budget, progress: Callable[[Explored], object] | None) -> None:
        self.budget = budget
        self._late = self.LATE
        self._progress = progress
        self._began = self._told = time.perf_counter()
        self._paused = 0.0
        self._next = 0
        self._until: int | None = None

    @property
    def end(self) -> float:
        return self._began + self.budget.seconds

    def is_late(self, states: int) -> bool:
        """Whether it is time to try something else: this search pauses until it is to go on."""
        self._paused = time.perf_counter()
        return states >= self._late.states or self.spent >= self._late.seconds

    def go_on(self) -> None:
        self._began += time.perf_counter() - self._paused
        late = self._late
        self._late = _Budget(late.states * self.LATER, late.seconds * self.LATER)

    @property
    def spent(self) -> float:
        return time.perf_counter() - self._began

    def is_near(self, events: int) -> bool:
        """Whether it is time to look: that takes longer than to know that it is not."""
        return events >= self._next

    def is_reached(self, events: int, states: int, waiting: int, broken: _Broken) -> bool:
        self._next = events + 64
        if self._progress is not None and time.perf_counter() - self._told > 0.1:
            self.tell(states, waiting)
        if broken and self._until is None:
            self._until = events + min(max(events, self.LEAST), self.MOST)
        if self._until is not None and (events > self._until or broken.all_of_them):
            return True
        return states > self.budget.states or self.spent > self.budget.seconds

    def tell(self, states: int, waiting: int, *, over: bool = False) -> None:
        self._told = time.perf_counter()
        if self._progress is not None:
            self._progress(Explored(states, waiting, self.spent, over))


def way_to(key: Any, came: Mapping[Any, tuple[Any, ...] | None]) -> tuple[Any, list[Event]]:
    """Where the way to a state begins, and its events. `came` has for each state the one before it,
    the event that led from there, and whatever else; None for one to begin with."""
    way: list[Event] = []
    while (step := came[key]) is not None:
        key, event, *_ = step
        way.append(event)
    return key, way[::-1]


def _goes_on(
    state: State, first: State, key: Any, came: Mapping[Any, tuple[Any, ...] | None]
) -> bool:
    """Whether the way to a state, by this key, leads through the first one that was like it but for
    smaller numbers: what led from there to here does so again and again."""
    if not has_grown(first, state):
        return False
    while key is not first:
        step = came[key]
        if step is None:
            return False
        key = step[0]
    return True


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
    return machine.roster.home[event[1]] if event[0] in ("begin", "work") else -1
