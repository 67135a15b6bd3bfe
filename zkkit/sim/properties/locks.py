"""What holds of locks, leases and elections.

Grants are known from `Mark` steps: `acquired` begins one; it ends with `released`, or when the
client learns that its session is over, or with its process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...errors import SessionLost
from ...paths import join, split
from ..state import FRAMES, ID, LAGS, LIFE, MOMENT, Fact, Grant
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
        return [*dict.fromkeys(view.grants)]


def is_writer(path: str) -> bool:
    """Whether a grant is to write, by the name of its node: by Curator's names, or those of zkkit's
    herd. Whoever does not say that it only reads wants to write."""
    name = split(path)[1]
    return "__READ__" not in name and "-R-" not in name


class ReadersAndWriters(Property):
    """No writer with anyone: at every zxid, where somebody was told that it may write in a
    directory and still has its node, nobody else was told that it may read or write there and still
    has its own. Readers may be many, and a writer may read as well.

    `writes(path)` says whether the grant with this node is to write; by default all do whose name
    does not say that they read."""

    name = "no writer with anyone"
    wants = frozenset({"acquired"})
    needs = _GRANTED

    def __init__(self, writes: Callable[[str], bool] = is_writer) -> None:
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
    """No reader that watches waits while others read and nobody writes or wants to: no writer's
    node is in the directory where they read. (Who watches nothing polls, and is not accused.)"""

    name = "nobody sleeps beside readers"

    def __init__(self, writes: Callable[[str], bool] = is_writer) -> None:
        self._writes = writes

    def idle(self, memo: Any, view: View) -> str | None:
        holders = {grant.actor for grant in view.grants}
        asleep = [a for a in waiting(view) if a not in holders]
        if not asleep:
            return None
        for directory, grants in _by_directory(view.real_grants()).items():
            nodes = [join(directory, name) for name in view.tree.nodes[directory].children]
            if any(self._writes(node) for node in nodes):
                continue
            held = {grant.path for grant in grants}
            owners = {view.tree.nodes[node].owner for node in nodes if node not in held}
            for a in asleep:
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
    """Whoever holds at one time holds in one directory: else nobody is kept out by anybody. For a
    lock made of several, in so many, of which all who work have one in common."""

    name = "all hold in one place"
    wants = frozenset({"acquired"})
    needs = _GRANTED
    memo: frozenset[str] = frozenset()  # where all who have worked so far held

    def __init__(self, places: int = 1) -> None:
        self.places = places
        if places > 1:
            self.wants = frozenset({"acquired", "worked"})

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        wrong = None
        for fact in facts:
            if fact.kind == "worked" and fact.what and self.places > 1:
                here = frozenset(split(grant.path)[0] for grant in fact.what)
                if memo and not memo & here:
                    who = view.name(fact.actor)
                    wrong = f"{who} works and holds in {_only(here)}, and others in {_only(memo)}"
                memo = memo & here or here
        if wrong or len(view.grants) <= self.places:
            return memo, wrong
        places = _by_directory(view.grants)
        if len(places) <= self.places:
            return memo, None
        each = [f"{view.name(grants[0].actor)} holds in {path}" for path, grants in places.items()]
        return memo, f"a place for each: {in_words(each)}"


def _only(places: frozenset[str]) -> str:
    return f"{in_words(sorted(places))} only"


class WorksWhileItHolds(Property):
    """Work is done by whoever holds, and by nobody else: not either when it has deleted the node by
    which it holds. A script that was spawned works under what its session holds. (Whoever loses its
    hold by no doing of its own, and is not told, need not know.)"""

    name = "work is done by holders"
    wants = frozenset({"worked", "lapsed", "expired", "ended", "deleted", "released"})
    needs = _GRANTED
    # who need not know that it holds no more; what its holder has deleted, and not released
    memo: tuple[frozenset[int], frozenset[tuple[str, int]]] = (frozenset(), frozenset())

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        unaware, given_up = memo
        wrong = None
        for place, fact in enumerate(facts):
            if fact.kind == "lapsed" or (fact.kind == "expired" and not _is_told(fact, view)):
                unaware = unaware | {fact.actor}
            elif fact.kind == "ended":
                unaware = unaware - {fact.actor}
            elif fact.kind == "deleted" and fact.actor >= 0:
                given_up = given_up | {
                    (grant.path, grant.zxid)
                    for grant in view.grants
                    if (grant.path, grant.zxid) == (fact.what, fact.outcome)
                    and view.speaks_for(fact.actor, grant.actor)
                }
            elif fact.kind == "worked" and wrong is None:
                held = _held(fact, facts[place + 1 :], view)
                who, gone = view.name(fact.actor), sorted(held & given_up)
                if gone:
                    wrong = f"{who} has given up {gone[0][0]} and works on"
                elif not held and fact.actor not in unaware:
                    wrong = f"{who} works and holds nothing"
        given_up = given_up & {(grant.path, grant.zxid) for grant in view.grants}
        return (unaware, given_up), wrong


def _is_told(fact: Fact, view: View) -> bool:
    """Whether somebody whose session is over has been told so in a line of its own: not user code,
    which nobody interrupts, nor whoever was in a recipe that had no more to do then."""
    frames = view.actors[fact.actor][FRAMES] if fact.actor < len(view.actors) else ()
    if not frames or frames[0][MOMENT].root.employed is not None:
        return not frames
    for frame in reversed(frames):
        moment = frame[MOMENT]
        while moment.parent is not None:
            thrown, what = moment.how
            if thrown and isinstance(what, SessionLost):
                return not moment.parent.private
            moment = moment.parent
    return False


def _held(worked: Fact, later: Sequence[Fact], view: View) -> frozenset[tuple[str, int]]:
    """What somebody held while it worked, or somebody for it. `later`: what has happened since, in
    the same event."""
    mine = {(grant.path, grant.zxid) for grant in worked.what}
    others = {
        (grant.path, grant.zxid)
        for grant in view.grants
        if grant.actor != worked.actor and view.speaks_for(worked.actor, grant.actor)
    }
    for fact in reversed(later):
        if fact.actor != worked.actor and fact.kind in ("acquired", "released"):
            change = others.add if fact.kind == "released" else others.discard
            if view.speaks_for(worked.actor, fact.actor):
                change((fact.what, fact.outcome))
    return frozenset(mine | others)


class NobodyTakesAway(OfFacts):
    """Nobody deletes a node by which somebody else holds. (Whoever deletes its own, and
    works on, breaks "work is done by holders".)"""

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
