"""What holds of locks, leases and elections.

Grants are known from `Mark` steps: `acquired` begins one; it ends with `released`, or when the
client learns that its session is over, or with its process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...paths import join, split
from ..state import DOES, ID, LAGS, LIFE, Fact, Grant
from .base import OfFacts, Property, View, in_number, in_words
from .goals import SomebodyIsGranted
from .waiting import how_it_waits, waiting

_GRANTED = SomebodyIsGranted()


class AtMost(Property):
    """At every zxid there are, in one directory, at most `count` grants whose holder was told and
    still has its node."""

    wants = frozenset({"acquired"})
    needs = _GRANTED

    def __init__(self, count: int, name: str = "", who: str = "holders") -> None:
        self.count = count
        self.name = name or f"at most {count}"
        self._who = who

    def _grants(self, view: View) -> Sequence[Grant]:
        return view.real_grants()

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        if len(view.grants) <= self.count:
            return memo, None
        for grants in _by_directory(self._grants(view)).values():
            if len(grants) > self.count:
                names = in_words([view.name(grant.actor) for grant in grants])
                number = in_number(len(grants))
                but = f", where {self.count} may be" if self.count > 1 else ""
                return memo, f"{number} {self._who} at once{but}: {names}"
        return memo, None


def _by_directory(grants: Sequence[Grant]) -> dict[str, list[Grant]]:
    by_directory: dict[str, list[Grant]] = {}
    for grant in grants:
        by_directory.setdefault(split(grant.path)[0], []).append(grant)
    return by_directory


def mutual_exclusion() -> Property:
    """At every zxid at most one has been told that it is first and still has its node."""
    return AtMost(1, "mutual exclusion")


def one_leader() -> Property:
    """At every zxid at most one has been told that it leads and still has its node."""
    return AtMost(1, "one leader", "leaders")


class NoOverlap(AtMost):
    """At no time do two believe that they hold: told so, and neither released nor told that it is
    over. That is more than mutual exclusion: whoever has lost its node and does not know it counts.
    No lock can promise it to a holder that pauses for longer than its session lives."""

    def __init__(self) -> None:
        super().__init__(1, "holds never overlap", "believe that they hold")

    def _grants(self, view: View) -> Sequence[Grant]:
        return view.grants


def _is_writer(path: str) -> bool:
    """Whether a grant is to write, by Curator's node names."""
    name = split(path)[1]
    if "__WRIT__" not in name and "__READ__" not in name:
        raise ValueError(
            f"{path} has neither __READ__ nor __WRIT__ in its name: "
            f"say which grants are to write with ReadersAndWriters(writes=...)"
        )
    return "__WRIT__" in name


class ReadersAndWriters(Property):
    """No writer with anyone: at every zxid, where somebody was told that it may write in a
    directory and still has its node, nobody else was told that it may read or write there and still
    has its own. Readers may be many, and a writer may read as well.

    `writes(path)` says whether the grant with this node is to write."""

    name = "no writer with anyone"
    wants = frozenset({"acquired"})
    needs = _GRANTED

    def __init__(self, writes: Callable[[str], bool] = _is_writer) -> None:
        self._writes = writes

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        for directory, grants in _by_directory(view.real_grants()).items():
            for writer in grants:
                if not self._writes(writer.path):
                    continue
                others = {
                    f"{view.name(g.actor)} {'writes' if self._writes(g.path) else 'reads'}"
                    for g in grants
                    if g.actor != writer.actor
                }
                if others:
                    who = in_words(sorted(others))
                    return memo, f"{view.name(writer.actor)} writes in {directory} while {who}"
        return memo, None


class NobodySleepsBesideReaders(Property):
    """No reader that watches is left to its clock while nobody writes or wants to: no writer's node
    is in the directory where others read. (Who watches nothing polls, and is not accused.)"""

    name = "nobody sleeps beside readers"

    def __init__(self, writes: Callable[[str], bool] = _is_writer) -> None:
        self._writes = writes

    def idle(self, memo: Any, view: View) -> str | None:
        holders = {grant.actor for grant in view.grants}
        timed = [a for a in waiting(view) if view.actors[a][DOES] == "pause" and a not in holders]
        if not timed:
            return None
        for directory, grants in _by_directory(view.real_grants()).items():
            nodes = [join(directory, name) for name in view.tree.nodes[directory].children]
            if any(self._writes(node) for node in nodes):
                continue
            held = {grant.path for grant in grants}
            owners = {view.tree.nodes[node].owner for node in nodes if node not in held}
            for a in timed:
                if view.sessions[view.home(a)][ID] in owners:
                    return f"{how_it_waits(view, a)} where others read and nobody wants to write"
        return None


class Fifo(Property):
    """Grants come in the order in which the nodes were created."""

    name = "first in, first out"
    wants = frozenset({"acquired"})
    needs = _GRANTED
    memo = ()

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        latest = dict(memo)
        for fact in facts:
            if fact.kind != "acquired":
                continue
            directory = split(fact.what)[0]
            if fact.outcome < latest.get(directory, 0):
                who = view.name(fact.actor)
                return memo, f"{who} was overtaken: one whose node is younger was granted first"
            latest[directory] = fact.outcome
        return tuple(sorted(latest.items())), None


class RealGrants(OfFacts):
    """Whoever is told that it holds has a node of its own session that is there, and names it by
    its czxid: unless the server has just ended the session, which the client cannot know, or its
    follower lags."""

    name = "grants are real"
    wants = frozenset({"acquired"})
    needs = _GRANTED

    def wrong(self, fact: Fact, view: View) -> str | None:
        why = why_not_real(view, fact.actor, fact.what, fact.outcome)
        return f"{view.name(fact.actor)} says it holds {fact.what}, {why}" if why else None


def why_not_real(view: View, actor: int, path: str, zxid: int) -> str | None:
    """Why this node, which an actor calls its own, is not; None if it is, or if its client cannot
    know better."""
    session = view.sessions[view.home(actor)]
    if session[LIFE] not in ("up", "over") or session[LAGS]:
        return None
    entry = view.tree.nodes.get(path)
    if entry is None:
        return "which is not there"
    if session[LIFE] == "up" and entry.owner not in (0, session[ID]):
        return "a node of another session"
    if entry.czxid != zxid:
        return f"but it was not created with zxid {zxid}"
    return None


class OnePlace(Property):
    """Whoever holds at one time holds in one directory (in so many, for a lock made of several):
    else nobody is kept out by anybody."""

    name = "all hold in one place"
    wants = frozenset({"acquired"})
    needs = _GRANTED

    def __init__(self, places: int = 1) -> None:
        self.places = places

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        if len(view.grants) <= self.places:
            return memo, None
        places = _by_directory(view.grants)
        if len(places) <= self.places:
            return memo, None
        who = [f"{view.name(grants[0].actor)} holds in {path}" for path, grants in places.items()]
        return memo, f"a place for each: {in_words(who)}"


class WorksWhileItHolds(Property):
    """Work is done by whoever holds, and by nobody else. (Whoever loses its hold by
    no doing of its own, with its session or by its clock, need not know.)"""

    name = "work is done by holders"
    wants = frozenset({"worked", "lapsed", "ended"})
    needs = _GRANTED
    memo: frozenset[int] = frozenset()

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        wrong = None
        for fact in facts:
            if fact.kind == "lapsed":
                memo = memo | {fact.actor}
            elif fact.kind == "ended":
                memo = memo - {fact.actor}
            elif fact.kind == "worked":
                excused = fact.what or fact.outcome or fact.actor in memo
                wrong = wrong or (
                    None if excused else f"{view.name(fact.actor)} works and holds nothing"
                )
        return memo, wrong


class NobodyTakesAway(OfFacts):
    """Nobody deletes a node by which somebody else holds."""

    name = "nobody takes away what others hold"
    wants = frozenset({"deleted"})
    needs = _GRANTED

    def wrong(self, fact: Fact, view: View) -> str | None:
        for grant in view.grants:
            taken = (grant.path, grant.zxid) == (fact.what, fact.outcome)
            if taken and grant.actor != fact.actor:
                who = view.name(fact.actor) if fact.actor >= 0 else "somebody who has left"
                return f"{who} deletes {grant.path}, which {view.name(grant.actor)} holds"
        return None
