"""A session's plain operations: scripts like any recipe's, so there is one of each for both fronts.

Reads are repeated after a connection loss as the session's retry policy allows. Writes are not:
their outcome is unknown, and only the caller knows what that means.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from ..errors import ConnectionLost, NodeExists, ZkkitError
from ..recipes.arguments import check_flag
from ..recipes.shared import answer, begin_again, create_with_parents
from ..retry import RetryPolicy
from ..scripting import InSession, S, script
from ..steps import (
    Acl,
    Call,
    Children,
    Create,
    Data,
    Delete,
    Exists,
    Get,
    Mode,
    Multi,
    MultiOp,
    Node,
    Request,
    Script,
    Set,
    Stat,
    Step,
    check_acl,
)

R = TypeVar("R")


class Operations(InSession[S]):
    """What a session can do with single nodes.

    Each of these can raise, beside what it says itself:

        InvalidPath         the path is none that ZooKeeper would take
        NoAuth              the node's ACL does not allow it
        ConnectionLost      the connection broke; a write may have been applied or not
        SessionLost         the session is over (SessionClosed: it was closed on this side)
        ForkedSession       the session was opened in another process
        ValueError          an argument makes no sense (TypeError: data are not bytes)
    """

    @property
    def recorded_as(self) -> str:
        """Plain operations are no recipe's."""
        return ""

    @script
    def create(
        self,
        path: str,
        data: bytes = b"",
        *,
        mode: Mode = Mode.PERSISTENT,
        acl: Sequence[Acl] | None = None,
        ttl_ms: int | None = None,
        make_parents: bool = False,
    ) -> Script[Node]:
        """Create a node; with `make_parents` its missing parents become containers.

        Raises:
            NodeExists: there is one at this path.
            NoNode: its parent is missing, and is not to be made.
            NoChildrenForEphemerals: its parent is an ephemeral node.
            InvalidAcl: the servers do not take this ACL.
            Unimplemented: the servers are too old for this mode, or are not set to take a TTL.
            TooLarge: data and path are larger than servers take.
        """
        check_flag("make_parents", make_parents)
        if acl is not None:
            check_acl(acl)
            acl = tuple(acl)
        step = Create(path, data, mode, acl, ttl_ms)
        if not make_parents:
            return (yield from step)
        (made,) = yield from create_with_parents(step)
        return Node(*answer(made))

    @script
    def get(self, path: str) -> Script[Data]:
        """A node's data and stat.

        Raises:
            NoNode: there is none.
        """
        return (yield from read(Get(path), self.session.retry))

    @script
    def set(self, path: str, data: bytes, *, version: int = -1) -> Script[Stat]:
        """Write a node's data, if its version fits (-1 fits any).

        Raises:
            NoNode: there is none.
            BadVersion: somebody else has written it.
            TooLarge: the data are larger than servers take.
        """
        return (yield from Set(path, data, version))

    @script
    def exists(self, path: str) -> Script[Stat | None]:
        """A node's stat, or None if there is no such node.

        Raises:
            ConnectionLost: the connection broke more often than the session's `retry` allows.
        """
        return (yield from read(Exists(path), self.session.retry))

    @script
    def children(self, path: str) -> Script[tuple[str, ...]]:
        """The names of a node's children, in no particular order.

        Raises:
            NoNode: there is no such node.
        """
        return (yield from read(Children(path), self.session.retry))

    @script
    def delete(self, path: str, *, version: int = -1) -> Script[None]:
        """Delete a node, if its version fits (-1 fits any).

        Raises:
            NoNode: there is none.
            BadVersion: somebody else has written it.
            NotEmpty: it has children.
        """
        yield from Delete(path, version)

    @script
    def multi(self, *ops: MultiOp) -> Script[tuple[str | Stat | None, ...]]:
        """Apply all operations or none.

        Raises:
            MultiFailed: none was applied; it has the error of each.
            TooLarge: together they are larger than servers take.
        """
        return (yield from Multi(ops))


class StepOutcome(NamedTuple):
    """What `background` hands to its callback: the step with its result or its error."""

    step: Step[Any]
    result: Any
    error: ZkkitError | None


def in_background(step: Step[Any], callback: Callable[[StepOutcome], object]) -> Script[None]:
    """Take a step, then tell the callback."""
    try:
        outcome = StepOutcome(step, (yield step), None)
    except ZkkitError as error:
        outcome = StepOutcome(step, None, error)
    yield from Call(callback, outcome)


def read(step: Request[R], retry: RetryPolicy) -> Script[R]:
    """A request that changes nothing, repeated after a connection loss."""
    return begin_again(lambda: iter(step), retry, ConnectionLost)


def make_namespace(path: str) -> Script[None]:
    """Make the root of a namespace: plain nodes, since nobody would make a reaped one again. Where
    it exists, we need no right to make it."""
    while True:
        made, found = yield from create_with_parents(
            Create(path), Exists(path), parents=Mode.PERSISTENT
        )
        if isinstance(found, Stat):
            return
        if isinstance(made, ZkkitError) and not isinstance(made, ConnectionLost | NodeExists):
            raise made
