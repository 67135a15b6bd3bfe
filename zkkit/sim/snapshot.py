"""How things stand in a state, in names that a reader can follow."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from . import state as at
from .roster import Roster
from .scenes import Belief, FollowerView, Watching, Znode
from .state import Draft, is_real
from .tree import Tree
from .watching import TABLES, ServerTable

_GUID = re.compile(r"(?:_c_)?(\d{8})-0000-0000-0000-(\d{12})-?")
_ZEROS = re.compile(r"(?<!\d)(?=\d{10}(?!\d))0{1,9}")
_DOING = {
    "": "goes on", "fly": "goes on", "wait": "waits", "pause": "pauses", "work": "works",
    "begin": "has not begun", "come": "has not begun", "call": "goes on", "stop": "goes on",
}  # fmt: skip
_LONGEST = 40  # characters of data


def short(names: Sequence[str], text: str) -> str:
    """Paths, or a sentence with paths: the actor's name instead of its guid, and sequence numbers
    without their zeros. `<A#2>` is the second guid that A has had."""

    def owner(found: re.Match[str]) -> str:
        number, attempt = int(found[1]) - 1, int(found[2])
        if not 0 <= number < len(names):
            return found[0]
        return f"<{names[number]}#{attempt}>" if attempt > 1 else f"<{names[number]}>"

    return _ZEROS.sub("", _GUID.sub(owner, text))


def nodes(roster: Roster, draft: Draft) -> tuple[Znode, ...]:
    """The leader's nodes, in the order of their creation."""
    found = [(entry.czxid, path) for path, entry in draft.tree.nodes.items() if path != "/"]
    return tuple(_node(roster, draft, path) for _, path in sorted(found))


def _node(roster: Roster, draft: Draft, path: str) -> Znode:
    entry = draft.tree.nodes[path]
    owner, old = "", False
    if entry.owner:
        number = entry.owner % 1000 - 1  # see world.session_id
        owner = roster.session_names[number]
        old = draft.sessions[number][at.ID] not in (0, entry.owner)
    data = readable(roster, entry.data)
    return Znode(short(roster.names, path), owner, old, data, entry.version)


def readable(roster: Roster, data: bytes) -> str:
    """Data as text, cut where it is long."""
    text = short(roster.names, data.decode()) if data.isascii() else data.hex()
    return cut(text if text.isprintable() else repr(text))


def cut(text: str) -> str:
    """A text, cut where it is long."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def watches(roster: Roster, draft: Draft) -> tuple[Watching, ...]:
    """Who watches what: by the actors' belief, and whether the server knows of it."""
    found: dict[tuple[str, str], Watching] = {}
    for s, session in enumerate(draft.sessions):
        on_server = {(table, path) for table, path, _ in session[at.WATCHES]}
        users = sorted(session[at.USERS], reverse=True)  # data before children
        used = {path for _, path, _ in users}
        watching = [(roster.names[actor], TABLES[kind][-1], path) for kind, path, actor in users]
        for table, path in sorted(on_server, reverse=True):
            if path not in used:
                watching.append((roster.session_names[s], table, path))
        for who, table, path in watching:
            children, known = table is ServerTable.CHILD, (table, path) in on_server
            watch = Watching(who, short(roster.names, path), children, known)
            found.setdefault((who, path), watch)
    return tuple(sorted(found.values()))


def holds(roster: Roster, draft: Draft) -> tuple[Belief, ...]:
    """Who was told that it holds what."""
    names = roster.names
    return tuple(
        Belief(names[grant.actor], short(names, grant.path), is_real(grant, draft.tree))
        for grant in draft.grants
    )


def views(roster: Roster, draft: Draft) -> tuple[FollowerView, ...]:
    """What followers that lag show instead."""
    return tuple(
        FollowerView(roster.session_names[s], _paths(roster, session[at.VIEW]))
        for s, session in enumerate(draft.sessions)
        if session[at.LAGS] and session[at.VIEW] is not None and session[at.VIEW] != draft.tree
    )


def _paths(roster: Roster, tree: Tree) -> tuple[str, ...]:
    return tuple(short(roster.names, path) for path in sorted(tree.nodes) if path != "/")


def doing(draft: Draft) -> tuple[str, ...]:
    """What each actor does."""
    return tuple(_DOING.get(actor[at.DOES], actor[at.DOES]) for actor in draft.actors)


def stands(actors: Sequence[Any]) -> tuple[str, ...]:
    """The line of its script at which each actor stands; "" if it has ended."""
    return tuple(
        actor[at.FRAMES][-1][at.MOMENT].place.text if actor[at.FRAMES] else "" for actor in actors
    )
