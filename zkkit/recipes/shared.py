"""Scripts that every recipe uses: creating with parents, protected creating, deleting surely.

**Creating with parents.** The create is tried first; where a parent is missing, one more flight
makes all levels, the node and whatever else was asked for. Parents are containers (the server
reaps them when empty), so a missing parent is an everyday event, not an error.

**Protected creating.** The name carries a guid: `<directory>/_c_<guid>-<name><seq>`. After a lost
reply {Sync, Children} finds out whether the create was applied. Without the Sync a lagging
follower would hide the node, and its owner would queue behind itself. The guid belongs to one
session, and a node found by it must be owned by the session we are in.

**Deleting surely.** Repeated until the server has confirmed it or the session, and so the
ephemeral node, is over; a cancel does not stop it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import (
    Cancelled,
    ConnectionLost,
    NodeExists,
    NoNode,
    SessionLost,
    TimedOut,
    Unimplemented,
    ZkkitError,
)
from ..paths import guid_of, join, levels, protected, split
from ..steps import (
    Children,
    Create,
    Delete,
    Exists,
    Mode,
    Node,
    Request,
    Script,
    SessionId,
    Sync,
    Together,
    Wait,
    Within,
)


def create_with_parents(
    create: Create, *also: Request[Any], parents: Mode = Mode.CONTAINER
) -> Script[tuple[Any, ...]]:
    """Send `create` and `also` in one flight; where parents are missing make them, in one more.

    Gives the outcomes as a settled flight does: errors stand as values.
    """
    outcomes = yield from Together(create, *also, settle=True)
    while isinstance(outcomes[0], NoNode):
        above = tuple(levels(split(create.path)[0]))
        made = tuple(Create(level, mode=parents, acl=create.acl) for level in above)
        settled = yield from Together(*made, create, *also, settle=True)
        refused = next((o for o in settled[: len(made)] if isinstance(o, Unimplemented)), None)
        if refused is not None and parents is Mode.CONTAINER:
            parents = Mode.PERSISTENT  # a server from before containers
            continue
        outcomes = settled[len(made) :]
        if isinstance(outcomes[0], NoNode):
            # Either a level was refused, and that says more than the missing parent it caused,
            # or somebody reaped the parents between two of our requests: once more.
            _raise_refusal(settled[: len(made)])
    return outcomes


def _raise_refusal(made: tuple[Any, ...]) -> None:
    """Raise what kept the parent from being made. An ancestor that exists may well refuse us
    (NoAuth): only the level nearest to the node tells."""
    nearest = made[-1] if made else None
    if isinstance(nearest, ZkkitError) and not isinstance(nearest, NoNode | NodeExists):
        raise nearest


def create_protected(
    directory: str,
    guid: str,
    name: str,
    *,
    data: bytes,
    mode: Mode = Mode.EPHEMERAL_SEQUENTIAL,
    parents: Mode = Mode.CONTAINER,
) -> Script[tuple[Node, tuple[str, ...]]]:
    """Create `<directory>/_c_<guid>-<name>`; gives the node and a listing made after it."""
    create = Create(join(directory, protected(guid, name)), data, mode)
    while True:
        made, names = yield from create_with_parents(create, Children(directory), parents=parents)
        if isinstance(made, ConnectionLost):
            found = yield from find_protected(directory, guid)
            if found is not None:
                return found
            continue  # it never arrived
        if isinstance(made, ZkkitError):
            raise made
        if isinstance(names, ZkkitError):
            names = yield from list_children(directory)
        return made, names


def find_protected(directory: str, guid: str) -> Script[tuple[Node, tuple[str, ...]] | None]:
    """The node of this session whose name carries `guid`, with the listing it was found in."""
    while True:
        try:
            _, names = yield from Together(Sync(directory), Children(directory))
            mine = next((name for name in names if guid_of(name) == guid), None)
            if mine is None:
                return None
            path = join(directory, mine)
            stat = yield from Exists(path)
            session = yield from SessionId()
            if stat is None or stat.ephemeral_owner not in (0, session):
                return None
            return Node(path, stat), names
        except NoNode:
            return None
        except ConnectionLost:
            continue


def list_children(directory: str) -> Script[tuple[str, ...]]:
    """The children, asked for again while the connection breaks."""
    while True:
        try:
            return (yield from Children(directory))
        except ConnectionLost:
            continue


def surely(attempt: Callable[[], Script[None]]) -> Script[None]:
    """Repeat an attempt to remove something until it is certain: done, not there, or gone with its
    session. Outlives connection loss and cancel."""
    cancelled: Cancelled | None = None
    while True:
        try:
            yield from attempt()
            break
        except (NoNode, SessionLost):
            break
        except ConnectionLost:
            continue
        except Cancelled as stop:
            cancelled = stop
    if cancelled is not None:
        raise cancelled


def delete_surely(path: str) -> Script[None]:
    """Delete a node whose name nobody else can ever have."""
    return surely(lambda: iter(Delete(path)))


def withdraw(directory: str, guid: str, node: Node | None) -> Script[None]:
    """Remove our protected node, also where no reply ever told us its name."""
    try:
        if node is None:
            found = yield from find_protected(directory, guid)
            if found is None:
                return
            node = found[0]
        yield from delete_surely(node.path)
    except SessionLost:
        return  # the node went, or will go, with its session


def pause(seconds: float) -> Script[None]:
    """Let `seconds` pass (or less, if a watch fires)."""
    try:
        yield from Within(seconds, Wait())
    except TimedOut:
        return
