"""What holds of waiting, of waking, and of what is left in the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...errors import Cancelled, ConnectionLost, SessionLost, TimedOut
from ...kernel import watch_of
from ...steps import FireKind, Wait, Within
from .. import state as at
from ..state import Fact
from ..steps import Work
from .base import OfFacts, Property, View, in_words
from .goals import SomebodySays


class NoLostWakeup(Property):
    """Nobody waits while nothing can come; nor asks again and again while nothing can change."""

    name = "no lost wakeup"

    def quiet(self, memo: Any, view: View) -> str | None:
        for number, actor in enumerate(view.actors):
            if actor[at.DOES] == "wait":
                return f"{view.name(number)} waits for ever"
        return None

    def for_ever(self, memo: Any, who: str, *, polls: bool) -> str | None:
        return f"{who}: {_NO_END}"


class NobodyGoesRound(Property):
    """Nobody asks again and again, without a pause, while nothing can change. Where waiting for
    ever may be right, so is looking again from time to time."""

    name = "nobody goes round for ever"

    def for_ever(self, memo: Any, who: str, *, polls: bool) -> str | None:
        return None if polls else f"{who}: {_NO_END}"


_NO_END = "nothing can happen any more that would end it"


def watched(view: View, actor: int) -> list[str]:
    """What an actor watches, and waits for: if only its clock makes sure that it wakes, what it has
    set a watch on with its last requests. (Whoever polls may have older watches: they wake it
    early, and are not what it relies on.)"""
    users = [user for user in view.sessions[view.home(actor)][at.USERS] if user[2] == actor]
    if users and view.actors[actor][at.DOES] == "pause":
        fresh = _last_watches(view.actors[actor][at.FRAMES])
        users = [user for user in users if user[0].persistent or user[1] in fresh]
    return sorted(path for _, path, _ in users)


def _last_watches(frames: Sequence[Any]) -> frozenset[str]:
    """What was to be watched by the last requests of a script that waits for its clock."""
    for frame in reversed(frames):
        moment = frame[at.MOMENT].parent
        while moment is not None and moment.step is not None:
            if moment.requests:
                keys = [watch_of(request) for request in moment.requests]
                return frozenset(key.path for key in keys if key is not None)
            if isinstance(moment.step, Wait | Within | Work):
                return frozenset()
            moment = moment.parent
    return frozenset()


def waiting(view: View, *, pollers: bool = False) -> list[int]:
    """Who waits to be woken: for ever, or until its clock wakes it. Whoever waits for its clock and
    relies on no watch polls, and counts only if `pollers` do."""
    return [
        number
        for number, actor in enumerate(view.actors)
        if actor[at.DOES] == "wait"
        or (actor[at.DOES] == "pause" and (pollers or watched(view, number)))
    ]


def how_it_waits(view: View, actor: int) -> str:
    """How an actor waits, in words."""
    timed = view.actors[actor][at.DOES] == "pause"
    paths = ", ".join(watched(view, actor))
    return (
        f"{view.name(actor)} waits{' for its clock' * timed}{f', watching {paths},' * bool(paths)}"
    )


class NobodyWaitsWhile(Property):
    """Nobody waits while waiting is wrong: `condition(view)` says why it is wrong then, or None.

    It is asked where nothing is under way but work. That a wait ends by its clock is no excuse:
    whoever watches, and must be woken by its clock when what it waits for is there already, was not
    woken. Whoever watches nothing polls: with `pollers` it is accused as well.

    Waiting itself is right: at a barrier that nobody has opened, say, since its opener has crashed.
    """

    def __init__(
        self, condition: Callable[[View], str | None], name: str = "", *, pollers: bool = False
    ) -> None:
        self._condition = condition
        self._pollers = pollers
        self.name = name or "nobody waits for what is there"

    def idle(self, memo: Any, view: View) -> str | None:
        those = waiting(view, pollers=self._pollers)
        why = self._condition(view) if those else None
        return f"{how_it_waits(view, those[0])} though {why}" if why else None


class NobodySleepsBesideAFreeLock(Property):
    """Nobody who watches is left to its clock while nobody holds: a wait that ends by itself does
    not hide a lost wakeup. (Who watches nothing polls, and is not accused.)"""

    name = "nobody sleeps beside a free lock"

    def idle(self, memo: Any, view: View) -> str | None:
        if view.grants:
            return None
        timed = [who for who in waiting(view) if view.actors[who][at.DOES] == "pause"]
        return f"{how_it_waits(view, timed[0])} while nobody holds" if timed else None


class NoSleeper(Property):
    """When nothing is under way nobody waits, not even for its clock, while fewer than `count`
    hold. (Whoever watches nothing polls, and is not accused. What its holder's own clock has ended
    is taken until its node is gone.) Where somebody takes several `at_once` it waits until so many
    are free, and may have some of them by then."""

    name = "nobody sleeps beside a free lease"
    wants = frozenset({"lapsed"})
    memo: frozenset[str] = frozenset()  # what was taken when its holder's clock ended it

    def __init__(self, count: int, *, at_once: int = 1) -> None:
        self.count = count
        self._enough = count - at_once

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        return memo | {fact.what for fact in facts if fact.kind == "lapsed"}, None

    def idle(self, memo: Any, view: View) -> str | None:
        those = waiting(view)
        if not those:
            return None
        grants = view.real_grants()
        held = len(grants) + len(memo & view.tree.nodes.keys() - {grant.path for grant in grants})
        if held <= self._enough:
            are = "is" if held == 1 else "are"
            return f"{view.name(those[0])} waits while {held} of {self.count} {are} taken"
        return None


class OneWokenPerRelease(Property):
    """A single event wakes at most one waiter about a deleted node."""

    name = "at most one woken per release"
    wants = frozenset({"woke"})

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        woken = [
            fact.actor
            for fact in facts
            if fact.kind == "woke" and fact.what.kind in (FireKind.DELETED, FireKind.CHILD)
        ]
        if len(woken) > 1 and any(fact.kind == "deleted" for fact in facts):
            return memo, f"a herd: one release wakes {in_words([*map(view.name, woken)])}"
        return memo, None


class NothingLeft(OfFacts):
    """When all is over no ephemeral node and no watch is left, and whoever is granted something has
    no watch left from its waiting (unless it is a design that watches more than one node's going:
    then that watch goes with the acquire)."""

    name = "nothing left behind"

    def __init__(self, *, while_holding: bool = True) -> None:
        self.wants = frozenset({"acquired"}) if while_holding else frozenset()

    def wrong(self, fact: Fact, view: View) -> str | None:
        users = view.sessions[view.home(fact.actor)][at.USERS]
        left = sorted(path for _, path, actor in users if actor == fact.actor)
        return (
            f"{view.name(fact.actor)} holds and still watches {', '.join(left)}" if left else None
        )

    def quiet(self, memo: Any, view: View) -> str | None:
        if any(actor[at.DOES] != "ended" for actor in view.actors):
            return None  # somebody waits for ever: that is another property's business
        left = sorted(path for path, entry in view.tree.nodes.items() if entry.owner)
        if left:
            return f"all have ended and {', '.join(left)} is left behind"
        for number, session in enumerate(view.sessions):
            if session[at.WATCHES]:
                paths = ", ".join(sorted(path for _, path, _ in session[at.WATCHES]))
                return f"all have ended and {view.session_name(number)} still watches {paths}"
        return None


class EndsWell(Property):
    """No actor ends with an error, except one that a fault explains. (One of the script's own is
    told by "scripts raise nothing of their own".) That it lost its connection or
    its session, was cancelled or ran out of time is no excuse before a fault has happened: but
    whoever was woken by its clock may have run out of time, and to whom nobody comes back (the
    spawned) may be stopped."""

    name = "nobody fails"
    wants = frozenset({"ended", "polled"})
    memo: frozenset[int] = frozenset()  # whom their clocks have woken

    def __init__(self, *allowed: type[BaseException]) -> None:
        self.allowed: tuple[type[BaseException], ...] = (Cancelled, *allowed)

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        wrong = None
        for fact in facts:
            if fact.kind == "polled" and not view.struck:
                memo = memo | {fact.actor}
            elif fact.kind == "ended":
                told = any(each.kind == "failed" and each.what is fact.what for each in facts)
                wrong = wrong or (None if told else self._wrong(fact, memo, view))
                memo = memo - {fact.actor}
        return memo, wrong

    def _wrong(self, fact: Fact, polled: frozenset[int], view: View) -> str | None:
        error = fact.what
        if error is None:
            return None
        fails = f"{view.name(fact.actor)} fails with {error!r}"
        if not isinstance(error, self.allowed):
            return fails
        if view.struck or not isinstance(error, _STRUCK):
            return None
        timed = isinstance(error, TimedOut) and fact.actor in polled
        stopped = not isinstance(error, TimedOut) and fact.actor not in view.everybody
        return None if timed or stopped else f"{fails} before any fault has happened"


class NobodyGivesUp(Property):
    """Whoever says that it begins something says that it has done it, before its script ends: for
    each pair of words, as ("adds", "added"), and for each amount. To give up is right for whoever
    ends with an error, or was woken by its clock meanwhile; and for all once a fault has happened.
    What is taken back, `Say("adds", -n)`, need not be done."""

    name = "nobody gives up"
    wants = frozenset({"said", "ended", "polled"})
    # what is to be done, by whom; whom their clocks have woken; who has given up what
    memo: Any = ((), frozenset(), frozenset())

    def __init__(self, *pairs: tuple[str, str], which: str = "") -> None:
        self._pairs = [(begins + which, does + which) for begins, does in pairs]
        self.name = self.name + which
        self.needs = SomebodySays(self._pairs[0][1])

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        undone, polled, gave_up = memo
        undone = list(undone)
        for fact in facts:
            a = fact.actor
            if fact.kind == "polled":
                polled = polled | {a}
            elif fact.kind == "said":
                self._said(fact, undone)
            elif fact.kind == "ended":
                mine = [each for each in undone if each[0] == a]
                undone = [each for each in undone if each[0] != a]
                if mine and fact.what is None and not view.struck and a not in polled:
                    gave_up = gave_up | {mine[0][:3]}
                polled = polled - {a}
        return (tuple(sorted(undone)), polled, gave_up), None

    def _said(self, fact: Fact, undone: list[tuple[int, str, str, int]]) -> None:
        a, amount = fact.actor, fact.outcome
        for begins, does in self._pairs:
            if fact.what == does or (fact.what == begins and amount < 0):
                begun = (a, begins, does, abs(amount) if fact.what == begins else amount)
                if begun in undone:
                    undone.remove(begun)
        for begins, does in self._pairs:
            if fact.what == begins and amount >= 0:
                undone.append((a, begins, does, amount))

    def idle(self, memo: Any, view: View) -> str | None:
        gave_up = memo[2]
        if not gave_up or any(actor[at.DOES] == "work" for actor in view.actors):
            return None  # others may yet do worse
        a, begins, does = min(gave_up)
        return f"{view.name(a)} has ended: it has said {begins!r}, and never {does!r}"


_STRUCK = (Cancelled, ConnectionLost, SessionLost, TimedOut)
"""What befalls nobody by itself."""
