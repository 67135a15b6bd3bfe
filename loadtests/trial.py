"""One load test: its servers, its users, what they measured, and its verdict.

locust calls us at the start, at each step and at the end; the users report their turns here.
Nothing in this file knows locust.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from typing import Any

import zkkit
from loadtests.figures import Window, figure
from loadtests.options import Wanted
from loadtests.servers import ensemble_for
from loadtests.turns import MOST, Turns, user_name
from zkkit import Session
from zkkit.bench.machine import Cpu, cpu_between, cpu_used
from zkkit.bench.verdict import Judgement, Verdict
from zkkit.bench.witness import Reading, Witness, WitnessSilent, fires_between, fires_of
from zkkit.check.overlap import overlaps
from zkkit.errors import NodeExists, NoNode, NotEmpty, ZkkitError
from zkkit.hooks import Event, Instrument
from zkkit.steps import Children, Exists, Script, Sync

ROOT = "/zkkit-load"
SESSION_TIMEOUT = 30.0
"""Seconds. A busy machine must not cost a user its session."""
CONNECT_TIMEOUT = 5.0


class _Fires(Instrument):
    """Counts the fires that reach all users."""

    def __init__(self) -> None:
        self.count = 0

    def watch_fired(self, event: Event) -> None:
        if event.kind != "none":  # those are made up on this side, when a connection is lost
            self.count += 1


@dataclass(frozen=True)
class _Mark:
    """The counters at one moment."""

    ns: int
    fires: int
    reading: Reading
    cpu: Cpu


class Trial:
    """Made by `opened`. The users call `arrived`, `left`, `asks`, and fill `turns`."""

    def __init__(self, wanted: Wanted, there: Any, keeper: Session, path: str) -> None:
        self.wanted = wanted
        self.servers = there
        self.path = path
        self.turns = Turns()
        self.windows: list[Window] = []
        self.failures: dict[str, int] = {}
        self.started = datetime.now(UTC)
        self.before: Reading = {}
        self.after: Reading = {}
        self.silent = ""
        """Why the servers' count is missing; "" if it is not."""
        self._keeper = keeper
        self._witness = Witness(there.hosts)
        self._fires = _Fires()
        self._sessions: dict[int, Session] = {}
        self._ids: set[int] = set()
        self._waiting: dict[int, int] = {}
        self._numbers = count(1)
        self._open: tuple[int, _Mark] | None = None
        self._over = False
        self.before = self._read()

    # --- the users ----------------------------------------------------------------------

    @property
    def hosts(self) -> str:
        return str(self.servers.hosts)

    def number(self) -> int:
        """A number for a new user."""
        return next(self._numbers)

    def arrived(self, user: int, session: Session) -> None:
        """A user has its session."""
        session.hooks.add(self._fires)
        self._sessions[user] = session
        self._ids.add(session.session_id)

    def left(self, user: int) -> None:
        """A user closes its session, or never had one."""
        self._waiting.pop(user, None)
        self._sessions.pop(user, None)

    @property
    def full(self) -> bool:
        """Whether so many turns are recorded that the test must end."""
        return len(self.turns) >= MOST

    @property
    def connected(self) -> int:
        """How many users have a session that is connected right now."""
        return sum(session.state == "connected" for session in self._sessions.values())

    def asks(self, user: int, now_ns: int) -> None:
        """A user begins to wait for the lock."""
        self._waiting[user] = now_ns

    def answered(self, user: int) -> None:
        """It waits no longer."""
        self._waiting.pop(user, None)

    def failed(self, error: ZkkitError) -> None:
        """A request of a user failed."""
        self._count(error.message, 1)

    def _count(self, what: str, times: int) -> None:
        self.failures[what] = self.failures.get(what, 0) + times

    # --- the steps ----------------------------------------------------------------------

    def step_begins(self, users: int) -> None:
        """So many users are there: measure from now on."""
        self._open = (users, self._mark())

    def step_ends(self) -> None:
        """Measure no longer; harmless if no step is under way."""
        if self._open is None:
            return
        (users, begin), self._open = self._open, None
        if (gone := users - self.connected) > 0:
            self._count("a user was without a session when its step ended", gone)
        waiting = list(self._waiting.values())
        end = self._mark()
        known = bool(begin.reading and end.reading)
        self.windows.append(
            Window(
                design=self.wanted.design,
                users=users,
                begin_ns=begin.ns,
                end_ns=end.ns,
                client_fires=end.fires - begin.fires,
                server_fires=fires_between(begin.reading, end.reading) if known else None,
                cpu=cpu_between(begin.cpu, end.cpu),
                still_waiting_ns=tuple(end.ns - asked for asked in waiting),
                counters={
                    when: {where: fires_of(said) for where, said in mark.reading.items()}
                    for when, mark in (("before", begin), ("after", end))
                },
            )
        )

    def all_held(self) -> None:
        """Every step was held for its time."""
        self._over = True

    def _mark(self) -> _Mark:
        reading = self._read()
        return _Mark(time.monotonic_ns(), self._fires.count, reading, cpu_used(self.servers.pids))

    def _read(self) -> Reading:
        try:
            return self._witness.read()
        except WitnessSilent as error:
            self.silent = str(error)
            return {}

    # --- the end ------------------------------------------------------------------------

    def close_sessions(self, spawn_all: Callable[[list[Callable[[], None]]], None]) -> None:
        """Close what users left open (one that was killed while it closed, say)."""
        left, self._sessions = list(self._sessions.values()), {}
        spawn_all([session.close for session in left])

    def figures(self) -> list[dict[str, Any]]:
        """One for each step that was held."""
        return [
            figure(window, self.turns.between(window.begin_ns, window.end_ns))
            for window in self.windows
        ]

    def judge(self, *, interrupted: bool) -> Judgement:
        """Whether holds overlapped, over the whole test: also while users came and went.

        An overlap is one, whatever ended the test. That there was none is only said of a test that
        was held to its end.
        """
        orphans = self._orphans()
        found = overlaps(self.turns.holds(self.path))
        if found:
            longest = max(found, key=lambda overlap: overlap.ns)
            more = f"; {len(found)} overlaps in {len(self.turns):,} holds" if found[1:] else ""
            return Judgement(Verdict.BROKEN, f"Not exclusive: {longest}{more}.")
        if orphans:
            return Judgement(
                Verdict.BROKEN,
                f"{len(orphans)} contender nodes were left below {self.path}: {orphans[0]}.",
            )
        none = f"{len(self.turns):,} holds, none overlapped"
        if doubt := self._doubt(interrupted):
            until = f". Until then: {none}" if self.turns else ""
            return Judgement(Verdict.UNKNOWN, f"Unknown: {doubt}{until}.")
        why = f"The lock was exclusive: {none}."
        if self.failures:
            why += f" But there were {sum(self.failures.values())} failures."
        return Judgement(Verdict.HOLDS, why)

    def _doubt(self, interrupted: bool) -> str:
        """Why a test without an overlap proves nothing; "" if it does."""
        if interrupted and not self._over:
            return "the test was interrupted"
        if not self.turns:
            return "nobody acquired the lock"
        if self._over:
            return ""
        if not self.windows:
            return "no step was held"
        if self.wanted.seconds is not None:
            return "the test was stopped before its steps had been held for their time"
        return ""  # one without an end of its own, which somebody ended on the page

    def _orphans(self) -> list[str]:
        """Nodes of our sessions below the lock's path, now that all of them are closed."""
        try:
            return self._keeper.run(_owned(self.path, self._ids), timeout=CONNECT_TIMEOUT)
        except ZkkitError:
            return []  # the servers are gone: nobody can say, and nothing can be left either


def _owned(path: str, sessions: set[int]) -> Script[list[str]]:
    yield from Sync(path)
    found = []
    try:
        names = yield from Children(path)
    except NoNode:
        return []
    for name in names:
        stat = yield from Exists(f"{path}/{name}")
        if stat is not None and stat.ephemeral_owner in sessions:
            found.append(name)
    return found


@contextmanager
def opened(wanted: Wanted) -> Iterator[Trial]:
    """A trial on its servers. Raises a ZkkitError with a sentence if they cannot be had."""
    with ExitStack() as stack:
        there = stack.enter_context(ensemble_for(wanted.ensemble))
        keeper = stack.enter_context(_session(there.hosts))
        path = wanted.path or f"{ROOT}/{wanted.design}-{uuid.uuid4().hex[:8]}"
        try:
            # Persistent: an empty container could be reaped in the middle of the test, and making
            # it again would count as work of the lock.
            keeper.create(path, make_parents=True)
        except NodeExists:
            pass
        if not wanted.path:
            stack.callback(_remove, keeper, path)
        trial = Trial(wanted, there, keeper, path)
        yield trial
        trial.after = trial._read()


def _session(hosts: str) -> Session:
    return zkkit.connect(
        hosts,
        handler="gevent",
        timeout=SESSION_TIMEOUT,
        connect_timeout=CONNECT_TIMEOUT,
        node_data=b"keeper",
    )


def session_for(trial: Trial, user: int) -> Session:
    """A session for a user; its lock nodes bear its name."""
    return zkkit.connect(
        trial.hosts,
        handler="gevent",
        timeout=SESSION_TIMEOUT,
        connect_timeout=2 * CONNECT_TIMEOUT,
        node_data=user_name(user).encode(),
    )


def _remove(keeper: Session, path: str) -> None:
    try:
        keeper.delete(path)
    except (NoNode, NotEmpty):
        pass
    except ZkkitError:
        pass  # the servers are gone, and the node with them or not: nothing more can be done
