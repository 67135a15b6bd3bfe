"""Standing in line: whoever was created first comes first. For locks, elections and queues.

    <directory>                       usually a container: the server removes it when it is empty
      <mark><kind><number>            one sequential node for each who stands there

A line creates nothing and waits for nothing. It says who is ahead of whom by their names, and a
rule says whose turn it is and, if it is not ours, whom to watch. A recipe that stands in line reads
like this:

    node, names = yield from create_protected(line.directory, name, Children(line.directory), ...)
    while not (turn := rule(line.ahead_of(node, names))).mine:
        gone = yield from saw_it_go(join(line.directory, turn.behind))
        names = yield from line.look_again(node, turn, gone)
    yield from line.announce(node)

A rule is a pure function. It is given those ahead of us, in the order of their numbers, and answers
with a `Turn`. It sees nothing else, so it can be read, tested and replaced by itself (Curator calls
it the driver's predicate):

    ReentrantLock(session, path, rule=first_n(2))

**Known without looking.** In a line where everybody comes with a new number nobody ever comes in
ahead of us. So if the listing showed one node ahead of ours and no other, and that one has gone,
then we are the first, and no second listing is needed: a handoff is one flight shorter. This is a
fact about the line (`append_only`), not about who releases: one that left without its turn, or
whose session was lost, is as good. It is not so where readers and writers stand in one line: a
writer that downgrades leaves a read node with its own number behind, and that is ahead of us.

If there were more ahead, the one just ahead of us may have left as the first, or without its turn.
It knew which. So whoever is the first says so on the board of its process (`announce`), and whoever
stood right behind it, has seen it go and finds its name there is the first now: a handoff inside
one process is as short, however long the line. What is on the board stays true, for nobody ever
comes in ahead of one that was the first. And it is true of that one node only: its name has a guid,
so no later node has it, nor one in a directory of the same name in another ensemble or below
another namespace. Behind a node of another process, or of another client, one lists again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias, overload

from ..errors import CounterUsedUp, NoNode
from ..paths import join, sequence_of, serial_distance, split
from ..steps import Node, Post, Posted, Script
from .arguments import check_count
from .shared import list_children

Names = tuple[str, ...]
LAST_NUMBER = 2**31 - 1


class Line(NamedTuple):
    """A directory in which nodes of these kinds stand in line."""

    directory: str
    kinds: Sequence[str]
    append_only: bool = False
    """Whether everybody comes with a new number of the server's, and nobody takes nodes away that
    are not its own: those ahead of us then only become fewer. Say so only where the rule is
    `first_in_line`: by another it may be the turn of one who is not the first."""

    def look_again(self, node: Node, turn: Turn, gone: bool) -> Script[Names]:
        """Who is there now, in a line that we have seen before. `gone`: whether the one we stood
        behind has surely gone (`saw_it_go`). If that one was the first, it is known: now we are,
        whoever is behind us; else it is asked of the server."""
        if gone and self.append_only and (yield from self._was_first(turn)):
            return (split(node.path)[1],)
        return (yield from list_children(self.directory))

    def _was_first(self, turn: Turn) -> Script[bool]:
        """Whether it is known that the one just ahead of us had nobody ahead."""
        return turn.is_next or (yield from Posted(self.directory)) == turn.behind

    def announce(self, node: Node) -> Script[None]:
        """It is our turn: let all others in this process know that we are the first."""
        if self.append_only:
            yield from Post(self.directory, split(node.path)[1])

    def ahead_of(self, node: Node, names: Names) -> Sequence[Place]:
        """Those ahead of our node, the first in line first.

        NoNode if ours is no longer there: begin again. CounterUsedUp if somebody else may have our
        number as well: a server whose counter has come to its end gives the last number again and
        again (seen on 3.8.0), and now and then a negative one. Two of one number would both be
        first.
        """
        name = split(node.path)[1]
        place = place_of(name, self.kinds)
        if place is not None and not 0 <= place.number < LAST_NUMBER:
            raise CounterUsedUp(
                f"the servers have used up the numbers for children of {self.directory}",
                path=self.directory,
                hint="let everybody leave: an empty container is removed and begins anew at 0; "
                "or take another path",
            )
        ahead = ahead_of(name, names, self.kinds)
        if ahead is None:
            raise NoNode(node.path)
        return ahead

    def participants(self, *kinds: str) -> Script[tuple[str, ...]]:
        """The paths of all who stand here (of these kinds), the first in line first."""
        try:
            names = yield from list_children(self.directory)
        except NoNode:
            return ()
        wanted = kinds or self.kinds
        places = in_order(names, self.kinds)
        return tuple(join(self.directory, p.name) for p in places if p.kind in wanted)


# --- rules ---------------------------------------------------------------------------------------


class Place(NamedTuple):
    """Somebody's place in a line: the node's name, what kind of contender it is, its number."""

    name: str
    kind: str
    number: int


class Turn(NamedTuple):
    """What a rule says: is it our turn, and if not, the name of the node to watch; and whether it
    will be our turn when that one has gone, as long as nobody new comes in ahead of us."""

    mine: bool
    behind: str = ""
    is_next: bool = False


Rule: TypeAlias = Callable[[Sequence[Place]], Turn]


def first_in_line(ahead: Sequence[Place]) -> Turn:
    """Who has nobody ahead has it; everybody else watches the one just ahead."""
    return Turn(True) if not ahead else Turn(False, ahead[-1].name, is_next=len(ahead) == 1)


def first_n(count: int) -> Rule:
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


# --- names ---------------------------------------------------------------------------------------


class Ahead(Sequence[Place]):
    """Those ahead of us, the first in line first: what a rule is given.

    A line may be long, and most rules ask only how many there are and who is just ahead. So the
    names stay as they came, with a column beside them by which they are ordered, and a place is
    made of a name when somebody asks for it."""

    def __init__(
        self, names: Sequence[str], column: Sequence[Any], own: Any, kinds: Sequence[str]
    ) -> None:
        self._names = names
        self._column = column
        self._kinds = kinds
        self._ahead = [each for each in column if each < own]

    def __len__(self) -> int:
        return len(self._ahead)

    @overload
    def __getitem__(self, at: int) -> Place: ...
    @overload
    def __getitem__(self, at: slice) -> list[Place]: ...
    def __getitem__(self, at: int | slice) -> Place | list[Place]:
        if at == -1 and self._ahead:
            return self._place(self._names[self._column.index(max(self._ahead))])
        return self._in_order()[at]

    def __iter__(self) -> Iterator[Place]:
        return iter(self._in_order())

    def __reversed__(self) -> Iterator[Place]:
        return reversed(self._in_order())

    def _in_order(self) -> list[Place]:
        rows = sorted(zip(self._column, self._names, strict=True))
        return [self._place(name) for _, name in rows[: len(self)]]

    def _place(self, name: str) -> Place:
        place = place_of(name, self._kinds)
        assert place is not None  # else it would not be here
        return place


def ahead_of(me: str, names: Sequence[str], kinds: Sequence[str]) -> Ahead | None:
    """Those ahead of `me`, or None if `me` is not among the names.

    A contender is a name with one of the `kinds` before its number; other children do not count.
    Numbers wrap, so they are compared as serial numbers.
    """
    mine = place_of(me, kinds)
    if mine is None or me not in names:
        return None
    numbers = _plain_numbers(names, kinds)
    if numbers is not None:
        return Ahead(names, numbers, me[-_DIGITS:], kinds)
    places = [place for name in names if (place := place_of(name, kinds)) is not None]
    distances = [serial_distance(place.number, mine.number) for place in places]
    return Ahead([place.name for place in places], distances, 0, kinds)


_DIGITS = 10
_LAST_TEXT = str(LAST_NUMBER)


def _plain_numbers(names: Sequence[str], kinds: Sequence[str]) -> list[str] | None:
    """The numbers in these names as text, if that is all there is: each name is one of the kinds
    and then ten digits, as servers write it. Such numbers have not wrapped, and compare as their
    text does: a long line is judged by the column, not name by name. None: there are others."""
    numbers = [name[-_DIGITS:] for name in names]
    digits = "".join(numbers)
    if len(digits) != _DIGITS * len(names) or not (digits.isascii() and digits.isdecimal()):
        return None
    known = 0
    for kind in kinds:
        start = -_DIGITS - len(kind)
        known += [name[start:-_DIGITS] for name in names].count(kind)
    return numbers if known == len(names) and max(numbers) <= _LAST_TEXT else None


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
