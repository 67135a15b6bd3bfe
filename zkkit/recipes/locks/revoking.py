"""Asking a holder to give way: Curator's Revoker and makeRevocable.

The asker writes `__REVOKE__` into the holder's lock node. A holder that has called `on_revoke` has
a watch on its own node and is called back; it may release or not: nothing is taken from it. The
node of a revocable lock is created empty, as Curator's is.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Hashable
from typing import Any, overload

from ...errors import ConnectionLost, NoNode, SessionLost
from ...scripting import Awaiting, Blocking, Recipe, S, script
from ...steps import Actor, Call, Get, Look, Note, Script, Set, Spawn, Stop, Wait
from ..arguments import check_callable, check_data
from .hold import Hold
from .owned import OwnedLock

MESSAGE = b"__REVOKE__"


class RevocableLock(OwnedLock[S]):
    """A lock whose holder can be asked to give way."""

    def __init__(self, session: S, path: str, *, node_data: bytes | None = None) -> None:
        super().__init__(session, path)
        check_data(node_data)
        self._node_data = node_data

    @script
    def on_revoke(self, callback: Callable[[], object]) -> Script[None]:
        """Call back when somebody asks for the lock, until the next release.

        Say it before acquiring (the node is then created empty, so that only a request shows in
        it), or while holding.
        """
        check_callable("a callback", callback)
        return self._on_revoke(callback)

    def _on_revoke(self, callback: Callable[[], object]) -> Script[None]:
        yield from Note((self, "on revoke"), callback)
        actor = yield from Actor()
        holding = yield from self.current(actor)
        if holding is not None:
            yield from self._stop_listening(holding.hold)
            yield from self._listen(holding.hold, callback)

    def _data(self) -> Script[bytes]:
        """What to write into our node."""
        if (yield from Look((self, "on revoke"))) is not None:
            return b""
        return self.session.node_data if self._node_data is None else self._node_data

    def _granted(self, hold: Hold[S], actor: Hashable) -> Script[None]:
        yield from super()._granted(hold, actor)
        callback = yield from Look((self, "on revoke"))
        if callback is not None:
            yield from self._listen(hold, callback)

    def _closing(self, hold: Hold[Any]) -> Script[None]:
        yield from Note((self, "on revoke"), None)
        yield from self._stop_listening(hold)

    def _listen(self, hold: Hold[Any], callback: Callable[[], object]) -> Script[None]:
        """Readers may be many: each hold has a listener of its own."""
        name = f"revocation of {hold.path}"
        spawned = yield from Spawn(_listener(hold.path, callback), name)
        yield from Note((self, "listener", hold.grant), spawned)

    def _stop_listening(self, hold: Hold[Any]) -> Script[None]:
        listener = yield from Look((self, "listener", hold.grant))
        if listener is not None:
            yield from Note((self, "listener", hold.grant), None)
            yield from Stop(listener)


def _listener(path: str, callback: Callable[[], object]) -> Script[None]:
    answered = -1
    while True:
        try:
            found = yield from Get(path, watch=True)
            if found.data == MESSAGE and found.stat.version != answered:
                answered = found.stat.version
                # Apart, so that a callback that raises (it is logged) does not end the listening.
                yield from Spawn(_calling(callback), f"callback for {path}")
            yield from Wait()
        except ConnectionLost:
            continue
        except (NoNode, SessionLost):
            return


def _calling(callback: Callable[[], object]) -> Script[None]:
    yield from Call(callback)


class _Request(Recipe[S]):
    """A request to the holder whose node is at this path."""

    @property
    def recorded_as(self) -> str:
        return "revoke"

    @script
    def send(self) -> Script[None]:
        while True:
            try:
                yield from Set(self.path, MESSAGE)
                return
            except ConnectionLost:
                continue  # asking twice is asking
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
