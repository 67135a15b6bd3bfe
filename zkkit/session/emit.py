"""Turns what happens in a session into events; builds none that no instrument listens for."""

from __future__ import annotations

import time
from typing import Any

from ..errors import ConnectionLost, ZkkitError
from ..hooks import Event, Hooks
from ..kernel import WatchKey
from ..steps import GAINS, Create, Delete, Fire, Mark, Mode
from .holds import HeldNode
from .run import Flight, Run


class Reporter:
    """Turns what happens in a session into events."""

    def __init__(self, hooks: Hooks) -> None:
        self.hooks = hooks
        self.session = 0
        """The id of the session that events belong to."""
        self._doubtful: dict[str, Mode] = {}  # creates of this session whose replies were lost
        self._awake: dict[Run, Event] = {}  # runs that a fire woke, till it is known what for

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
            self.hooks.emit("step", self._event(step.path, kind, run, zxid, cause, latency, at))
        if error is not None:
            if isinstance(error, ConnectionLost) and type(step) is Create:
                self._doubtful[step.path] = step.mode
            return
        if type(step) is Create:
            self._doubtful.pop(step.path, None)
            self._created(value.path, step.mode, run, value.stat.czxid)
        elif hooks.node_deleted and type(step) is Delete:
            self.hooks.emit("node_deleted", self._event(step.path, "", run, zxid))

    def _created(self, path: str, mode: Mode, run: Run, zxid: int) -> None:
        if self.hooks.node_created:
            self.hooks.emit("node_created", self._event(path, mode.name.lower(), run, zxid))

    def _found(self, mark: Mark, run: Run) -> None:
        """A node is there that we may have heard nothing of: now it counts, and only now."""
        asked = next((path for path in self._doubtful if _may_be(path, mark.path)), None)
        if asked is not None:
            self._created(mark.path, self._doubtful.pop(asked), run, mark.zxid)

    def watch_set(self, key: WatchKey, run: Run) -> None:
        if self.hooks.watch_set:
            self.hooks.emit("watch_set", self._event(key.path, key.kind.name.lower(), run))

    def fired(self, fire: Fire) -> None:
        if self.hooks.watch_fired:
            self.hooks.emit("watch_fired", self._event(fire.path, fire.kind.value))

    def woke(self, run: Run, fire: Fire) -> None:
        """A fire is about to resume a run."""
        if self.hooks.woke or self.hooks.wakeup_ended:
            at, path = time.monotonic_ns(), fire.path
            waited = at - run.parked_at
            event = self._event(path, fire.kind.value, run, cause=path, duration=waited, at=at)
            self._awake[run] = event
            self.hooks.emit("woke", event)

    def wakeup_ended(self, run: Run, outcome: str) -> None:
        """A run waits again, fails, is interrupted, gained something or has its result: if a fire
        woke it, the first of these says what the wakeup was good for."""
        if self._awake and (woke := self._awake.pop(run, None)) is not None:
            at = time.monotonic_ns()
            # The session of the wakeup: if it is over by now, the two still belong together.
            ended = woke._replace(t_ns=at, kind=outcome, duration=at - woke.t_ns)
            self.hooks.emit("wakeup_ended", ended)

    def marked(self, mark: Mark, run: Run, duration: int) -> None:
        """A run has marked something; `duration` is the time it held or waited."""
        if mark.tally is not None:
            mark.tally.count(mark.what, mark.kind, duration)
        if mark.what == "found":
            self._found(mark, run)
        elif mark.what != "gave up" and getattr(self.hooks, mark.what):
            self.hooks.emit(
                mark.what, self._event(mark.path, mark.kind, run, mark.zxid, mark.before, duration)
            )
        if mark.what in GAINS:
            self.wakeup_ended(run, "useful")

    def lost(self, held: HeldNode, cause: str) -> None:
        """Something held or led is lost."""
        at = time.monotonic_ns()
        if held.tally is not None:
            held.tally.count("lost", "", at - held.since)
        if self.hooks.lost:
            lasted = at - held.since
            event = self._event(held.path, held.what, held, held.zxid, cause, lasted, at)
            self.hooks.emit("lost", event)

    def session_changed(self, state: str) -> None:
        if self.hooks.session_changed:
            self.hooks.emit("session_changed", self._event("", state))

    def _event(
        self,
        path: str,
        kind: str,
        by: Run | HeldNode | None = None,
        zxid: int = 0,
        cause: str = "",
        duration: int = 0,
        at: int = 0,
    ) -> Event:
        actor, recipe = (by.actor_name, by.recipe) if by is not None else ("", "")
        at = at or time.monotonic_ns()
        return Event(at, self.session, actor, recipe, path, kind, zxid, cause, duration)


def _may_be(asked: str, path: str) -> bool:
    """Whether a create of `asked` may have made `path`: the same, or with a number behind it."""
    return path == asked or (path.startswith(asked) and "/" not in path[len(asked) :])
