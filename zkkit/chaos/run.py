"""All of it: servers, processes, the storm, the calm after it, and the last look.

    storm   Faults strike for as long as was asked for, while the processes contend.
    calm    All is mended. Every actor takes each of its locks once more and rests. For that there
            is `CALM` seconds, however many contend.
    close   Sessions are closed and processes end.

Meanwhile everything is written down; nothing is judged here.
"""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import zkkit
from zkkit import Session
from zkkit.chaos import remains, scene
from zkkit.chaos.actors import CALM as TAKE_EACH
from zkkit.chaos.actors import CLOSE
from zkkit.chaos.crew import TIMEOUTS, Crew, alive, listening
from zkkit.chaos.diary import Diary
from zkkit.chaos.ledger import Ledger
from zkkit.chaos.storm import Storm
from zkkit.chaos.tally import Tally
from zkkit.ensemble import LocalEnsemble
from zkkit.errors import ZkkitError
from zkkit.retry import Deadline

ROUND = 5.0
"""Seconds of storm from one word about it to the next."""
CALM = 60.0
"""Seconds within which everybody must have had each of their locks after the last fault."""

_BIRTH = 60.0  # seconds for all processes to be granted something before the storm begins
_CLOSE = 20.0  # seconds for all processes to end
_EXPIRY = max(TIMEOUTS) + 8.0  # seconds for what the killed ones had to expire
_END = 5.0  # seconds for processes and ports to be gone
_DRAIN = 4.0  # seconds for the ledger to be read, between faults
_DRAIN_AT_LAST = 60.0
_LOOK = 0.1
_OWN_TIMEOUT = 30.0  # of our own session: it outlives the faults


class ChaosFailed(ZkkitError):
    """The run could not go on."""


@dataclass(frozen=True)
class ChaosPlan:
    """What is asked for."""

    seconds: float
    fronts: Sequence[str]
    faults: Sequence[str]
    seed: int

    @property
    def rounds(self) -> int:
        """How often something is told of the storm."""
        return max(1, round(self.seconds / ROUND))


def run(plan: ChaosPlan, history: Path, on_round: Callable[[str], object]) -> dict[str, Any]:
    """Run it and write everything into the directory `history`. Gives what a report says about
    the servers. Whatever stops it is written down too; nothing that was started is left."""
    diary = Diary(history / "chaos.jsonl")
    diary.note(
        "plan",
        seconds=plan.seconds,
        fronts=list(plan.fronts),
        faults=list(plan.faults),
        seed=plan.seed,
        locks=scene.LOCKS,
        limits=scene.LIMITS,
        fenced=scene.FENCED,
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


class _Stage:
    """One run."""

    def __init__(
        self,
        plan: ChaosPlan,
        history: Path,
        diary: Diary,
        on_round: Callable[[str], object],
        ensemble: LocalEnsemble,
    ) -> None:
        self.servers: dict[str, Any] = {}
        self._plan = plan
        self._history = history
        self._diary = diary
        self._on_round = on_round
        self._ensemble = ensemble
        self._remains = remains.Remains(diary)
        self._pids: set[int] = set()
        self._ports: list[int] = []
        self._sessions: set[int] = set()

    def play(self) -> None:
        """Everything that needs servers."""
        ensemble = self._ensemble
        self.servers = ensemble.describe()
        self._ports += ensemble.ports.values()
        with zkkit.connect(ensemble.hosts, timeout=_OWN_TIMEOUT) as session:
            session.create(scene.ROOT)
            session.create(scene.LEDGER)
            ledger_diary = Diary(self._history / "ledger.jsonl")
            ledger = Ledger(session, ledger_diary)
            try:
                self._with_crew(session, ledger)
                if not ledger.drain(_DRAIN_AT_LAST):
                    raise ChaosFailed("the guarded writes could not be read back to the last")
                self._diary.note("drained", writes=ledger.count)
                remains.remove_all(session)
            finally:
                ledger_diary.close()
                self._pids |= set(ensemble.pids.values())

    def _with_crew(self, session: Session, ledger: Ledger) -> None:
        plan, ensemble = self._plan, self._ensemble
        home = Path(mkdtemp(prefix="zkkit-chaos-"))
        with Crew(ensemble.hosts, plan.fronts, home, self._diary, plan.seed) as crew:
            self._ports += crew.ports
            try:
                tally = Tally(crew)
                crew.start_all()
                self._await_birth(crew, tally)
                self._storm(session, crew, ledger, tally)
                self._calm(session, crew, tally)
                self._close(session, crew)
            finally:
                self._pids |= crew.pids
                self._keep_diaries(crew)

    def _await_birth(self, crew: Crew, tally: Tally) -> None:
        if not _eventually(tally.all_granted, _BIRTH):
            raise ChaosFailed(
                f"not all processes were granted a lock within {_BIRTH:g} s, before any fault: "
                f"{crew.last_words()[-500:] or 'they said nothing'}"
            )

    def _storm(self, session: Session, crew: Crew, ledger: Ledger, tally: Tally) -> None:
        self._diary.note("phase", phase="storm")
        began = time.monotonic()
        storm = Storm(self._ensemble, crew, self._plan.faults, self._diary, self._plan.seed)
        try:
            for number in range(1, self._plan.rounds + 1):
                self._sessions.add(session.session_id)
                ledger.drain(_DRAIN)
                end = began + self._plan.seconds * number / self._plan.rounds
                storm.failed.wait(max(0.0, end - time.monotonic()))
                self._on_round(
                    f"{tally.grants():,} grants, {storm.faults.total():,} faults, "
                    f"the last: {storm.last}"
                )
                if storm.failed.is_set():
                    break
            storm.end()
        finally:
            storm.abandon()

    def _calm(self, session: Session, crew: Crew, tally: Tally) -> None:
        self._diary.note("phase", phase="calm")
        crew.told.say(TAKE_EACH)
        _eventually(tally.all_rested, CALM)
        self._diary.note("phase", phase="over")
        self._look("nodes at rest", "node", lambda: remains.lock_nodes(session))

    def _close(self, session: Session, crew: Crew) -> None:
        crew.told.say(CLOSE)
        _eventually(lambda: len(crew.ended()) == len(crew.clients), _CLOSE)
        for name, code in crew.ended().items():
            self._diary.note("ended", process=name, code=code)
        self._sessions.add(session.session_id)
        self._look("nodes at the end", "node", lambda: remains.lock_nodes(session))
        self._look("sessions", "session", lambda: remains.sessions(self._ensemble, self._sessions))

    def _look(self, where: str, what: str, find: Callable[[], Sequence[str]]) -> None:
        self._remains.look(where, what, _EXPIRY, find)

    def _keep_diaries(self, crew: Crew) -> None:
        for diary in crew.diaries:
            packed = gzip.compress(diary.read_bytes(), compresslevel=5)
            (self._history / f"{diary.name}.gz").write_bytes(packed)

    def look_for_processes(self) -> None:
        """The last look, when everything should be gone."""
        self._remains.look(
            "processes", "process", _END, lambda: [str(pid) for pid in self._pids if alive(pid)]
        )
        self._remains.look(
            "ports", "port", _END, lambda: [str(port) for port in self._ports if listening(port)]
        )


def _eventually(question: Callable[[], bool], seconds: float) -> bool:
    """Ask until the answer is yes; whether it was, in time."""
    deadline = Deadline.after(seconds, time.monotonic())
    while not question():
        if deadline.over(time.monotonic()):
            return False
        time.sleep(_LOOK)
    return True
