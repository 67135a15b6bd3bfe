"""What being granted a node gives you, be it a lock's or a leader's.

A tenure is three facts: the session it was granted in, the path of its node, and the node's czxid.
It is valid while it is proved that the servers keep that session (by the session's own clock: one
that was paused too long, or whose server is cut off, sees `valid` false before another can be
granted the same) and it was not given back.

`token` is the czxid: a 64-bit number that grows from grant to grant over the whole ensemble, and
costs nothing, since the reply to the create carries it. A store that remembers the greatest token
it has seen and refuses smaller ones loses nothing to one that was paused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import MultiFailed, NotHeld, Unsupported
from ..scripting import InSession, Returnable, S, script
from ..steps import Check, Exists, Multi, MultiOp, Node, Script, Stat, StillHeld, Sync, Together
from .arguments import check_callback
from .shared import until_answered


class Tenure(Returnable[S]):
    """One grant. Always truthy; ask `.valid` whether it still counts."""

    def __init__(self, recipe: InSession[S], node: Node) -> None:
        super().__init__(recipe, node.path)
        self.czxid = node.stat.czxid
        """When the node was created: with the path, what makes it ours."""
        self.session_id = node.stat.ephemeral_owner
        """The session that it is lost with; 0 for a node that outlives sessions."""

    @property
    def token(self) -> int:
        """The fencing token: grows from grant to grant."""
        return self.czxid

    @property
    def grant(self) -> tuple[str, int]:
        """What tells one grant from another, for ever."""
        return self.path, self.czxid

    @property
    def valid(self) -> bool:
        """Whether it surely still counts: computed from the session's own clock, never asked of
        the server, and once false never true again."""
        return self.session.is_held(self.session_id, self.path, self.czxid)

    def on_lost(self, callback: Callable[[], object]) -> None:
        """Call back once if it is lost before it is given back; at once if it already is. Raises
        ValueError if `callback` cannot be called, or would have to be awaited."""
        check_callback("a callback", callback)
        self.session.when_lost(self.session_id, self.path, self.czxid, callback)

    @script
    def check(self) -> Script[bool]:
        """Ask the server: is our node still there, and ours? Outlives a broken connection.

        A server that lags catches up with the leader first: what had been deleted when we asked is
        not called there.

        Raises SessionLost if the session is lost before the answer comes.
        """
        _, stat = yield from until_answered(Together(Sync(self.path), Exists(self.path)))
        return stat is not None and stat.czxid == self.czxid

    @script
    def transaction(self, *ops: MultiOp) -> Script[tuple[str | Stat | None, ...]]:
        """Apply `ops`, all or nothing, and only if the node is still ours.

        Raises NotHeld if it is not, MultiFailed if one of `ops` was refused, Unsupported where the
        node has a fixed name, ConnectionLost if it is unknown whether they were applied.
        """
        return while_held([self], ops)

    def guard(self) -> Check:
        """What a transaction must check; Unsupported where there is no such thing."""
        return Check(self.path)

    def __repr__(self) -> str:
        state = "valid" if self.valid else "no longer valid"
        return f"<{type(self).__name__} {self.path}{self._shown_token()} {state}>"

    def _shown_token(self) -> str:
        return f" token={self.token:#x}"


def cannot_guard(tenure: Tenure[Any], instead: str) -> Unsupported:
    """What to raise where grants share the name of a node; `instead`: the class to use."""
    return Unsupported(
        f"{tenure.recorded_as} cannot guard a transaction: its node {tenure.path} has a fixed "
        "name, so its being there does not make it ours",
        path=tenure.path,
        hint=f"use {instead}, whose node names are never used twice",
    )


def still_held(tenure: Tenure[Any], *, watch: bool = False) -> StillHeld:
    """Whether it counts: its session lives, and that is proved. With `watch` the script is woken
    when that ends without its doing."""
    return StillHeld(tenure.session_id, tenure.path, tenure.czxid, watch)


def while_held(
    tenures: Sequence[Tenure[Any]], ops: Sequence[MultiOp]
) -> Script[tuple[str | Stat | None, ...]]:
    """Apply `ops` only if all these nodes are still there."""
    checks = [tenure.guard() for tenure in tenures]
    return _guarded(checks, Multi((*checks, *ops)))


def _guarded(checks: Sequence[Check], multi: Multi) -> Script[tuple[str | Stat | None, ...]]:
    try:
        results = yield from multi
    except MultiFailed as failed:
        if failed.index < len(checks):
            gone = checks[failed.index].path
            raise NotHeld(
                f"nothing was written: our node {gone} is gone",
                path=gone,
                hint="acquire it again and start over",
            ) from failed
        raise
    return results[len(checks) :]
