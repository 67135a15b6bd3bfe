"""Scripts that recipes share, so that none of them sorts errors or asks again by hand.

    until_answered(step)            take a step again while the connection breaks
    list_children(path)             the same, for the children of a node
    read_all(*reads)                the same, for several reads in one flight
    answer(outcome)                 what a request of a settled flight gave, or raise its error
    there(outcome)                  the same, but None where there is no node
    applied(request)                send a write that others may have made needless
    wait_for_change(path)           watch one node, and wait until it may have changed or gone
    saw_it_go(path)                 the same, and whether it surely has gone
    create_or_there(create)         make sure that a node is there, whoever creates it
    create_with_parents(create)     create a node, and the levels above it where they are missing
    create_protected(...)           create a node that is known again after a lost reply
    withdraw(...)                   remove such a node, also if no reply ever told us its name
    delete_surely(path)             delete a node, whatever happens
    surely(attempt)                 the same for whatever else removes something
    create_if_free, delete_ours     the same for a node whose name others want as well
    all_of(scripts)                 run all of them, whatever one of them raises
    begin_again(attempt, policy)    make attempts, as a retry policy allows
    pause(seconds)                  let time pass

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
    BadVersion,
    Cancelled,
    ConnectionLost,
    MultiFailed,
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
    Data,
    Delete,
    Exists,
    Fire,
    FireKind,
    Get,
    Mark,
    Mode,
    Node,
    Now,
    Random,
    Request,
    Script,
    SessionId,
    Step,
    Sync,
    Together,
    Wait,
    Within,
)

R = TypeVar("R")


# --- asking --------------------------------------------------------------------------------------


def until_answered(step: Step[R]) -> Script[R]:
    """Take this step, and take it again while the connection breaks: for what may be done twice."""
    while True:
        try:
            return (yield from step)
        except ConnectionLost:
            continue


def list_children(directory: str, *, watch: bool = False) -> Script[tuple[str, ...]]:
    """The children, asked for again while the connection breaks."""
    return until_answered(Children(directory, watch))


def read_all(*reads: Request[Any]) -> Script[Any]:
    """What these reads give in one flight, errors as values; asked for again while the connection
    breaks."""
    while True:
        seen = yield from Together(*reads, settle=True)
        if not any(isinstance(each, ConnectionLost) for each in seen):
            return seen


def answer(outcome: Any) -> Any:
    """What a request of a settled flight gave; raises what it failed with."""
    if isinstance(outcome, ZkkitError):
        raise outcome
    return outcome


def there(outcome: Any, absent: tuple[type[ZkkitError], ...] = (NoNode,)) -> Any:
    """As `answer`, but None where there is no node: after one of these errors."""
    return None if isinstance(outcome, absent) else answer(outcome)


def all_answered(outcomes: Iterable[Any]) -> bool:
    """Whether no request of a settled flight failed."""
    return not any(isinstance(each, ZkkitError) for each in outcomes)


def applied(request: Request[Any]) -> Script[bool]:
    """Send a write once. False: others were quicker (the node has another version, is there already
    or has gone), or the connection broke and nobody knows. Look again then: it shows in what is
    there."""
    try:
        yield from request
        return True
    except MultiFailed as failed:
        if not isinstance(failed.error, _OVERTAKEN):
            raise failed.error from failed
    except (ConnectionLost, *_OVERTAKEN):
        pass
    return False


_OVERTAKEN = (BadVersion, NodeExists, NoNode)


def wait_for_change(path: str) -> Script[None]:
    """Watch this one node, and wait until it may have changed or gone. Then look again: it is never
    more than a hint."""
    try:
        # Get, not exists: where the node has gone already, that would leave a watch behind.
        yield from Get(path, watch=True)
        yield from Wait()
    except (NoNode, ConnectionLost):
        return  # it went before we looked, or we cannot know


def saw_it_go(path: str) -> Script[bool]:
    """As `wait_for_change`, for a node that was there and whose name nobody is ever given again.
    True: it has gone, for good; our server has said so, of this very node. False: look again. So
    it is with a node of our own session: that may go because the session is over, and ours with
    it, and we hear of the one before we hear of the other."""
    try:
        found = yield from Get(path, watch=True)
        apart = found.stat.ephemeral_owner != (yield from SessionId())
        return (yield from Wait()) == Fire(FireKind.DELETED, path) and apart
    except NoNode:
        return True  # a session never sees what was before: it was there, so it has gone
    except ConnectionLost:
        return False


# --- creating ------------------------------------------------------------------------------------


def create_with_parents(
    create: Create, *also: Request[Any], parents: Mode = Mode.CONTAINER
) -> Script[tuple[Any, ...]]:
    """Send `create` and `also` in one flight; where parents are missing make them, in one more.

    Gives the outcomes as a settled flight does: errors stand as values. Where a parent is missing
    and cannot be made, the reason is raised. It is sent once more only if a level that was there
    had gone when the next one was to be made: whoever reaps them can make us begin again, but
    nothing else can.
    """
    outcomes: tuple[Any, ...] = yield Together(create, *also, settle=True)
    while isinstance(outcomes[0], NoNode):
        above = tuple(levels(split(create.path)[0]))
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


def create_or_there(create: Create) -> Script[None]:
    """Make sure that a node is there, with its parents: created by us, or by whoever was quicker.
    Sent again while the connection breaks."""
    while True:
        (made,) = yield from create_with_parents(create)
        if isinstance(made, NodeExists):
            return
        if not isinstance(made, ConnectionLost):
            answer(made)
            return


def create_protected(
    directory: str,
    name: str,
    *reads: Request[Any],
    data: bytes,
    mode: Mode = Mode.EPHEMERAL_SEQUENTIAL,
    parents: Mode = Mode.CONTAINER,
    unsure: bool = False,
    settle: bool = False,
) -> Script[tuple[Any, ...]]:
    """Create `<directory>/<name>`, where `name` begins with a guid of ours (`paths.protected`).

    Gives the node and what the reads gave, which were served after it in the same flight. Their
    errors are raised, or with `settle=True` stand as values. `unsure`: it may be there already.
    """
    create = Create(join(directory, name), data, mode)
    while True:
        found = (yield from find_protected(directory, name, *reads)) if unsure else None
        if found is None:
            found = yield from create_with_parents(create, *reads, parents=parents)
            if isinstance(found[0], ConnectionLost):
                unsure = True
                continue
            answer(found[0])
            if any(isinstance(each, ConnectionLost) for each in found):
                found = (found[0], *(yield from read_all(*reads)))
        return found if settle else tuple(map(answer, found))


def find_protected(
    directory: str, name: str, *reads: Request[Any]
) -> Script[tuple[Any, ...] | None]:
    """The node of this session that was to be called `name` (a number may follow), and what the
    reads give, errors as values; None if it is not there."""
    try:
        _, names = yield from until_answered(Together(Sync(directory), Children(directory)))
    except NoNode:
        return None
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


# --- removing ------------------------------------------------------------------------------------


def surely(attempt: Callable[[], Script[None]], *, outlives_session: bool = False) -> Script[None]:
    """Repeat an attempt to remove something until it is certain: done, not there, or gone with its
    session (unless it `outlives_session`). Outlives connection loss and cancel."""
    cancelled: Cancelled | None = None
    while True:
        try:
            yield from attempt()
            break
        except NoNode:
            break
        except SessionLost as over:
            if not outlives_session or isinstance(over, SessionClosed):
                break
        except ConnectionLost:
            continue
        except Cancelled as stop:
            cancelled = stop
    if cancelled is not None:
        raise cancelled


def delete_surely(path: str, *, outlives_session: bool = False) -> Script[None]:
    """Delete a node whose name nobody else can ever have."""
    return surely(lambda: iter(Delete(path)), outlives_session=outlives_session)


def withdraw(
    directory: str,
    name: str,
    node: Node | None,
    *,
    after: BaseException | None = None,
    outlives_session: bool = False,
) -> Script[None]:
    """Remove our protected node, also where no reply ever told us its name. `after`: what ended our
    wait; if that is the loss of the session, the node goes by itself (unless it
    `outlives_session`)."""
    if isinstance(after, SessionLost) and not outlives_session:
        return

    def attempt() -> Script[None]:
        found = yield from find_protected(directory, name)
        if found is not None:
            yield from Delete(found[0].path)

    if node is not None:
        yield from delete_surely(node.path, outlives_session=outlives_session)
    else:
        yield from surely(attempt, outlives_session=outlives_session)


# --- a node whose name others want as well -------------------------------------------------------


def create_if_free(path: str, data: bytes) -> Script[Node | None]:
    """Create the ephemeral node at `path`; None if somebody else's is there. After a lost reply our
    node is known by its data, which nobody else writes."""
    (made,) = yield from create_with_parents(Create(path, data, Mode.EPHEMERAL))
    if isinstance(made, NodeExists):
        return None
    if isinstance(made, ConnectionLost):
        found = yield from _find_ours(path, lambda found: found.data == data)
        return None if found is None else Node(path, found.stat)
    return Node(*answer(made))


def delete_ours(path: str, ours: Callable[[Data], bool]) -> Script[None]:
    """Delete the ephemeral node at `path` if it is of this session and `ours` says so of it, until
    that is certain."""

    def attempt() -> Script[None]:
        if (yield from _find_ours(path, ours)) is not None:
            yield from Delete(path)

    return surely(attempt)


def _find_ours(path: str, ours: Callable[[Data], bool]) -> Script[Data | None]:
    try:
        _, found = yield from until_answered(Together(Sync(path), Get(path)))
    except NoNode:
        return None
    session = yield from SessionId()
    if found.stat.ephemeral_owner != session or not ours(found):
        return None
    yield from Mark("found", path, found.stat.czxid)
    return found


# --- several at once, and again ------------------------------------------------------------------


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
