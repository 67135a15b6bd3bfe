"""States that differ only in how large their numbers are.

A script that tries again and again gets a new zxid, a new sequence number and a new guid each time.
So no state ever comes again, though nothing has changed but the size of numbers. Nobody can tell
one from the other who only compares them. Here every such number is replaced by its rank among
those of its kind that occur anywhere in the state: in the tree, in what a follower shows, in
requests under way, in the variables of scripts, in notes, grants and what properties remember. Two
states that are equal then are taken for one, and the first of them that was met stands for both.

A number must be known for what it is wherever it turns up, also as a plain int in a variable or as
digits in a text. So a world explored by rank counts from far above: its zxids and its sequence
numbers begin where nothing else is. Scripts that only compare do not see that either.

It is not right for scripts that compute with numbers ("mine is 3, so I watch 2", "I am number 0, so
I am first"). So a story that was found this way is told as it happens with the true numbers, and
counts only if it comes to the same end there.

Where children are listed in an order made of their names (`listing="shuffled"`), or a counter is
near its end, sequence numbers are left as they are. So is what cannot be compared by value, and
whatever a script knows that looks at `cversion`.

One more thing can grow without end: the fires of a watch that its actor has set again and again and
never waited for. Equal ones are counted up to two; where that was needed the verdict says so.

So can what a follower that lags has not seen. Here it is never more than a few changes behind:
whoever would make it more waits until the follower has seen one. Where that was needed the verdict
says it as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from types import CodeType
from typing import Any, NamedTuple

from ..steps import Fire, Stat
from . import state as at
from .machine import Machine
from .scripts import Moment, NotComparable, value_of
from .state import Event, State
from .tree import WRITES, Entry, Tree

BY_RANK = "numbers compared by rank"
"""What a verdict says of such an exploration."""
FORGETFUL = "equal fires not waited for counted up to two"
"""What it says as well where that was needed."""

NEAR = "followers at most {} changes behind"
"""And where followers were kept from lagging further behind."""

_FAR_BEHIND = 4
_FIRST_ZXID = 1 << 32  # the first one of a real ensemble, too: epoch 1
_LAST_ZXID = 1 << 33
_FIRST_NUMBER = 1_000_000_000  # ten digits, and still far from the end of a counter
_LAST_NUMBER = 1_100_000_000
_FAR = _LAST_NUMBER - _FIRST_NUMBER
_IN_TEXT = re.compile(
    r"(?<!\d)(?:(?P<guid>\d{8}-0000-0000-0000-)(?P<nth>\d{12})|(?P<number>\d{10,}))(?!\d)"
)
_CVERSION = 1 + Stat._fields.index("cversion")
_SO_OFTEN = 2  # equal fires that an actor has not taken yet
_ZXID, _SEQUENCE = "zxid", "sequence"


class _PartShape(NamedTuple):
    """A part of a state: what it is without its numbers, and these, each with its kind."""

    form: int
    numbers: tuple[tuple[str, int], ...]


class Ranks:
    """Tells which states are alike but for the size of numbers, in the world of this machine, which
    it lets count from far above."""

    def __init__(self, machine: Machine) -> None:
        tree = machine.tree
        self._texts = tree.rules.listing != "shuffled"
        self._shifts = self._texts and _may_shift(tree)
        machine.tree = _shifted(tree, _FIRST_NUMBER if self._shifts else 0)
        self._forms: dict[Hashable, int] = {}
        self._first: dict[Hashable, State] = {}
        self.forgets = False
        """Whether somebody had heard the same more often than is counted."""
        self.keeps_near = False
        """Whether somebody had to wait for a follower that was far behind."""
        self._all_moves, machine.moves = machine.moves, self._moves
        self._moments: dict[Moment, _PartShape] = {}
        self._readers: dict[int, Callable[[Any, list[tuple[str, int]]], Hashable]] = {
            at.TREE: self._tree,
            at.SESSIONS: self._session,
            at.ACTORS: self._actor,
        }
        self._parts: dict[tuple[int, Any], _PartShape] = {}

    def _moves(self, state: State) -> list[Event]:
        """What can happen by itself, but for changes that a follower would be too far behind of."""
        moves = self._all_moves(state)
        sessions = state[at.SESSIONS]
        far = [s for s, session in enumerate(sessions) if len(session[at.UNSEEN]) >= _FAR_BEHIND]
        if not far:
            return moves
        near = [move for move in moves if not _changes(state, move) or far == [move[1]]]
        self.keeps_near = self.keeps_near or len(near) < len(moves)
        return near

    @property
    def bounds(self) -> str:
        """What a verdict says of such an exploration, besides that it was by rank."""
        near = NEAR.format(_FAR_BEHIND)
        return f", {FORGETFUL}" * self.forgets + f", {near}" * self.keeps_near

    def first(self, state: State) -> State:
        """The first state met that is like this one but for the size of its numbers."""
        return self._first.setdefault(self.key(state), state)

    def key(self, state: State) -> Hashable:
        """A value that is equal for states which are alike."""
        try:
            shapes = list(self._shapes(state))
        except NotComparable:
            return state
        numbers = [number for shape in shapes for number in shape.numbers]
        kinds: dict[str, set[int]] = {}
        for kind, number in numbers:
            kinds.setdefault(kind, set()).add(number)
        ranks = {
            kind: {number: rank for rank, number in enumerate(sorted(found))}
            for kind, found in kinds.items()
        }
        return (
            tuple([shape.form for shape in shapes]),
            tuple([ranks[kind][number] for kind, number in numbers]),
        )

    # --- the parts of a state -------------------------------------------------------------------

    def _shapes(self, state: State) -> Iterator[_PartShape]:
        yield self._part(at.TREE, state[at.TREE])
        for session in state[at.SESSIONS]:
            yield self._part(at.SESSIONS, session)
        for actor in state[at.ACTORS]:
            yield self._part(at.ACTORS, actor)
        for place in (at.BUDGET, at.GRANTS, at.BOARD, at.MEMOS):
            yield self._part(place, state[place])

    def _part(self, place: int, part: Any) -> _PartShape:
        shape = self._parts.get((place, part))
        if shape is None:
            numbers: list[tuple[str, int]] = []
            form = self._readers.get(place, self._value)(part, numbers)
            shape = self._parts[place, part] = self._shape(form, numbers)
        return shape

    def _shape(self, form: Hashable, numbers: list[tuple[str, int]]) -> _PartShape:
        return _PartShape(self._forms.setdefault(form, len(self._forms)), tuple(numbers))

    def _tree(self, tree: Tree, numbers: list[tuple[str, int]]) -> Hashable:
        # Not its zxid: the next one will be the greatest, whatever it is.
        return tuple(
            [
                (self._read(path, numbers), self._entry(entry, numbers))
                for path, entry in sorted(tree.nodes.items())
            ]
        )

    def _entry(self, entry: Entry, numbers: list[tuple[str, int]]) -> Hashable:
        counter: Hashable = entry.creates
        if self._shifts and not entry.owner:  # an ephemeral node never has children
            numbers.append((_SEQUENCE, entry.creates + _FIRST_NUMBER))
            counter = entry.creates > 0
        rest = (*entry[:5], *entry[6:9])  # children are nodes themselves
        return (counter, self._value(rest, numbers))

    def _session(self, session: Any, numbers: list[tuple[str, int]]) -> Hashable:
        parts = list(session)
        view, unseen, calls = parts[at.VIEW], parts[at.UNSEEN], parts[at.CALLS]
        parts[at.VIEW] = parts[at.UNSEEN] = parts[at.CALLS] = None
        return (
            tuple([self._value(part, numbers) for part in parts]),
            None if view is None else self._tree(view, numbers),
            tuple([(self._tree(t, numbers), self._value(c, numbers)) for t, c in unseen]),
            tuple([(owner, self._moment(moment, numbers)) for owner, moment in calls]),
        )

    def _actor(self, actor: Any, numbers: list[tuple[str, int]]) -> Hashable:
        parts = list(actor)
        frames = parts[at.FRAMES]
        parts[at.FRAMES] = parts[at.GUIDS] = None  # the next guid is new, whatever it is
        parts[at.FIRES] = self._heard(parts[at.FIRES])
        return (
            tuple([self._value(part, numbers) for part in parts]),
            tuple([(self._moment(moment, numbers), *rest) for moment, *rest in frames]),
        )

    def _heard(self, fires: Sequence[Fire]) -> tuple[Fire, ...]:
        """The fires that an actor has not taken yet, equal ones only so often."""
        if len(fires) <= _SO_OFTEN:
            return tuple(fires)
        left = tuple(f for n, f in enumerate(fires) if fires[:n].count(f) < _SO_OFTEN)
        self.forgets = self.forgets or len(left) < len(fires)
        return left

    def _moment(self, moment: Moment, numbers: list[tuple[str, int]]) -> Hashable:
        shape = self._moments.get(moment)
        if shape is None:
            own: list[tuple[str, int]] = []
            if moment.parent is None:
                form: Hashable = ("start", moment)
            elif moment.alike is None:
                raise NotComparable(moment)
            else:
                form = (moment.root.name, self._read(moment.alike, own))
            shape = self._moments[moment] = self._shape(form, own)
        numbers.extend(shape.numbers)
        return shape.form

    # --- values ---------------------------------------------------------------------------------

    def _value(self, thing: Any, numbers: list[tuple[str, int]]) -> Hashable:
        return self._read(value_of(thing, {}), numbers)

    def _read(self, value: Any, numbers: list[tuple[str, int]]) -> Hashable:
        """A value without its numbers, which are added to the list."""
        kind = type(value)
        if kind is tuple:
            if value and value[0] is Stat and len(value) > _CVERSION:
                # It changes with pzxid, and nobody looks at it: see below.
                value = (*value[:_CVERSION], *value[_CVERSION + 1 :])
            return tuple([self._read(each, numbers) for each in value])
        if kind is int:
            if _FIRST_ZXID <= value < _LAST_ZXID:
                numbers.append((_ZXID, value))
                return _ZXID
            if self._shifts and _FIRST_NUMBER <= value < _LAST_NUMBER:
                numbers.append((_SEQUENCE, value))
                return _SEQUENCE
            return value  # type: ignore[no-any-return]
        if kind is str:
            return self._text(value, numbers)
        if kind is bytes:
            return (bytes, self._text(value.decode("latin-1"), numbers))
        if kind is frozenset:
            found: list[tuple[str, Hashable, list[tuple[str, int]]]] = []
            for each in value:
                own: list[tuple[str, int]] = []
                found.append((repr(each), self._read(each, own), own))
            found.sort(key=lambda one: one[0])
            for _, _, own in found:
                numbers.extend(own)
            return (frozenset, *[form for _, form, _ in found])
        if kind is CodeType and "cversion" in value.co_names:
            raise NotComparable(value)
        return value  # type: ignore[no-any-return]

    def _text(self, text: str, numbers: list[tuple[str, int]]) -> Hashable:
        if not self._texts or not _IN_TEXT.search(text):
            return text

        def known(match: re.Match[str]) -> str:
            if match["guid"]:
                numbers.append((match["guid"], int(match["nth"])))
                return f"{match['guid']}#"
            number = int(match["number"])
            if self._shifts and _FIRST_NUMBER <= number < _LAST_NUMBER:
                numbers.append((_SEQUENCE, number))
                return f"#{len(match[0])}#"
            if _FIRST_ZXID <= number < _LAST_ZXID:
                numbers.append((_ZXID, number))
                return f"##{len(match[0])}#"
            return match[0]

        return (str, _IN_TEXT.sub(known, text))


def _changes(state: State, move: Event) -> bool:
    """Whether a move may change the tree."""
    if move[0] == "apply":
        return isinstance(state[at.SESSIONS][move[1]][at.QUEUE][0][1], WRITES)
    return move[0] in ("vanish", "forget", "close")


def has_grown(first: State, state: State) -> bool:
    """Whether a state has larger numbers than the first one of those that are alike, or more of
    what is counted up to two. If it lies behind that one, the same events lead on without end."""
    return state is not first and _size(state) > _size(first)


def _size(state: State) -> int:
    actors = state[at.ACTORS]
    return int(
        state[at.TREE].zxid + sum(actor[at.GUIDS] + len(actor[at.FIRES]) for actor in actors)
    )


def _may_shift(tree: Tree) -> bool:
    """Whether the sequence numbers of a world can be as much larger as one likes: its counters are
    far from their end, and have given all the numbers that names have."""
    for entry in tree.nodes.values():
        if not 0 <= entry.creates < _FAR:
            return False
        for name in entry.children:
            tail = name[-10:]
            if len(tail) == 10 and tail.isdecimal() and not int(tail) < entry.creates:
                return False
    return True


def _shifted(tree: Tree, shift: int) -> Tree:
    return Tree(tree.nodes, tree.zxid + _FIRST_ZXID, tree.rules._replace(shift=shift))
