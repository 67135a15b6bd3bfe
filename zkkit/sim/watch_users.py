"""Who uses which watch of a session: what a real session's watch table does, in a state.

A session has the watches that its server keeps for it (zkkit.sim.watching), and for each of them
the actors that set it. The rules are the kernel's. Here a request is served and answered in one
event, so nobody ever waits for a watch that is still being asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..kernel import WatchKind, child_event, hearers, watch_of, watch_to_ask
from ..steps import Fire
from .roster import Roster
from .state import USERS, WATCHES, Draft
from .tree import Change
from .watching import TABLES, ServerTable, Watches, fire, with_watch


class WatchUsers:
    """The users of all watches. `careless`: a run that ends takes its watches from the server even
    if others need them."""

    def __init__(self, roster: Roster, *, careless: bool) -> None:
        self._roster = roster
        self._careless = careless
        self._known: dict[tuple[Watches, int], tuple[Watches, Any]] = {}
        self._kept: list[Any] = []  # what the ids in the cache belong to

    def add(self, draft: Draft, s: int, owner: int, request: Any) -> None:
        """A request was served. If it asks for a watch the server has it now, or one that stands
        for it. An `owner` below 0 has left meanwhile: its watch is removed if nobody needs it."""
        session = draft.session(s)
        known = self._known.get((session[WATCHES], id(request)))
        if known is None:
            self._kept.append(request)
            known = self._known[session[WATCHES], id(request)] = _asked(session[WATCHES], request)
        session[WATCHES], key = known
        if key is None:
            return
        if owner < 0:
            self._drop_unused(session)
        else:
            session[USERS] = session[USERS] | {(*key, owner)}

    def leave(self, draft: Draft, a: int) -> None:
        """A run has ended: watches that only it used are removed."""
        s = self._roster.home[a]
        session = draft.sessions[s]
        if not any(user[2] == a for user in session[USERS]):
            return
        session = draft.session(s)
        own = [user for user in session[USERS] if user[2] == a]
        session[USERS] = session[USERS].difference(own)
        if self._careless:
            taken = {(table, path) for kind, path, _ in own for table in TABLES[kind]}
            session[WATCHES] = frozenset(w for w in session[WATCHES] if w[:2] not in taken)
        else:
            self._drop_unused(session)

    def _drop_unused(self, session: list[Any]) -> None:
        used: set[Any] = set()
        for kind, path, _ in session[USERS]:
            used.add(path)
            used.update((table, path) for table in TABLES[kind])
        # A persistent one stays for whoever relies on it, in both tables.
        session[WATCHES] = frozenset(
            w for w in session[WATCHES] if (w[1] if w[2].persistent else w[:2]) in used
        )

    def fire(self, draft: Draft, s: int, changes: tuple[Change, ...]) -> Iterator[tuple[int, Fire]]:
        """The actors whose watches fire, one after the other, and what each of them hears."""
        session = draft.session(s)
        session[WATCHES], fires = fire(session[WATCHES], changes)
        for each in fires:
            yield from self._hear(session, each)
            instead = child_event(each.kind, each.path)
            if instead is not None and _is_recursive(session[WATCHES], instead.path):
                yield from self._hear(session, instead)

    def _hear(self, session: list[Any], each: Fire) -> Iterator[tuple[int, Fire]]:
        users = session[USERS]
        if not users:
            return
        found: list[int] = []
        for key in hearers(each.kind, each.path):
            for user in sorted(user for user in users if user[0] == key[0] and user[1] == key[1]):
                if not key.kind.persistent:
                    session[USERS] = session[USERS] - {user}
                if user[2] not in found:
                    found.append(user[2])
        for actor in found:
            yield actor, each


def _asked(watches: Watches, request: Any) -> tuple[Watches, Any]:
    """The server's watches after this request, and the watch that its owner uses from now on."""
    key = watch_of(request)
    if key is None:
        return watches, None
    persistent = [kind for _, path, kind in watches if path == key.path and kind.persistent]
    standing = max(persistent, default=None)
    ask = watch_to_ask(key, standing)
    return watches if ask is None else with_watch(watches, ask), key


def _is_recursive(watches: Watches, path: str) -> bool:
    return (ServerTable.CHILD, path, WatchKind.RECURSIVE) in watches
