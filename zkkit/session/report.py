"""What the runner tells the hooks. Nothing is made that nobody listens to."""

from __future__ import annotations

import time
from typing import Any

from ..errors import ZkkitError
from ..hooks import Event, Hooks
from ..steps import Create, Delete, Fire, Mark
from .holds import Held
from .run import Flight, Run
from .watches import Key


class Reporter:
    """Turns what happens in a session into events."""

    def __init__(self, hooks: Hooks) -> None:
        self.hooks = hooks
        self.session = 0
        """The id of the session that events belong to."""

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
            return
        if hooks.node_created and type(step) is Create:
            self._emit("node_created", value.path, step.mode.name.lower(), run, value.stat.czxid)
        elif hooks.node_deleted and type(step) is Delete:
            self._emit("node_deleted", step.path, "", run, zxid)

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
        if mark.what != "gave up" and getattr(self.hooks, mark.what):
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
