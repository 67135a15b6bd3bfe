"""All of it: servers, processes, the storm, the calm after it, and the last look.

    storm   Faults strike for as long as was asked for, while the processes contend.
    calm    All is mended. Every actor takes each of its locks once more, leads or counts once more,
            and rests. It has `CALM` seconds for that, however many contend.
    close   Caches become like the tree. Sessions are closed and processes end.

Meanwhile everything is written down; nothing is judged here.
"""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from tempfile import mkdtemp

import zkkit
from zkkit import Session
from zkkit.bench.kit.pool import removal
from zkkit.bench.kit.servers import ServerFacts
from zkkit.chaos import remains, scene
from zkkit.chaos.actors import CALM as TAKE_EACH
from zkkit.chaos.actors import CLOSE
from zkkit.chaos.counting import count
from zkkit.chaos.crew import PER_FRONT, TIMEOUTS, CrewProgress, Started, StormCrew, listening
from zkkit.chaos.diary import Diary
from zkkit.chaos.ledger import Ledger
from zkkit.chaos.meetings import meetings
from zkkit.chaos.storm import Storm
from zkkit.chaos.trees import FOLLOWED, write_tree
from zkkit.chaos.watching import WATCHES
from zkkit.ensemble import LocalEnsemble
from zkkit.ensemble.base import poll
from zkkit.errors import ZkkitError

ROUND = 5.0
"""Seconds of storm from one progress report to the next."""
CALM = 60.0
"""Seconds within which everybody must have had each of their locks after the last fault."""

_BIRTH = 60.0  # seconds for all processes to be granted something before the storm begins
_CLOSE = 20.0  # seconds for all processes to end
_EXPIRY = max(TIMEOUTS) + 8.0  # seconds for what the killed ones had to expire
_END = 5.0  # seconds for processes and ports to be gone
_DRAIN = 4.0  # seconds for the ledger to be read, between faults
_DRAIN_AT_LAST = 60.0
_OWN_TIMEOUT = 30.0  # of our own session: it outlives the faults


class ChaosFailed(ZkkitError):
    """The run could not go on."""


@dataclass(frozen=True)
class ChaosPlan:
    """What the user asked for."""

    seconds: float
    fronts: tuple[str, ...]
    faults: tuple[str, ...]
    seed: int
    calm_s: float = CALM

    @property
    def rounds(self) -> int:
        """How often the progress of the storm is reported."""
        return max(1, round(self.seconds / ROUND))


def run(plan: ChaosPlan, history: Path, on_round: Callable[[str], object]) -> ServerFacts | None:
    """Run it and write everything into the directory `history`. Gives what a report says about
    the servers, if they were started. Whatever stops it is written down too; nothing that was
    started is left."""
    diary = Diary(history / "chaos.jsonl")
    diary.note(
        "plan",
        **asdict(plan),
        locks=scene.LOCKS,
        limits=scene.LIMITS,
        fenced=scene.FENCED,
        counters=[scene.COUNTER, scene.SHARED_COUNT],
        numbers=[scene.NUMBERS],
        caches=FOLLOWED,
        watches=WATCHES,
        gates=scene.GATES,
        meetings=meetings(PER_FRONT * len(plan.fronts)),
        deeds=[deed for deed in scene.DEEDS if deed != "cancel" or set(plan.fronts) != {"threads"}],
    )
    ensemble = LocalEnsemble()
    stage = _Stage(plan, history, diary, on_round, ensemble)
    try:
        with ensemble:
            stage.play()
    except KeyboardInterrupt:
        diary.note("stopped", why="it was interrupted")
    except ZkkitError as error:
        diary.note("stopped", why=str(error))
    stage.look_for_processes()
    diary.close()
    return stage.servers


@dataclass
class _Stage:
    """One run."""

    plan: ChaosPlan
    history: Path
    diary: Diary
    on_round: Callable[[str], object]
    ensemble: LocalEnsemble
    servers: ServerFacts | None = None
    started: set[Started] = field(default_factory=set)
    ports: list[int] = field(default_factory=list)
    sessions: set[int] = field(default_factory=set)

    def play(self) -> None:
        """Everything that needs servers."""
        ensemble = self.ensemble
        self.servers = ServerFacts.from_data(ensemble.describe())
        self.ports += ensemble.ports.values()
        with zkkit.connect(ensemble.hosts, timeout=_OWN_TIMEOUT) as session:
            session.create(scene.ROOT)
            session.create(scene.LEDGER)
            session.create(scene.TREE)
            session.create(scene.COLD)
            session.create(scene.GATES)
            session.create(scene.MEETINGS)
            ledger_diary = Diary(self.history / "ledger.jsonl")
            ledger = Ledger(session, ledger_diary)
            try:
                self._with_crew(session, ledger)
                if not ledger.drain(_DRAIN_AT_LAST):
                    raise ChaosFailed("the guarded writes could not be read back to the last")
                self.diary.note("drained", writes=ledger.count)
                session.run(removal(scene.ROOT))
            finally:
                ledger_diary.close()
                self.started |= set(map(Started.now, ensemble.pids.values()))

    def _with_crew(self, session: Session, ledger: Ledger) -> None:
        plan, ensemble = self.plan, self.ensemble
        home = Path(mkdtemp(prefix="zkkit-chaos-"))
        with StormCrew(ensemble.hosts, plan.fronts, home, self.diary, plan.seed) as crew:
            self.ports += crew.ports
            try:
                progress = CrewProgress(crew)
                crew.start_all()
                self._await_birth(crew, progress)
                self._storm(session, crew, ledger, progress)
                self._calm(session, crew, progress)
                self._close(session, crew)
            finally:
                self.started |= crew.started
                self._keep_diaries(crew)

    def _await_birth(self, crew: StormCrew, progress: CrewProgress) -> None:
        if not _eventually(progress.all_granted, _BIRTH):
            raise ChaosFailed(
                f"not all processes were granted a lock within {_BIRTH:g} s, before any fault: "
                f"{crew.last_words()[-500:] or 'they said nothing'}"
            )

    def _storm(
        self, session: Session, crew: StormCrew, ledger: Ledger, progress: CrewProgress
    ) -> None:
        self.diary.note("phase", phase="storm")
        began = time.monotonic()
        storm = Storm(self.ensemble, crew, self.plan.faults, self.diary, self.plan.seed)
        try:
            for number in range(1, self.plan.rounds + 1):
                self.sessions.add(session.session_id)
                ledger.drain(_DRAIN)
                end = began + self.plan.seconds * number / self.plan.rounds
                storm.failed.wait(max(0.0, end - time.monotonic()))
                self.on_round(
                    f"{progress.grants():,} grants, {storm.faults.total():,} faults, "
                    f"the last: {storm.last}"
                )
                if storm.failed.is_set():
                    break
            storm.end()
        finally:
            storm.abandon()

    def _calm(self, session: Session, crew: StormCrew, progress: CrewProgress) -> None:
        self.diary.note("phase", phase="calm")
        crew.phase.write(TAKE_EACH)
        _eventually(progress.all_rested, self.plan.calm_s)
        self.diary.note("phase", phase="over")
        find = partial(remains.lock_nodes, session)
        remains.look(self.diary, "nodes at rest", "node", _EXPIRY, find)
        self.diary.note("tree", nodes=write_tree(session, crew.directory))

    def _close(self, session: Session, crew: StormCrew) -> None:
        crew.phase.write(CLOSE)
        _eventually(lambda: len(crew.ended()) == len(crew.clients), _CLOSE)
        for name, code in crew.ended().items():
            self.diary.note("ended", process=name, code=code)
        self.sessions.add(session.session_id)
        look = partial(remains.look, self.diary)
        look("nodes at the end", "node", _EXPIRY, partial(remains.lock_nodes, session))
        look("receipts", "node", _EXPIRY, partial(remains.receipts, session))
        known = partial(remains.sessions, self.ensemble, self.sessions)
        look("sessions", "session", _EXPIRY, known)
        for counter, value in count(session).items():
            self.diary.note("counted", counter=counter, value=value)

    def _keep_diaries(self, crew: StormCrew) -> None:
        for diary in crew.diaries:
            packed = gzip.compress(diary.read_bytes(), compresslevel=5)
            (self.history / f"{diary.name}.gz").write_bytes(packed)

    def look_for_processes(self) -> None:
        """The last look, when everything should be gone."""
        look = partial(remains.look, self.diary)
        look("processes", "process", _END, lambda: [each for each in self.started if each.alive])
        look("ports", "port", _END, lambda: filter(listening, self.ports))


def _eventually(question: Callable[[], bool], seconds: float) -> bool:
    """Ask until the answer is yes. Returns whether it was, in time."""
    return bool(poll(lambda: question() or None, seconds))
