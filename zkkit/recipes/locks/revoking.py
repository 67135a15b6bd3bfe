"""Asking a holder to give way: Curator's Revoker and makeRevocable.

The asker writes `__REVOKE__` into the holder's lock node. A holder that has called `on_revoke` has
a watch on its own node and is called back; it may release or not: nothing is taken from it. The
node of a revocable lock is created empty, as Curator's is.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

from ...errors import NoNode, SessionLost
from ...scripting import Awaiting, Blocking, Recipe, S, script
from ...steps import Actor, Call, Get, Recall, Remember, Script, Set, Spawn, Stop, Wait
from ..arguments import check_callback
from ..shared import until_answered
from .hold import Hold

if TYPE_CHECKING:
    from .owned import OwnedLock

MESSAGE = b"__REVOKE__"

H = TypeVar("H", bound=Hold[Any])


class Revocation(NamedTuple):
    """What a lock whose holder can be asked to give way keeps beside it."""

    lock: OwnedLock[Any]
    data: bytes
    """What to write into the lock node."""

    def begin(self, callback: Callable[[], object]) -> Script[None]:
        """Call back when somebody asks for the lock, until the next release."""
        check_callback("a callback", callback)
        return self._begin(callback)

    def _begin(self, callback: Callable[[], object]) -> Script[None]:
        yield from Remember(self._callback, callback)
        actor = yield from Actor()
        owned = yield from self.lock.current(actor)
        if owned is not None:
            yield from self._stop(owned.hold)
            yield from self.listening(owned.hold)

    def node_data(self) -> Script[bytes]:
        """What to write into our node: nothing if a request is to be seen in it."""
        return self.data if (yield from Recall(self._callback)) is None else b""

    def listening(self, hold: H) -> Script[H]:
        """The hold, with a listener of its own (readers may be many) if a callback was given."""
        callback = yield from Recall(self._callback)
        if callback is not None:
            listener = _listener(hold.path, callback)
            spawned = yield from Spawn(listener, f"revocation of {hold.path}")
            yield from Remember((self.lock, "listener", hold.grant), spawned)
        return hold

    def end(self, hold: Hold[Any]) -> Script[None]:
        """The hold is being released."""
        yield from Remember(self._callback, None)
        yield from self._stop(hold)

    def _stop(self, hold: Hold[Any]) -> Script[None]:
        listener = yield from Recall((self.lock, "listener", hold.grant))
        if listener is not None:
            yield from Remember((self.lock, "listener", hold.grant), None)
            yield from Stop(listener)

    @property
    def _callback(self) -> tuple[Any, ...]:
        """Where the session's table has the callback."""
        return (self.lock, "on revoke")


def _listener(path: str, callback: Callable[[], object]) -> Script[None]:
    answered = -1
    try:
        while True:
            found = yield from until_answered(Get(path, watch=True))
            if found.data == MESSAGE and found.stat.version != answered:
                answered = found.stat.version
                # Apart, so that a callback that raises (it is logged) does not end the listening.
                yield from Spawn(iter(Call(callback)), f"callback for {path}")
            yield from Wait()
    except (NoNode, SessionLost):
        return


class _Request(Recipe[S]):
    """A request to the holder whose node is at this path."""

    @property
    def recorded_as(self) -> str:
        return "revoke"

    @script
    def send(self) -> Script[None]:
        try:
            yield from until_answered(Set(self.path, MESSAGE))  # asking twice is asking
        except NoNode:
            return  # it has been released


@overload
def revoke(session: Blocking, path: str) -> None: ...
@overload
def revoke(session: Awaiting, path: str) -> Coroutine[Any, Any, None]: ...
def revoke(session: Any, path: str) -> Any:
    """Ask whoever holds the lock node at `path` to give way. To be awaited on asyncio.

    `path` is a participant's, as `lock.participants()` gives it. If the node is gone, so is the
    reason to ask: nothing happens.
    """
    return _Request(session, path).send()
