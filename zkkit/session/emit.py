"""Turns what happens in a session into events; builds none that no instrument listens for.

Whoever measures a recipe records it, so recording must hardly show in what is measured: an event is
one tuple, built where it happens, and everything it says of its run is there already.
"""

from __future__ import annotations

from time import monotonic_ns
from typing import Any, NamedTuple

from ..errors import ConnectionLost, ZkkitError
from ..hooks import Hook, Hooks
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
        self._awake: dict[Run, _Wakeup] = {}  # runs that a fire woke, till it is known what for

    def begin(self, session_id: int) -> None:
        """From now on events belong to this session."""
        self.session = session_id
        self._doubtful.clear()

    def replied(
        self, flight: Flight, step: Any, value: Any, error: ZkkitError | None, zxid: int
    ) -> None:
        """One request of a flight has its outcome."""
        hooks, run = self.hooks, flight.run
        if calls := hooks.step:
            # t_ns - duration is the moment the flight took off: the same for all its members.
            at = monotonic_ns()
            hooks.tell(
                calls, at, self.session, run.actor_name, run.recipe, step.path,
                type(step).__name__, zxid, "" if error is None else type(error).__name__,
                at - flight.started,
            )  # fmt: skip
        if error is not None:
            if isinstance(error, ConnectionLost) and type(step) is Create:
                self._doubtful[step.path] = step.mode
            return
        if type(step) is Create:
            self._doubtful.pop(step.path, None)
            self._created(value.path, step.mode, run, value.stat.czxid)
        elif type(step) is Delete and (calls := hooks.node_deleted):
            self._tell(calls, run, step.path, "", zxid)

    def _created(self, path: str, mode: Mode, run: Run, zxid: int) -> None:
        if calls := self.hooks.node_created:
            self._tell(calls, run, path, mode.label, zxid)

    def _found(self, mark: Mark, run: Run) -> None:
        """A node is there that we may have heard nothing of: now it counts, and only now."""
        asked = next((path for path in self._doubtful if _may_be(path, mark.path)), None)
        if asked is not None:
            self._created(mark.path, self._doubtful.pop(asked), run, mark.zxid)

    def watch_set(self, key: WatchKey, run: Run) -> None:
        if calls := self.hooks.watch_set:
            self._tell(calls, run, key.path, key.kind.label)

    def fired(self, fire: Fire) -> None:
        if calls := self.hooks.watch_fired:
            self._tell(calls, _NOBODY, fire.path, str(fire.kind))

    def woke(self, run: Run, fire: Fire) -> None:
        """A fire is about to resume a run."""
        hooks = self.hooks
        if hooks.woke or hooks.wakeup_ended:
            at, path = monotonic_ns(), fire.path
            self._awake[run] = _Wakeup(at, self.session, path)
            waited = at - run.parked_at
            self._tell(hooks.woke, run, path, str(fire.kind), 0, path, waited, at)

    def wakeup_ended(self, run: Run, outcome: str) -> None:
        """A run waits again, fails, is interrupted, gained something or has its result: if a fire
        woke it, the first of these says what the wakeup was good for."""
        if self._awake and (woke := self._awake.pop(run, None)) is not None:
            since, session, path = woke
            at = monotonic_ns()
            # The session of the wakeup: if it is over by now, the two still belong together.
            self.hooks.tell(
                self.hooks.wakeup_ended, at, session, run.actor_name, run.recipe, path, outcome, 0,
                path, at - since,
            )  # fmt: skip

    def marked(self, mark: Mark, run: Run, duration: int) -> None:
        """A run has marked something; `duration` is the time it held or waited."""
        what = mark.what
        if mark.tally is not None:
            mark.tally.count(what, mark.kind, duration)
        if what == "found":
            self._found(mark, run)
        elif what != "gave up" and (calls := getattr(self.hooks, what)):
            self._tell(calls, run, mark.path, mark.kind, mark.zxid, mark.before, duration)
        if what in GAINS:
            self.wakeup_ended(run, "useful")

    def lost(self, held: HeldNode, cause: str) -> None:
        """Something held or led is lost."""
        at = monotonic_ns()
        if held.tally is not None:
            held.tally.count("lost", "", at - held.since)
        if calls := self.hooks.lost:
            lasted = at - held.since
            self._tell(calls, held, held.path, held.what, held.zxid, cause, lasted, at)

    def session_changed(self, state: str) -> None:
        if calls := self.hooks.session_changed:
            self._tell(calls, _NOBODY, "", state)

    def _tell(
        self,
        calls: tuple[Hook, ...],
        by: Run | HeldNode | _Nobody,
        path: str,
        kind: str,
        zxid: int = 0,
        cause: str = "",
        duration: int = 0,
        at: int = 0,
    ) -> None:
        self.hooks.tell(
            calls, at or monotonic_ns(), self.session, by.actor_name, by.recipe, path, kind, zxid,
            cause, duration,
        )  # fmt: skip


class _Wakeup(NamedTuple):
    """When a fire woke a run, in which session, and the node that the fire was about."""

    at: int
    session: int
    path: str


class _Nobody(NamedTuple):
    """Whose doing it is that a server says something."""

    actor_name: str
    recipe: str


_NOBODY = _Nobody("", "")


def _may_be(asked: str, path: str) -> bool:
    """Whether a create of `asked` may have made `path`: the same, or with a number behind it."""
    return path == asked or (path.startswith(asked) and "/" not in path[len(asked) :])
