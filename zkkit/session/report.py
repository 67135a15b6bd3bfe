"""What the runner tells the hooks. Nothing is made that nobody listens to."""

from __future__ import annotations

import time
from typing import Any

from ..errors import ConnectionLost, ZkkitError
from ..hooks import Event, Hooks
from ..steps import Create, Delete, Fire, Mark, Mode
from .holds import Held
from .run import Flight, Run
from .watches import Key


class Reporter:
    """Turns what happens in a session into events."""

    def __init__(self, hooks: Hooks) -> None:
        self.hooks = hooks
        self.session = 0
        """The id of the session that events belong to."""
        self._doubtful: dict[str, Mode] = {}  # creates of this session whose replies were lost

    def begin(self, session_id: int) -> None:
        """From now on events belong to this session."""
        self.session = session_id
        self._doubtful.clear()

    def replied(
        self, flight: Flight, step: Any, value: Any, error: ZkkitError | None, zxid: int
    ) -> None:
        """One request of a flight has its outcome."""
        hooks, run = self.hooks, flight.run
        if hooks.step:
            # t_ns - duration is the moment the flight took off: the same for all its members.
            at = time.monotonic_ns()
            cause = type(error).__name__ if error is not None else ""
            kind, latency = type(step).__name__, at - flight.started
            self._emit("step", step.path, kind, run, zxid, cause, latency, at)
        if error is not None:
            if isinstance(error, ConnectionLost) and type(step) is Create:
                self._doubtful[step.path] = step.mode
            return
        if type(step) is Create:
            self._doubtful.pop(step.path, None)
            self._created(value.path, step.mode, run, value.stat.czxid)
        elif hooks.node_deleted and type(step) is Delete:
            self._emit("node_deleted", step.path, "", run, zxid)

    def _created(self, path: str, mode: Mode, run: Run, zxid: int) -> None:
        if self.hooks.node_created:
            self._emit("node_created", path, mode.name.lower(), run, zxid)

    def _found(self, mark: Mark, run: Run) -> None:
        """A node is there that we may have heard nothing of: now it counts, and only now."""
        asked = next((path for path in self._doubtful if _may_be(path, mark.path)), None)
        if asked is not None:
            self._created(mark.path, self._doubtful.pop(asked), run, mark.zxid)

    def watch_set(self, key: Key, run: Run) -> None:
        if self.hooks.watch_set:
            self._emit("watch_set", key.path, key.kind.name.lower(), run)

    def fired(self, fire: Fire) -> None:
        if self.hooks.watch_fired:
            self._emit("watch_fired", fire.path, fire.kind.value)

    def woke(self, run: Run, fire: Fire) -> None:
        if self.hooks.woke:
            waited = time.monotonic_ns() - run.parked_at
            self._emit("woke", fire.path, fire.kind.value, run, cause=fire.path, duration=waited)

    def marked(self, mark: Mark, run: Run, duration: int) -> None:
        if mark.tally is not None:
            mark.tally.count(mark.what, mark.kind, duration)
        if mark.what == "found":
            self._found(mark, run)
        elif mark.what != "gave up" and getattr(self.hooks, mark.what):
            self._emit(mark.what, mark.path, mark.kind, run, mark.zxid, duration=duration)

    def lost(self, held: Held, cause: str) -> None:
        at = time.monotonic_ns()
        if held.tally is not None:
            held.tally.count("lost", "", at - held.since)
        if self.hooks.lost:
            event = Event(
                at, self.session, held.actor, held.recipe, held.path, "", held.zxid,
                cause, at - held.since,
            )  # fmt: skip
            self.hooks.emit("lost", event)

    def session_changed(self, state: str) -> None:
        if self.hooks.session_changed:
            self._emit("session_changed", "", state)

    def _emit(
        self,
        hook: str,
        path: str,
        kind: str,
        run: Run | None = None,
        zxid: int = 0,
        cause: str = "",
        duration: int = 0,
        at: int = 0,
    ) -> None:
        actor, recipe = (run.actor_name, run.recipe) if run is not None else ("", "")
        at = at or time.monotonic_ns()
        self.hooks.emit(
            hook, Event(at, self.session, actor, recipe, path, kind, zxid, cause, duration)
        )


def _may_be(asked: str, path: str) -> bool:
    """Whether a create of `asked` may have made `path`: the same, or with a number behind it."""
    return path == asked or (path.startswith(asked) and "/" not in path[len(asked) :])
