"""What acquiring a lock gives you.

A hold is three facts: the session it was granted in, the path of the lock node, and the node's
czxid. It is valid while that session surely lives (by the session's own clock: a holder that was
paused too long sees `valid` false before any server can tell it) and it was not released.

`token` is the czxid: a 64-bit number that grows from grant to grant over the whole ensemble, and
costs nothing, since the reply to the create carries it. A store that remembers the greatest token
it has seen and refuses smaller ones loses nothing to a paused holder.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from ...errors import MultiFailed, NotHeld, Unsupported
from ...scripting import Recipe, Returnable, S, script
from ...steps import Check, Exists, Multi, MultiOp, Node, Script, Stat

if TYPE_CHECKING:
    from .owned import OwnedLock


class Hold(Recipe[S], Returnable):
    """One grant of a lock. Always truthy; ask `.valid` whether it still holds."""

    def __init__(self, lock: OwnedLock[S], node: Node, actor: Hashable) -> None:
        # The path came from the server: nothing to validate.
        self.session = lock.session
        self.path = node.path
        self.token = node.stat.czxid
        self.session_id = node.stat.ephemeral_owner
        self._lock = lock
        self._actor = actor

    @property
    def valid(self) -> bool:
        """Whether we surely still hold: computed from the session's own clock, never asked of
        the server, and once false never true again."""
        return self.session.is_held(self.session_id, self.path, self.token)

    def on_lost(self, callback: Callable[[], object]) -> None:
        """Call back once if the session is over before the release; at once if it already is."""
        self.session.when_lost(self.session_id, self.path, self.token, callback)

    @script
    def check(self) -> Script[bool]:
        """Ask the server: is our lock node still there, and ours?"""
        stat = yield from Exists(self.path)
        return stat is not None and stat.czxid == self.token

    @script
    def release(self) -> Script[None]:
        """As `lock.release()`: by the actor that acquired, once for each acquire."""
        yield from type(self._lock).release.of(self._lock)

    @script
    def transaction(self, *ops: MultiOp) -> Script[tuple[str | Stat | None, ...]]:
        """Apply `ops`, all or nothing, and only if the lock node is still ours; else NotHeld."""
        if not self._lock.unique_names:
            raise Unsupported(
                f"{type(self._lock).__name__} cannot guard a transaction: its node "
                f"{self.path} has a fixed name, so its being there does not make it ours",
                path=self.path,
                hint="use ReentrantLock, whose node names are never used twice",
            )
        try:
            results = yield from Multi((Check(self.path), *ops))
        except MultiFailed as failed:
            if failed.index == 0:
                raise NotHeld(
                    f"nothing was written: our lock node {self.path} is gone",
                    path=self.path,
                    hint="acquire the lock again and start over",
                ) from failed
            raise
        return results[1:]

    def give_back(self) -> Script[Any]:
        """Undo the grant for an actor that has left."""
        return self._lock.release_for(self._actor)

    def __repr__(self) -> str:
        state = "valid" if self.valid else "no longer valid"
        return f"<Hold {self.path} token={self.token:#x} {state}>"
