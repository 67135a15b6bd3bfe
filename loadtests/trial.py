"""One load test: its servers, its users, what they measured, and its verdict.

locust calls us at the start, at each step and at the end; the users report their turns here.
Nothing in this file knows locust.
"""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count

import zkkit
from loadtests.figures import StepFigure, Window, figure
from loadtests.options import LoadOptions
from loadtests.servers import ensemble_for
from loadtests.turns import MOST, Turns
from zkkit import Session
from zkkit.bench.kit.judgement import Judgement
from zkkit.bench.kit.machine import Cpu, cpu_between, cpu_used
from zkkit.bench.kit.servers import MeasuredServers
from zkkit.bench.kit.witness import Reading, Witness, WitnessSilent, fires_between, fires_of
from zkkit.check.overlap import overlaps
from zkkit.errors import NodeExists, NoNode, ZkkitError
from zkkit.hooks import Event, Instrument
from zkkit.retry import Deadline
from zkkit.session.options import BUSY_TIMEOUT
from zkkit.steps import Children, Exists, Script, Sync

ROOT = "/zkkit-load"
CONNECT_TIMEOUT = 5.0
_TO_EXPIRE = 3.0  # seconds for a server to notice that a session is over
_LOOK = 0.2  # seconds between two looks at what is left


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


class LoadTrial:
    """One test: what its users did, measured step by step. `opened` makes it. The users call
    `arrived` and `left`, and fill `waiting`, `turns` and `failures`."""

    def __init__(
        self, wanted: LoadOptions, servers: MeasuredServers, keeper: Session, path: str
    ) -> None:
        self.wanted = wanted
        self.servers = servers
        self.path = path
        self.turns = Turns()
        self.numbers = count(1)
        """The numbers of users to come."""
        self.waiting: dict[int, int] = {}
        """The users that wait for the lock, and since when."""
        self.windows: list[Window] = []
        self.failures: Counter[str] = Counter()
        """What failed, by its message; the users add what their requests met."""
        self.started = datetime.now(UTC)
        self.after: Reading = {}
        self.silent = ""
        """Why the servers' count is missing; "" if it is not."""
        self._keeper = keeper
        self._witness = Witness(servers.hosts)
        self._fires = _Fires()
        self._sessions: dict[int, Session] = {}
        self._ids: set[int] = set()
        self._open: tuple[int, _Mark] | None = None
        self._over = False
        self.before = self._read()

    # --- the users ----------------------------------------------------------------------

    def arrived(self, user: int, session: Session) -> None:
        """Count a user in that has its session."""
        session.hooks.add(self._fires)
        self._sessions[user] = session
        self._ids.add(session.session_id)

    def left(self, user: int) -> None:
        """Count a user out that closes its session, or never had one."""
        self.waiting.pop(user, None)
        self._sessions.pop(user, None)

    @property
    def full(self) -> bool:
        """Whether so many turns are recorded that the test must end."""
        return len(self.turns) >= MOST

    @property
    def connected(self) -> int:
        """How many users have a session that is connected right now."""
        return sum(session.state == "connected" for session in self._sessions.values())

    # --- the steps ----------------------------------------------------------------------

    def step_begins(self, users: int) -> None:
        """Begin to measure: so many users are there."""
        self._open = (users, self._mark())

    def step_ends(self) -> None:
        """Measure no longer; harmless if no step is under way."""
        if self._open is None:
            return
        (users, begin), self._open = self._open, None
        if (gone := users - self.connected) > 0:
            self.failures["a user was without a session when its step ended"] += gone
        waiting = list(self.waiting.values())
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
        """Read the servers' counters once more, and close what users left open (one that was killed
        while it closed, say)."""
        self.after = self._read()
        left, self._sessions = list(self._sessions.values()), {}
        spawn_all([session.close for session in left])

    def figures(self) -> list[StepFigure]:
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
            return Judgement("broken", f"Not exclusive: {longest}{more}.")
        if orphans:
            return Judgement(
                "broken",
                f"{len(orphans)} contender nodes were left below {self.path}: {orphans[0]}.",
            )
        none = f"{len(self.turns):,} holds, none overlapped"
        if doubt := self._doubt(interrupted):
            until = f". Until then: {none}" if self.turns else ""
            return Judgement("unknown", f"Unknown: {doubt}{until}.")
        why = f"The lock was exclusive: {none}."
        if self.failures:
            why += f" But there were {self.failures.total()} failures."
        return Judgement("holds", why)

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
        """Nodes of our sessions below the lock's path, now that all of them are closed: also those
        that a busy server did not say goodbye to in time, and removes when they expire."""
        deadline = Deadline.after(BUSY_TIMEOUT + _TO_EXPIRE, time.monotonic())
        try:
            while found := self._keeper.run(_owned(self.path, self._ids), timeout=CONNECT_TIMEOUT):
                if deadline.over(time.monotonic()):
                    break
                time.sleep(_LOOK)
        except ZkkitError:
            return []  # the servers are gone: nobody can say, and nothing can be left either
        return found


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
def opened(wanted: LoadOptions) -> Iterator[LoadTrial]:
    """A trial on its servers. Raises a ZkkitError with a sentence if they cannot be had."""
    with ExitStack() as stack:
        servers = stack.enter_context(ensemble_for(wanted.ensemble))
        keeper = stack.enter_context(session_for(servers.hosts, "keeper"))
        path = wanted.path or f"{ROOT}/{wanted.design}-{uuid.uuid4().hex[:8]}"
        with suppress(NodeExists):
            # Persistent: an empty container could be reaped in the middle of the test, and making
            # it again would count as work of the lock.
            keeper.create(path, make_parents=True)
        if not wanted.path:
            stack.callback(_remove, keeper, path)
        yield LoadTrial(wanted, servers, keeper, path)


def session_for(hosts: str, name: str, patience: float = CONNECT_TIMEOUT) -> Session:
    """A session for somebody; the lock nodes bear this name."""
    return zkkit.connect(
        hosts,
        handler="gevent",
        timeout=BUSY_TIMEOUT,
        connect_timeout=patience,
        node_data=name.encode(),
    )


def _remove(keeper: Session, path: str) -> None:
    # It is gone or in use; or the servers are, and nothing more can be done.
    with suppress(ZkkitError):
        keeper.delete(path)
