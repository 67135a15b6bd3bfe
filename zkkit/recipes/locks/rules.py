"""Rules: whose turn it is in a line, and if not ours, whom to watch. Pure functions.

A rule is given those ahead of us, in the order of their numbers, and answers with a `Turn`. It sees
nothing else, so it can be read, tested and replaced by itself (Curator calls it the driver's
predicate):

    ReentrantLock(session, path, rule=first(2))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from ...paths import sequence_of, serial_distance
from ..arguments import check_count


class Place(NamedTuple):
    """Somebody's place in a line: the node's name, what kind of contender it is, its number."""

    name: str
    kind: str
    number: int


class Turn(NamedTuple):
    """What a rule says: is it our turn, and if not, the name of the node to watch."""

    mine: bool
    behind: str = ""


Rule: TypeAlias = Callable[[Sequence[Place]], Turn]


def first_in_line(ahead: Sequence[Place]) -> Turn:
    """Who has nobody ahead has it; everybody else watches the one just ahead."""
    return Turn(True) if not ahead else Turn(False, ahead[-1].name)


def first(count: int) -> Rule:
    """The first `count` have it; everybody else watches the one `count` places ahead.

    Curator's rule for its old semaphore (`maxLeases`), and it is flawed: with `count` > 1 the
    holders may leave in any order, and when another one than the watched leaves, its place stays
    empty while we sleep. Nobody is granted too much and nobody waits for ever, but a free place
    may go unused. `Semaphore` has no such flaw; this one is here to be compared.
    """
    check_count("how many are allowed in", count)

    def rule(ahead: Sequence[Place]) -> Turn:
        return Turn(True) if len(ahead) < count else Turn(False, ahead[-count].name)

    return rule


def behind_last(kind: str) -> Rule:
    """Ours if nobody of this kind is ahead; else watch the last of them: woken once."""

    def rule(ahead: Sequence[Place]) -> Turn:
        last = next((place for place in reversed(ahead) if place.kind == kind), None)
        return Turn(True) if last is None else Turn(False, last.name)

    return rule


def behind_first(kind: str) -> Rule:
    """Ours if nobody of this kind is ahead; else watch the first of them: woken by each in turn."""

    def rule(ahead: Sequence[Place]) -> Turn:
        foremost = next((place for place in ahead if place.kind == kind), None)
        return Turn(True) if foremost is None else Turn(False, foremost.name)

    return rule


def ahead_of(me: str, names: Sequence[str], kinds: Sequence[str]) -> list[Place] | None:
    """Those ahead of `me` in order, or None if `me` is not among the names.

    A contender is a name with one of the `kinds` before its number; other children do not count.
    Numbers wrap, so they are compared as serial numbers.
    """
    own = place_of(me, kinds)
    if own is None or me not in names:
        return None
    ahead = []
    for name in names:
        place = place_of(name, kinds)
        if place is not None and serial_distance(place.number, own.number) < 0:
            ahead.append(place)
    ahead.sort(key=lambda place: serial_distance(place.number, own.number))
    return ahead


def in_order(names: Sequence[str], kinds: Sequence[str]) -> list[Place]:
    """All contenders among the names, the first in line first."""
    places = [place for name in names if (place := place_of(name, kinds)) is not None]
    # Whoever has most of the others behind it: the numbers are a stretch of a circle.
    foremost = places[0].number if places else 0
    for place in places:
        if serial_distance(place.number, foremost) < 0:
            foremost = place.number
    return sorted(places, key=lambda place: serial_distance(place.number, foremost))


def place_of(name: str, kinds: Sequence[str]) -> Place | None:
    """The place that a name says, or None if it is no contender's."""
    for kind in kinds:
        number = sequence_of(name, kind)
        if number is not None:
            return Place(name, kind, number)
    return None
