"""What holds of locks, leases and elections.

Grants are known from `Mark` steps: `acquired` begins one; it ends with `released`, or when the
client learns that its session is over, or with its process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...paths import split
from ..state import LAGS, LIFE, Fact, Grant
from .base import Property, View
from .waiting import NoLostWakeup, NothingLeft, OneWokenPerRelease


class AtMost(Property):
    """At every zxid there are, in one directory, at most `count` grants whose holder was told and
    still has its node."""

    wants = frozenset({"acquired"})
    _hold = "hold"

    def __init__(self, count: int, name: str = "") -> None:
        self.count = count
        self.name = name or f"at most {count}"

    def _grants(self, view: View) -> Sequence[Grant]:
        return view.real_grants()

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        if len(view.told) <= self.count:
            return memo, None
        for directory, grants in _by_directory(self._grants(view)).items():
            if len(grants) > self.count:
                who = " and ".join(view.name(grant.actor) for grant in grants)
                return memo, f"{who} {self._hold} {directory} at once, where {self.count} may"
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
    return AtMost(1, "one leader")


class NoOverlap(AtMost):
    """At no time do two believe that they hold: told so, and neither released nor told that it is
    over. That is more than mutual exclusion: whoever has lost its node and does not know it counts.
    No lock can promise it to a holder that pauses for longer than its session lives."""

    _hold = "believe they hold"

    def __init__(self) -> None:
        super().__init__(1, "holds never overlap")

    def _grants(self, view: View) -> Sequence[Grant]:
        return view.told


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

    def __init__(self, writes: Callable[[str], bool] = _is_writer) -> None:
        self._writes = writes

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        for directory, grants in _by_directory(view.real_grants()).items():
            for writer in grants:
                if not self._writes(writer.path):
                    continue
                others = {view.name(g.actor) for g in grants if g.actor != writer.actor}
                if others:
                    who = " and ".join(sorted(others))
                    return memo, (
                        f"{view.name(writer.actor)} may write in {directory} while {who} may be "
                        f"there as well"
                    )
        return memo, None


class Fifo(Property):
    """Grants come in the order in which the nodes were created."""

    name = "first in, first out"
    wants = frozenset({"acquired"})
    memo = ()

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        latest = dict(memo)
        for fact in facts:
            if fact.kind != "acquired":
                continue
            directory = split(fact.what)[0]
            if fact.outcome < latest.get(directory, 0):
                return memo, (
                    f"{view.name(fact.actor)} is granted {directory} after somebody whose node "
                    f"was created later"
                )
            latest[directory] = fact.outcome
        return tuple(sorted(latest.items())), None


class RealGrants(Property):
    """Whoever is told that it holds has a node of its own session that is there: unless the server
    has just ended the session, which the client cannot know, or its follower lags."""

    name = "grants are real"
    wants = frozenset({"acquired"})

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        for fact in facts:
            if fact.kind != "acquired":
                continue
            session = view.sessions[view.home(fact.actor)]
            if session[LIFE] != "up" or session[LAGS]:
                continue
            entry = view.tree.nodes.get(fact.what)
            if entry is None:
                return (
                    memo,
                    f"{view.name(fact.actor)} says it holds {fact.what}, which is not there",
                )
            if entry.owner not in (0, session[0]):
                return memo, (
                    f"{view.name(fact.actor)} says it holds {fact.what}, a node of another session"
                )
        return memo, None


class NobodyTakesAway(Property):
    """Nobody deletes a node by which somebody else holds."""

    name = "nobody takes away what others hold"
    wants = frozenset({"deleted"})

    def after(self, memo: Any, facts: Sequence[Fact], view: View) -> tuple[Any, str | None]:
        for fact in facts:
            if fact.kind != "deleted":
                continue
            for grant in view.told:
                if (grant.path, grant.zxid) != (fact.what, fact.outcome):
                    continue
                if grant.actor != fact.actor:
                    who = view.name(fact.actor) if fact.actor >= 0 else "somebody who has left"
                    return memo, f"{who} deletes {grant.path}, which {view.name(grant.actor)} holds"
        return memo, None


def of_a_lock() -> tuple[Property, ...]:
    """What every lock must hold to."""
    return (mutual_exclusion(), RealGrants(), NoLostWakeup(), NothingLeft(), NobodyTakesAway())


def of_a_fair_lock() -> tuple[Property, ...]:
    """What a lock that queues must hold to."""
    return (*of_a_lock(), Fifo(), OneWokenPerRelease())
