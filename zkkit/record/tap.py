"""Record a plain kazoo client, so that kazoo's own recipes are measured by the same ruler."""

from __future__ import annotations

import threading
import time
from typing import Any

from kazoo.client import KazooClient

from ..errors import NoNode, ZkkitError
from ..hooks import Event, Hooks
from ..session.kazoo_private import CONNECTED, Interposer
from ..session.opcodes import CREATES, DELETE, EXISTS, OPERATIONS
from ..steps import Children, Create, Delete, Exists, FireKind, Get, Multi, Set, Sync

_STEPS = (Create, Delete, Exists, Get, Set, Children, Sync, Multi)
_STEP_NAMES = {
    number: step.__name__ for step in _STEPS for number in OPERATIONS[step.__name__.lower()]
}


def tap(client: Any) -> Hooks:
    """The hooks of a kazoo client: `tap(client).add(Recorder())`.

    They call node_created, node_deleted, watch_set, watch_fired, woke (once for each of kazoo's
    watchers that a fire calls), step and session_changed. The actor is the thread that asked;
    a fire, and a wakeup, has none.

    A tap sees requests and fires, and no more. It cannot know what a recipe of kazoo has acquired,
    nor whether it got what it waited for: there is no acquired, released or other mark, and no
    wakeup_ended, so the outcome of every wakeup is unknown. Tapping twice gives the same hooks.

    Raises ZkkitError if it is no kazoo client.
    """
    if not isinstance(client, KazooClient):
        raise ZkkitError(
            f"{client!r} is no kazoo client", hint="of a zkkit session use session.hooks"
        )
    known = getattr(client, "_zkkit_tap", None)
    if known is None:
        known = client._zkkit_tap = _Tap(client)
    hooks: Hooks = known.hooks
    return hooks


class _Tap(Interposer):
    def __init__(self, client: Any) -> None:
        super().__init__(client)
        self.hooks = Hooks()
        self._asked: dict[int, tuple[str, int]] = {}

    def asked(self, request: Any) -> None:
        self._asked[id(request)] = (threading.current_thread().name, time.monotonic_ns())

    def answered(self, request: Any, error: int, buffer: bytes, offset: int) -> None:
        actor, since = self._asked.pop(id(request), ("", 0))
        kind = _STEP_NAMES.get(request.type)
        if kind is None:
            return
        at = time.monotonic_ns()
        path = getattr(request, "path", "")
        if self.hooks.step:
            cause = f"error {error}" if error else ""
            self._tell("step", actor, path, kind, cause, at - since if since else 0)
        if getattr(request, "watcher", None) and _watch_set(request.type, error):
            self._tell("watch_set", actor, path, "child" if kind == "Children" else "data")
        if error:
            return
        if request.type in CREATES:
            made = request.deserialize(buffer, offset)
            name = made if isinstance(made, str) else made[0]
            self._tell("node_created", actor, name)
        elif request.type == DELETE:
            self._tell("node_deleted", actor, path)

    def fired(self, kind: FireKind, path: str) -> None:
        self._tell("watch_fired", "", path, kind.value)
        for _ in range(self.local_watchers(path)):
            self._tell("woke", "", path, kind.value, cause=path)

    def changed(self, state: str) -> None:
        if state not in CONNECTED:
            self._asked.clear()  # their requests have failed
        self._tell("session_changed", "", "", self.client.state.lower())

    def _tell(
        self, hook: str, actor: str, path: str, kind: str = "", cause: str = "", duration: int = 0
    ) -> None:
        if getattr(self.hooks, hook):
            at, session, zxid = time.monotonic_ns(), self.session_id, self.last_zxid
            self.hooks.emit(
                hook, Event(at, session, actor, "kazoo", path, kind, zxid, cause, duration)
            )


def _watch_set(request_type: int, error: int) -> bool:
    """A get that fails sets no watch; an exists on a missing node does."""
    return not error or (request_type == EXISTS and error == NoNode.code)
