"""What holds of queues: nothing is lost, nothing is taken twice, and in order.

Items have numbers. Scripts say `Say("puts", n)` before they try and `Say("put", n)` when they know
that it has worked; `Say("takes")` before they try and `Say("took", n)` when they have an item for
sure. In a queue that redelivers they say `Say("done", n)` when the work is done, and then remove
the item.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ...paths import join
from .. import state as at
from ..state import Fact
from .base import Property, Value, View, in_words, read, written
from .goals import SomebodySays
from .waiting import how_it_waits, waiting

Found: TypeAlias = Callable[[View], frozenset[int]]
"""Which items are in the queue."""


def items_of(path: str, item: Value) -> Found:
    """Items are the children of `path`, each with its number in its data."""

    def found(view: View) -> frozenset[int]:
        nodes = view.tree.nodes
        paths = [join(path, name) for name in nodes[path].children] if path in nodes else []
        return frozenset(read(item, each, nodes[each].data) for each in paths)

    return found


def _words(facts: Sequence[Fact]) -> list[tuple[str, int, int]]:
    """What was said, by whom, of which item."""
    return [(fact.what, fact.actor, fact.outcome) for fact in facts if fact.kind == "said"]


def _is_gone(view: View, actor: int) -> bool:
    return not view.actors[actor][at.FRAMES]


def _again(item: int) -> str:
    """What somebody puts that was put before: nobody could tell the two."""
    return f"item {item}, which was put before: each item needs a number of its own"


class NothingVanishes(Property):
    """What was put is taken, or is still there when all is quiet. Where nothing is redelivered, a
    taker that fails or crashes may lose the item in its hands, once a fault has happened; where it
    is, an item is there until it is done. A lost reply is no excuse: one can find out."""

    name = "nothing vanishes"
    needs = SomebodySays("took")
    wants = frozenset({"said", "ended"})
    # items known to be put, and taken (or done); who tries to take; how many attempts were struck
    memo: Any = (frozenset(), frozenset(), frozenset(), 0)

    def __init__(self, found: Found, *, redelivers: bool = False) -> None:
        self._found = found
        self._redelivers = redelivers
        self._safe = "done" if redelivers else "took"

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        put, safe, trying, struck = memo
        wrong = None
        for fact in facts:
            who = {fact.actor}
            if fact.kind == "said":
                if fact.what in ("puts", "put") and fact.outcome in put:
                    putter = view.name(fact.actor)
                    wrong = wrong or f"{putter} {fact.what} {_again(fact.outcome)}"
                if fact.what == "put":
                    put = put | {fact.outcome}
                elif fact.what == "takes":
                    trying = trying | who
                elif fact.what == "took":
                    trying = trying - who
                if fact.what == self._safe:
                    safe = safe | {fact.outcome}
            elif fact.actor in trying and fact.kind == "ended":
                trying, struck = trying - who, struck + (fact.what is not None and view.struck)
        if self._redelivers:
            trying, struck = frozenset(), 0
        return (put, safe, trying, struck), wrong

    def quiet(self, memo: Any, view: View) -> str | None:
        put, safe, trying, struck = memo
        missing = sorted(put - safe - self._found(view))
        excused = struck + sum(_is_gone(view, actor) for actor in trying)
        if len(missing) <= excused:
            return None
        items = in_words([f"item {number}" for number in missing])
        verb, end = ("are", "they are") if len(missing) > 1 else ("is", "it is")
        what = "worked off" if self._redelivers else "taken"
        return f"{items} {verb} lost: put, never {what}, and {end} not in the queue"


class OfTakers(Property):
    """A property of who has which item. Where items are redelivered, whoever is struck has none any
    more, nor who tries for another one, or ends before it is done."""

    wants = frozenset({"said", "ended", "expired"})
    # items that somebody has begun to put; of each that was taken: by whom, in which session (none:
    # its script has ended); items that are done
    memo: Any = (frozenset(), (), frozenset())

    def __init__(self, *, redelivers: bool = False) -> None:
        self._redelivers = redelivers

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        puts, takers, done = memo
        taken = {item: (actor, session) for item, actor, session in takers}
        wrong = None
        for fact in facts:
            actor, item = fact.actor, fact.outcome
            if fact.kind == "ended":
                for n, (taker, _) in [*taken.items()]:
                    if taker == actor and (not self._redelivers or n in done):
                        taken[n] = (actor, 0)
                    elif taker == actor:
                        del taken[n]
            elif fact.kind == "expired" and self._redelivers:
                taken = {n: each for n, each in taken.items() if each[0] != actor}
            elif fact.kind != "said":
                continue
            elif fact.what == "puts":
                puts = puts | {item}
            elif fact.what == "done":
                done = done | {item}
            elif fact.what == "takes" and self._redelivers:
                taken = {n: each for n, each in taken.items() if each[0] != actor or n in done}
            elif fact.what == "took":
                wrong = wrong or self.took(actor, item, puts, taken, view)
                taken[item] = (actor, view.sessions[view.home(actor)][at.ID])
        takers = tuple(sorted((n, *taker) for n, taker in taken.items()))
        return (puts, takers, done if self._redelivers else frozenset()), wrong

    def took(
        self,
        actor: int,
        item: int,
        puts: frozenset[int],
        taken: dict[int, tuple[int, int]],
        view: View,
    ) -> str | None:
        """Somebody takes an item: what is wrong with that."""
        return None

    def has_it(self, actor: int, session: int, view: View) -> bool:
        """Whether what this one took in this session is its own still."""
        if not self._redelivers or not session:
            return True
        now, state = view.sessions[view.home(actor)], view.actors[actor]
        lost = now[at.ID] != session or now[at.LIFE] != "up"
        return not lost and not state[at.CANCELS] and bool(state[at.FRAMES])


class NothingTakenTwice(OfTakers):
    """No item is taken twice, and none that nobody has put. Where items are redelivered, one may be
    taken again when its taker was struck, or has given it back; where they are not, whoever takes
    one must have written something, or it has taken nothing."""

    name = "nothing is taken twice"
    needs = SomebodySays("took")
    wants = frozenset({"said", "ended", "expired", "applied"})
    memo: Any = (OfTakers.memo, frozenset())  # and in which sessions something was written so far

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        taken, wrote = memo
        wrote = wrote.union(
            view.home(fact.actor)
            for fact in facts
            if fact.kind == "applied" and fact.actor >= 0 and written(fact)
        )
        said = [fact for fact in facts if fact.kind != "applied"]
        taken, wrong = super().after(taken, said, view)
        for fact in said:
            if self._redelivers or fact.what != "took" or wrong is not None:
                continue
            if view.home(fact.actor) not in wrote:
                who = view.name(fact.actor)
                wrong = f"{who} says that it took item {fact.outcome}, and has written nothing"
        return (taken, wrote), wrong

    def took(
        self,
        actor: int,
        item: int,
        puts: frozenset[int],
        taken: dict[int, tuple[int, int]],
        view: View,
    ) -> str | None:
        who = view.name(actor)
        if item not in puts:
            return f"{who} takes item {item}, which nobody has put"
        if item not in taken or not self.has_it(*taken[item], view):
            return None
        first = view.name(taken[item][0])
        by = f"by {first} and by {who}" if first != who else f"by {who} both times"
        return f"item {item} is taken twice: {by}"


class NobodyWaitsBesideAnItem(OfTakers):
    """Nobody who tries to take waits while there is an item that nobody has."""

    name = "nobody waits beside an item"

    def __init__(self, found: Found, *, redelivers: bool = False) -> None:
        super().__init__(redelivers=redelivers)
        self._found = found

    def idle(self, memo: Any, view: View) -> str | None:
        _, takers, _ = memo
        those = waiting(view)
        free = self._found(view) if those else frozenset()
        if free and self._redelivers:
            free -= {item for item, actor, ses in takers if self.has_it(actor, ses, view)}
        return f"{how_it_waits(view, those[0])} though item {min(free)} is there" if free else None


class InOrder(Property):
    """Items are taken in the order in which they were put: none while one is there that was put
    before anybody began to put it. Where items are redelivered those that somebody has, or tries to
    take, are passed over."""

    name = "first put, first taken"
    needs = SomebodySays("took")
    wants = frozenset({"said", "ended"})
    # items known to be put; pairs (earlier, later); items that somebody has; who tries to take
    memo: Any = (frozenset(), frozenset(), frozenset(), frozenset())

    def __init__(self, found: Found, *, redelivers: bool = False) -> None:
        self._found = found
        self._redelivers = redelivers

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        put, earlier, taken, trying = memo
        wrong = None
        for word, actor, item in _words(facts):
            if word == "puts":
                earlier = earlier | {(first, item) for first in put}
            elif word == "put":
                put = put | {item}
            elif word == "takes" and self._redelivers:
                trying = trying | {actor}
            elif word == "took":
                trying, taken = trying - {actor}, taken | {item}
                before = {first for first, later in earlier if later == item} & self._found(view)
                if self._redelivers:
                    others = any(not _is_gone(view, other) for other in trying)
                    before = set() if others else before - taken
                if before and wrong is None:
                    wrong = f"{view.name(actor)} takes item {item} before item {min(before)}"
        taken = taken if self._redelivers else frozenset()
        return (put, earlier, taken, trying), wrong
