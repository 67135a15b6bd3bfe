"""What acquiring a lock gives you.

A hold is three facts: the session it was granted in, the path of the lock node, and the node's
czxid. It is valid while it is proved that the servers keep that session (by the session's own
clock: a holder that was paused too long, or whose server is cut off, sees `valid` false before
another can be granted the lock) and it was not released.

`token` is the czxid: a 64-bit number that grows from grant to grant over the whole ensemble, and
costs nothing, since the reply to the create carries it. A store that remembers the greatest token
it has seen and refuses smaller ones loses nothing to a paused holder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...errors import ConnectionLost, MultiFailed, NotHeld, Unsupported
from ...scripting import Recipe, Returnable, S, script
from ...steps import Check, Exists, Multi, MultiOp, Node, Script, Stat, Sync, Together
from ..arguments import check_callable, check_ops

if TYPE_CHECKING:
    from .owned import OwnedLock


class Hold(Recipe[S], Returnable):
    """One grant of a lock. Always truthy; ask `.valid` whether it still holds."""

    def __init__(self, lock: OwnedLock[S], node: Node, token: int) -> None:
        # The path came from the server: nothing to validate.
        self.session = lock.session
        self.path = node.path
        self.czxid = node.stat.czxid
        """When the lock node was created: with the path, what makes it ours."""
        self.session_id = node.stat.ephemeral_owner
        """The session that it is lost with; 0 for a node that outlives sessions."""
        self._token = token
        self._lock = lock

    @property
    def recorded_as(self) -> str:
        return self._lock.recorded_as

    @property
    def token(self) -> int:
        """The fencing token: grows from grant to grant."""
        if not self._lock.fences:
            raise Unsupported(
                f"{self._lock!r} lets several in at a time, and a token could not tell who of them "
                "came last",
                path=self.path,
                hint="fence with a lock, or with a semaphore of one lease",
            )
        return self._token

    @property
    def grant(self) -> tuple[str, int]:
        """What tells one grant from another, for ever."""
        return self.path, self.czxid

    @property
    def valid(self) -> bool:
        """Whether we surely still hold: computed from the session's own clock, never asked of
        the server, and once false never true again."""
        return self.session.is_held(self.session_id, self.path, self.czxid)

    def on_lost(self, callback: Callable[[], object]) -> None:
        """Call back once if the hold is lost before the release; at once if it already is."""
        check_callable("a callback", callback)
        self.session.when_lost(self.session_id, self.path, self.czxid, callback)

    @script
    def check(self) -> Script[bool]:
        """Ask the server: is our lock node still there, and ours? Outlives a broken connection.

        A server that lags catches up with the leader first: what had been deleted when we asked is
        not called there."""
        while True:
            try:
                _, stat = yield from Together(Sync(self.path), Exists(self.path))
                return stat is not None and stat.czxid == self.czxid
            except ConnectionLost:
                continue

    @script
    def release(self) -> Script[None]:
        """Give this hold up, once for each acquire. Where the lock belongs to the actor that
        acquired it, only that one may; see the lock's class."""
        yield from self._lock.release_hold(self)

    @script
    def transaction(self, *ops: MultiOp) -> Script[tuple[str | Stat | None, ...]]:
        """Apply `ops`, all or nothing, and only if the lock node is still ours; else NotHeld."""
        return guarded([self], ops)

    def guard(self) -> Check:
        """What a transaction must check; Unsupported where there is no such thing."""
        if not self._lock.unique_names:
            raise Unsupported(
                f"{type(self._lock).__name__} cannot guard a transaction: its node "
                f"{self.path} has a fixed name, so its being there does not make it ours",
                path=self.path,
                hint="use ReentrantLock, whose node names are never used twice",
            )
        return Check(self.path)

    def give_back(self) -> Script[Any]:
        """Undo the grant for an actor that has left."""
        return self._lock.take_back(self)

    def __repr__(self) -> str:
        state = "valid" if self.valid else "no longer valid"
        token = f" token={self._token:#x}" if self._lock.fences else ""
        return f"<{type(self).__name__} {self.path}{token} {state}>"


def guarded(
    holds: Sequence[Hold[Any]], ops: Sequence[MultiOp]
) -> Script[tuple[str | Stat | None, ...]]:
    """Apply `ops` only if all lock nodes are still there."""
    check_ops(ops)
    return _guarded([hold.guard() for hold in holds], ops)


def _guarded(
    checks: Sequence[Check], ops: Sequence[MultiOp]
) -> Script[tuple[str | Stat | None, ...]]:
    try:
        results = yield from Multi((*checks, *ops))
    except MultiFailed as failed:
        if failed.index < len(checks):
            gone = checks[failed.index].path
            raise NotHeld(
                f"nothing was written: our lock node {gone} is gone",
                path=gone,
                hint="acquire the lock again and start over",
            ) from failed
        raise
    return results[len(checks) :]
