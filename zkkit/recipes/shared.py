"""Scripts that every recipe uses: creating with parents, protected creating, deleting surely.

**Creating with parents.** The create is tried first; where a parent is missing, one more flight
makes all levels, the node and whatever else was asked for. Parents are containers (the server
reaps them when empty), so a missing parent is an everyday event, not an error. One that we may not
make is an error, and raised.

**Protected creating.** The name begins with a guid, as `_c_<guid>-lock-` does. After a lost reply
{Sync, Children} finds out whether the create was applied. Without the Sync a lagging
follower would hide the node, and its owner would queue behind itself. The guid belongs to one
session, and a node found by it must be owned by the session we are in.

**Deleting surely.** Repeated until the server has confirmed it or the session, and so the
ephemeral node, is over; a cancel does not stop it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from ..errors import (
    Cancelled,
    ConnectionLost,
    NoAuth,
    NoChildrenForEphemerals,
    NodeExists,
    NoNode,
    NoRoot,
    ServerError,
    SessionClosed,
    SessionLost,
    TimedOut,
    Unimplemented,
    Unreachable,
    ZkkitError,
)
from ..paths import join, levels, split
from ..retry import RetryPolicy
from ..steps import (
    Children,
    Create,
    Delete,
    Exists,
    Mark,
    Mode,
    Node,
    Now,
    Random,
    Request,
    Script,
    SessionId,
    Sync,
    Together,
    Wait,
    Within,
)

R = TypeVar("R")


def create_with_parents(
    create: Create, *also: Request[Any], parents: Mode = Mode.CONTAINER
) -> Script[tuple[Any, ...]]:
    """Send `create` and `also` in one flight; where parents are missing make them, in one more.

    Gives the outcomes as a settled flight does: errors stand as values. Where a parent is missing
    and cannot be made, the reason is raised. It is sent once more only if a level that was there
    had gone when the next one was to be made: whoever reaps them can make us begin again, but
    nothing else can.
    """
    outcomes = yield from Together(create, *also, settle=True)
    above = tuple(levels(split(create.path)[0]))
    while isinstance(outcomes[0], NoNode):
        made = tuple(Create(level, mode=parents, acl=create.acl) for level in above)
        settled = yield from Together(*made, create, *also, settle=True)
        outcomes = settled[len(made) :]
        if isinstance(outcomes[0], NoNode):
            at_fault = _at_fault(create.path, above, settled)
            if isinstance(at_fault, Unimplemented) and parents is Mode.CONTAINER:
                parents = Mode.PERSISTENT  # a server from before containers
            elif at_fault is not None:
                raise at_fault
    if isinstance(outcomes[0], NoAuth | NoChildrenForEphemerals):
        outcomes = (_explained(outcomes[0], create.path, create.path), *outcomes[1:])
    return outcomes


def _at_fault(path: str, above: tuple[str, ...], outcomes: tuple[Any, ...]) -> ZkkitError | None:
    """Why the parent of `path` was missing, by the outcomes of creating the levels above it; None
    if the level that was missing had been there a moment before.

    A level that could not be made for want of its own parent tells nothing: the one above it does.
    What is further up does not matter: an ancestor that exists may well refuse us (NoAuth)."""
    for level, made in reversed(list(zip(above, outcomes, strict=False))):
        if not isinstance(made, NoNode):
            refused = isinstance(made, ServerError) and not isinstance(made, NodeExists)
            return _explained(made, level, path) if refused else None
    return NoRoot(
        f"{path} cannot be made: the root that all paths of this session are below does not exist",
        path="/",
        hint="create it: the chroot at the end of the connect string, and the namespace, if any",
    )


def _explained(refused: ServerError, level: str, path: str) -> ServerError:
    """The refusal to create `level`, which `path` needs, with the name of who is to blame."""
    parent = split(level)[0]
    needs = "" if level == path else f", which {path} needs"
    if isinstance(refused, NoAuth):
        return NoAuth(
            parent,
            message=f"the ACL of {parent} does not let us create {level}{needs}",
            hint=f"have the right to create children of {parent} given to us, or open the "
            "session with auth=",
        )
    if isinstance(refused, NoChildrenForEphemerals):
        return NoChildrenForEphemerals(
            parent,
            message=f"{parent} is an ephemeral node and cannot have children: no {level}{needs}",
            hint="take a path that is not below an ephemeral node",
        )
    return refused


def create_protected(
    directory: str,
    name: str,
    *reads: Request[Any],
    data: bytes,
    mode: Mode = Mode.EPHEMERAL_SEQUENTIAL,
    parents: Mode = Mode.CONTAINER,
    unsure: bool = False,
) -> Script[tuple[Any, ...]]:
    """Create `<directory>/<name>`, where `name` begins with a guid of ours (`paths.protected`).

    Gives the node and what the reads gave, which were served after it, errors as values. `unsure`:
    it may be there already.
    """
    create = Create(join(directory, name), data, mode)
    while True:
        if unsure:
            found = yield from find_protected(directory, name, *reads)
            if found is not None:
                return found
        made, *seen = yield from create_with_parents(create, *reads, parents=parents)
        if isinstance(made, ConnectionLost):
            unsure = True
            continue
        if isinstance(made, ZkkitError):
            raise made
        if any(isinstance(each, ConnectionLost) for each in seen):
            seen = yield from read_all(*reads)
        return (made, *seen)


def find_protected(
    directory: str, name: str, *reads: Request[Any]
) -> Script[tuple[Any, ...] | None]:
    """The node of this session that was to be called `name` (a number may follow), and what the
    reads give; None if it is not there."""
    while True:
        try:
            _, names = yield from Together(Sync(directory), Children(directory))
        except NoNode:
            return None
        except ConnectionLost:
            continue
        mine = next((each for each in names if each.startswith(name)), None)
        if mine is None:
            return None
        path = join(directory, mine)
        stat, *seen = yield from read_all(Exists(path), *reads)
        session = yield from SessionId()
        if stat is None or stat.ephemeral_owner not in (0, session):
            return None
        yield from Mark("found", path, stat.czxid)
        return (Node(path, stat), *seen)


def read_all(*reads: Request[Any]) -> Script[Any]:
    """What these reads give in one flight, errors as values; asked for again while the connection
    breaks."""
    while True:
        seen = yield from Together(*reads, settle=True)
        if not any(isinstance(each, ConnectionLost) for each in seen):
            return seen


def list_children(directory: str, *, watch: bool = False) -> Script[tuple[str, ...]]:
    """The children, asked for again while the connection breaks."""
    while True:
        try:
            return (yield from Children(directory, watch))
        except ConnectionLost:
            continue


def surely(attempt: Callable[[], Script[None]], *, lasting: bool = False) -> Script[None]:
    """Repeat an attempt to remove something until it is certain: done, not there, or gone with its
    session (unless it is `lasting`). Outlives connection loss and cancel."""
    cancelled: Cancelled | None = None
    while True:
        try:
            yield from attempt()
            break
        except NoNode:
            break
        except SessionLost as over:
            if not lasting or isinstance(over, SessionClosed):
                break
        except ConnectionLost:
            continue
        except Cancelled as stop:
            cancelled = stop
    if cancelled is not None:
        raise cancelled


def delete_surely(path: str, *, lasting: bool = False) -> Script[None]:
    """Delete a node whose name nobody else can ever have."""
    return surely(lambda: iter(Delete(path)), lasting=lasting)


def withdraw(
    directory: str, name: str, node: Node | None, *, lasting: bool = False
) -> Script[None]:
    """Remove our protected node, also where no reply ever told us its name."""

    def attempt() -> Script[None]:
        found = yield from find_protected(directory, name)
        if found is not None:
            yield from Delete(found[0].path)

    if node is not None:
        return delete_surely(node.path, lasting=lasting)
    return surely(attempt, lasting=lasting)


def all_of(scripts: Iterable[Callable[[], Script[None]]]) -> Script[None]:
    """Run all of them, one after the other, whatever comes; then raise the cancel, if there was
    one, or else the first error."""
    first: ZkkitError | None = None
    cancelled: Cancelled | None = None
    for each in scripts:
        try:
            yield from each()
        except ZkkitError as error:
            first = first or error
        except Cancelled as stop:
            cancelled = stop
    if cancelled is not None:
        raise cancelled
    if first is not None:
        raise first


def begin_again(
    attempt: Callable[[], Script[R]], policy: RetryPolicy, *after: type[ZkkitError]
) -> Script[R]:
    """Make an attempt, and begin again after these errors as the policy allows.

    A lost session that lived is the first failure in a row, whatever was before it: one may wait in
    line for weeks, and lose a session now and then."""
    began = yield from Now()
    failures, delay = 0, 0.0
    while True:
        try:
            if failures:
                yield from pause(delay)  # in here, for a session may be lost during the pause
            return (yield from attempt())
        except SessionClosed:
            raise  # there is nothing to begin again in
        except after as failed:
            moment = yield from Now()
            if isinstance(failed, SessionLost) and not isinstance(failed, Unreachable):
                began, failures = moment, 0
            failures += 1
            again = policy.delay(failures, moment - began, (yield from Random()))
            if again is None:
                raise
            delay = again


def pause(seconds: float) -> Script[None]:
    """Let `seconds` pass (or less, if a watch fires)."""
    try:
        yield from Within(seconds, Wait())
    except TimedOut:
        return
