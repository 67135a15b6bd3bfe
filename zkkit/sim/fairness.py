"""Whether somebody can be passed over for ever, though everybody who can move does move.

All states and their moves make a graph. A run that goes on for ever stays, from some point on, in
states of which each can be reached from each other. So these parts of the graph are looked at, one
actor at a time, without the states in which it holds and the moves that serve it. What is left of
such a part is a round in which that actor starves, if the round is fair: whatever can happen in all
of its states does happen in it. (What can happen stays possible until it happens, or until the
round comes to a state where it is not: no stronger fairness is needed.)

Faults are no moves: there are only so many of them, so none is in a round.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from . import state as at
from .machine import Machine
from .properties.fairness import NobodyStarves
from .rounds import Then
from .state import Event, Fact, State

_FEW = 6  # rounds of each kind that are compared, to tell the shortest
_ENOUGH = 300_000  # places looked at for a shortest round; beyond that a short one must do


class GraphMove(NamedTuple):
    """A move in the graph: what happens, the state it leads to, by number (-1: to what is broken,
    and not looked at), who is served, and who moves with it."""

    event: Event
    after: int
    served: frozenset[int]
    moved: frozenset[int]


class StarvingRound(NamedTuple):
    """What is wrong, the state where it begins, and the events that lead back to it."""

    text: str
    start: State
    events: tuple[Event, ...]


def move_of(
    prop: NobodyStarves, before: State, event: Event, after: State, facts: Sequence[Fact], to: int
) -> GraphMove:
    """A move, as fairness sees it."""
    old, new = before[at.ACTORS], after[at.ACTORS]
    moved = [a for a in range(min(len(old), len(new))) if old[a] is not new[a] and old[a] != new[a]]
    if event[0] == "apply":
        moved.append(before[at.SESSIONS][event[1]][at.QUEUE][0][0])  # it may be back where it was
    served = [fact.actor for fact in facts if prop.serves(fact)]
    return GraphMove(event, to, frozenset(served), frozenset(moved))


class OutOfTime(Exception):
    """There was not enough time to look at all states again."""


def find_round(
    machine: Machine,
    prop: NobodyStarves,
    distances: Mapping[State, int],
    then: Then,
    *,
    until: float = float("inf"),
) -> StarvingRound | None:
    """A fair round in which somebody starves, among these states, of which the distance from the
    beginning is known: one of the shortest to tell. OutOfTime if it takes until then."""
    known = sorted(distances, key=distances.__getitem__)
    number = {state: n for n, state in enumerate(known)}
    graph: list[list[GraphMove]] = []
    for state in known:
        if not len(graph) % 64 and time.perf_counter() > until:
            raise OutOfTime
        moves = []
        for event in machine.moves(state):
            after, stands, facts = then(state, event)
            moves.append(move_of(prop, state, event, after, facts, number.get(stands, -1)))
        graph.append(moves)
    parts = list(_together(graph, range(len(graph)), lambda move: True))
    shortest: tuple[int, int, list[GraphMove], State] | None = None
    for allowed in (_serves_nobody, _passes_over):
        for start, a, closed in sorted(_closed(machine, prop, known, graph, parts, allowed))[:_FEW]:
            way = _way_round(graph, closed, partial(allowed, a), a)
            length = distances[known[start]] + len(way)
            if shortest is None or length < shortest[0]:
                shortest = (length, a, way, known[start])
    if shortest is None:
        return None
    _, a, way, begin = shortest
    return StarvingRound(tell(machine, prop, a, way), begin, tuple(move.event for move in way))


def _closed(
    machine: Machine,
    prop: NobodyStarves,
    known: Sequence[State],
    graph: Sequence[Sequence[GraphMove]],
    parts: Iterable[Sequence[int]],
    allowed: Callable[[int, GraphMove], bool],
) -> Iterator[tuple[int, int, list[int]]]:
    """Where somebody starves: the nearest state, who it is, and all the states."""
    for part in parts:
        for a in _whom(machine, prop):
            inside = [n for n in part if asks(known[n], a)]
            for closed in _together(graph, inside, partial(allowed, a)):
                if _is_fair(graph, closed, partial(allowed, a)):
                    yield min(closed), a, closed


def round_at_end(
    machine: Machine,
    prop: NobodyStarves,
    states: Sequence[State],
    moves: Sequence[GraphMove],
    key: Callable[[State], Any],
) -> str | None:
    """Whether these moves, from state to state, end with a fair round in which somebody starves."""
    last = key(states[-1])
    for begin in range(len(moves) - 1, -1, -1):
        if key(states[begin]) != last:
            continue
        way, passed = moves[begin:], states[begin:-1]
        could = frozenset.intersection(
            *[frozenset(map(group, machine.moves(state))) for state in passed]
        )
        if could - {group(move.event) for move in way}:
            continue
        for a in _whom(machine, prop):
            if all(asks(state, a) for state in passed) and not any(a in m.served for m in way):
                return tell(machine, prop, a, way)
    return None


def group(event: Event) -> Event:
    """Events of which one stands for all: it matters that a request is answered, not how."""
    return event if event[0] == "forget" else event[:2]


def asks(state: State, a: int) -> bool:
    """Whether an actor lives and holds nothing."""
    return bool(state[at.ACTORS][a][at.FRAMES]) and all(g.actor != a for g in state[at.GRANTS])


def tell(machine: Machine, prop: NobodyStarves, a: int, way: Sequence[GraphMove]) -> str:
    """What is wrong with a round."""
    names = machine.roster.names
    others = sorted({other for move in way for other in move.served})
    waits = not any(a in move.moved for move in way)
    return prop.starves(names[a], [names[other] for other in others], len(way), waits=waits)


def _whom(machine: Machine, prop: NobodyStarves) -> list[int]:
    roster = machine.roster
    unknown = {*prop.whom} - {*roster.names}
    if unknown:
        raise ValueError(f"{', '.join(sorted(unknown))} cannot starve: there is no such actor")
    return [a for a in range(roster.count) if not prop.whom or roster.names[a] in prop.whom]


def _serves_nobody(a: int, move: GraphMove) -> bool:
    return not move.served


def _passes_over(a: int, move: GraphMove) -> bool:
    return a not in move.served


def _together(
    graph: Sequence[Sequence[GraphMove]], nodes: Iterable[int], allowed: Callable[[GraphMove], bool]
) -> Iterator[list[int]]:
    """The parts of a graph in which each state can be reached from each (Tarjan's), by allowed
    moves; only those that can be gone round in."""
    inside = set(nodes)

    def ahead(node: int) -> Iterator[int]:
        return iter([m.after for m in graph[node] if m.after in inside and allowed(m)])

    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    for root in inside:
        if root in index:
            continue
        way = [(root, ahead(root))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while way:
            node, rest = way[-1]
            for to in rest:
                if to not in index:
                    index[to] = low[to] = len(index)
                    stack.append(to)
                    on_stack.add(to)
                    way.append((to, ahead(to)))
                    break
                if to in on_stack:
                    low[node] = min(low[node], index[to])
            else:
                way.pop()
                if way:
                    low[way[-1][0]] = min(low[way[-1][0]], low[node])
                if low[node] == index[node]:
                    part: list[int] = []
                    while not part or part[-1] != node:
                        part.append(stack.pop())
                        on_stack.discard(part[-1])
                    if len(part) > 1 or node in ahead(node):
                        yield part


def _inside(
    graph: Sequence[Sequence[GraphMove]],
    part: Sequence[int],
    allowed: Callable[[GraphMove], bool],
) -> Mapping[int, list[GraphMove]]:
    members = set(part)
    return {n: [m for m in graph[n] if m.after in members and allowed(m)] for n in part}


def _is_fair(
    graph: Sequence[Sequence[GraphMove]],
    part: Sequence[int],
    allowed: Callable[[GraphMove], bool],
) -> bool:
    could = frozenset.intersection(*[frozenset(group(m.event) for m in graph[n]) for n in part])
    did = {group(m.event) for moves in _inside(graph, part, allowed).values() for m in moves}
    return could <= did


def _way_round(
    graph: Sequence[Sequence[GraphMove]],
    part: Sequence[int],
    allowed: Callable[[GraphMove], bool],
    a: int,
) -> list[GraphMove]:
    """A short fair round through the part's nearest state, in which others are served and the
    starving one moves, if both can be."""
    moves = _inside(graph, part, allowed)
    start = min(part)
    duties: dict[Any, int] = {}

    def bit(duty: Any) -> int:
        return duties.setdefault(duty, 1 << len(duties))

    everything = {group(m.event) for n in part for m in graph[n]}
    idle: dict[int, int] = {}
    for n in part:
        missing = everything - {group(m.event) for m in graph[n]}
        idle[n] = sum(bit(each) for each in missing)
    done: dict[tuple[int, int], int] = {}
    for n in part:
        for place, move in enumerate(moves[n]):
            mask = bit(group(move.event))
            mask |= bit("served") if move.served else 0
            mask |= bit("moves") if a in move.moved else 0
            done[n, place] = mask
    wanted = sum(duties.values())

    def walk(
        begin: int, mask: int, enough: Callable[[int, int], bool], limit: int
    ) -> list[tuple[int, int]]:
        """The shortest way from a state to where it is enough: the states it leaves, and by which
        move of theirs."""
        first = (begin, mask)
        came: dict[tuple[int, int], Any] = {first: None}
        ahead = deque([first])
        while ahead and len(came) <= limit:
            here = ahead.popleft()
            node, fulfilled = here
            for place, move in enumerate(moves[node]):
                there = (move.after, fulfilled | idle[node] | done[node, place])
                if enough(*there):
                    way = [(node, place)]
                    while (step := came[here]) is not None:
                        here, left = step
                        way.append(left)
                    return way[::-1]
                if there not in came:
                    came[there] = (here, (node, place))
                    ahead.append(there)
        return []

    way = walk(start, 0, lambda node, mask: node == start and mask == wanted, _ENOUGH)
    if not way:
        # Too many ways: fulfil one duty after the other, then go home.
        node, mask = start, 0
        while mask != wanted or node != start:
            home = mask == wanted
            for step in walk(node, mask, partial(_nearer, mask, start if home else -1), len(part)):
                mask |= idle[step[0]] | done[step]
                node = moves[step[0]][step[1]].after
                way.append(step)
    return [moves[node][place] for node, place in way]


def _nearer(fulfilled: int, home: int, node: int, mask: int) -> bool:
    """Whether one more duty is fulfilled; or, where one is to go home, whether that is here."""
    return mask != fulfilled if home < 0 else node == home
