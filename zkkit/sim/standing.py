"""How things stand in a state, in names that a reader can follow."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .scenes import Holding, View, Watching, Znode
from .state import DOES, ID, LAGS, USERS, VIEW, WATCHES, Draft
from .tree import Entry, Tree
from .watching import Table

if TYPE_CHECKING:
    from .machine import Machine

_GUID = re.compile(r"(?:_c_)?(\d{8})-0000-0000-0000-(\d{12})-?")
_ZEROS = re.compile(r"(?<!\d)(?=\d{10}(?!\d))0{1,9}")
_DOING = {
    "": "goes on", "fly": "goes on", "wait": "waits", "pause": "pauses", "work": "works",
    "begin": "has not begun", "call": "goes on", "stop": "goes on",
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


def nodes(machine: Machine, draft: Draft) -> tuple[Znode, ...]:
    """The leader's nodes, in the order of their creation."""
    found = [(entry.czxid, path) for path, entry in draft.tree.nodes.items() if path != "/"]
    return tuple(
        _node(machine, draft, path, draft.tree.nodes[path]) for _, path in sorted(found)
    )  # fmt: skip


def _node(machine: Machine, draft: Draft, path: str, entry: Entry) -> Znode:
    owner, old = "", False
    if entry.owner:
        number = entry.owner % 1000 - 1  # see world.session_id
        owner = machine.session_names[number]
        old = draft.sessions[number][ID] not in (0, entry.owner)
    data = readable(machine, entry.data)
    return Znode(short(machine.names, path), owner, old, data, entry.version)


def readable(machine: Machine, data: bytes) -> str:
    """Data as text, cut where it is long."""
    text = short(machine.names, data.decode()) if data.isascii() else data.hex()
    text = text if text.isprintable() else repr(text)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def watches(machine: Machine, draft: Draft) -> tuple[Watching, ...]:
    """Who watches what: by the actors' belief, and whether the server knows of it."""
    found: dict[tuple[str, str], Watching] = {}
    for s, session in enumerate(draft.sessions):
        on_server = {(table, path) for table, path, _ in session[WATCHES]}
        used = set()
        for table, path, _, actor in sorted(session[USERS], reverse=True):  # data before children
            used.add(path)
            who = machine.names[actor]
            found.setdefault((who, path), _watching(machine, who, path, table, on_server))
        for table, path in sorted(on_server, reverse=True):
            if path not in used:
                who = machine.session_names[s]
                found.setdefault((who, path), _watching(machine, who, path, table, on_server))
    return tuple(sorted(found.values()))


def _watching(machine: Machine, who: str, path: str, table: Table, there: set[Any]) -> Watching:
    known = (table, path) in there
    return Watching(who, short(machine.names, path), table is Table.CHILD, known)


def holds(machine: Machine, draft: Draft) -> tuple[Holding, ...]:
    """Who was told that it holds what."""
    entries = [(grant, draft.tree.nodes.get(grant.path)) for grant in draft.told]
    return tuple(
        Holding(
            machine.names[grant.actor],
            short(machine.names, grant.path),
            entry is not None and entry.czxid == grant.zxid,
        )
        for grant, entry in entries
    )


def views(machine: Machine, draft: Draft) -> tuple[View, ...]:
    """What followers that lag show instead."""
    return tuple(
        View(machine.session_names[s], _paths(machine, session[VIEW]))
        for s, session in enumerate(draft.sessions)
        if session[LAGS] and session[VIEW] is not None and session[VIEW] != draft.tree
    )


def _paths(machine: Machine, tree: Tree) -> tuple[str, ...]:
    return tuple(short(machine.names, path) for path in sorted(tree.nodes) if path != "/")


def doing(draft: Draft) -> tuple[str, ...]:
    """What each actor does."""
    return tuple(_DOING.get(actor[DOES], actor[DOES]) for actor in draft.actors)
