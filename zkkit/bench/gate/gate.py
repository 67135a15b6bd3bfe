"""The gate: N contenders queue behind one holder; each acquires once, holds for a moment and
releases. Each has a session of its own, or all are threads on one lock object (the population).

They are started one after the other, each when the one before it is queued, so the order of
arrival is known. That a contender is queued is told by an event, its watch being set, and not by
a sleep. When all are queued, and both witnesses have counted whatever fired until then, the gate
opens: fires and wakeups are counted from there on, creates and requests from the contenders' start.

How long they hold matters to a herd: with no hold at all the slower contenders miss whole holds,
and the herd looks milder than it is.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field

from zkkit import Session
from zkkit.bench.designs import Design, Takeable, to_read, to_write
from zkkit.bench.gate.contender import Contender, GateFailed
from zkkit.bench.gate.gate_run import GateRun
from zkkit.bench.gate.reading import handoffs, overtakings
from zkkit.bench.kit.machine import Cpu, cpu_between, cpu_used
from zkkit.bench.kit.pool import SessionPool, recording
from zkkit.bench.kit.witness import FireCount, Witness
from zkkit.record import Recorder, Row, counts

PATIENCE = 60.0
"""Seconds for one contender to be queued, and for all of them beyond their turns."""

_TURN = 1.0  # seconds that one handoff may take at most, on average


@dataclass
class Gate:
    """Makes runs of the experiment with the sessions of a pool."""

    pool: SessionPool
    witness: Witness
    _: KW_ONLY
    population: str = "own"
    hold: float = 0.0
    pids: Mapping[str, int] = field(default_factory=dict)
    patience: float = PATIENCE
    runs: int = 0
    """How many were begun."""

    def run(self, design: Design, order: Sequence[int], repeat: int) -> tuple[GateRun, list[Row]]:
        """Make one run. `order` names the contenders by number, as they shall arrive; it names
        their sessions too, where each has its own.

        Raises GateFailed if the gate or a contender does not come to its end, WitnessSilent if a
        server does not say what it counted.
        """
        self.runs += 1
        name = f"{self.runs:03d}-{design.name}-{len(order)}"
        shared = self.population == "shared"
        sessions = [self.pool.contenders[0 if shared else number] for number in order]
        recorder = Recorder()
        with (
            self.pool.directory(name) as path,
            recording(recorder, (self.pool.gate, *sessions)),
        ):
            lock = to_write(design.lock(self.pool.gate, path))
            self._close_gate(lock)
            count = FireCount(self.witness, recorder)
            contenders = self._contenders(design, path, order, sessions)
            for contender in contenders:
                contender.queue_up(self.patience)
            count.open()
            for contender in contenders:
                contender.stay_queued(self.patience)
            took = self._open_gate(lock, contenders)
            count.close()
        arrived = [contender.name for contender in contenders]
        rows = list(recorder)
        if not shared:
            rows = _by_name(rows, {s.session_id: n for s, n in zip(sessions, arrived, strict=True)})
        return self._measured(design, repeat, arrived, rows, count, took), rows

    def _contenders(
        self, design: Design, path: str, order: Sequence[int], sessions: Sequence[Session]
    ) -> list[Contender]:
        """The contenders. If some of them read, those are the last ones."""
        # One lock object for each session: one for all where they share it.
        locks = {session: design.lock(session, path) for session in dict.fromkeys(sessions)}
        writers = len(order) - design.readers(len(order))
        return [
            Contender(
                f"contender-{number:02d}",
                session,
                (to_write if place < writers else to_read)(locks[session]),
                hold=self.hold,
                alone=self.population != "shared",
            )
            for place, (number, session) in enumerate(zip(order, sessions, strict=True))
        ]

    def _close_gate(self, lock: Takeable) -> None:
        if lock.acquire(timeout=self.patience) is None:
            raise GateFailed(
                f"the gate did not get its fresh lock {lock.path} within {self.patience:g} s",
                hint="see that the ensemble is up and has a leader",
            )
        # Answered in order: then a watch that acquiring has left is gone, and no newcomer fires it.
        self.pool.gate.exists(lock.path)

    def _open_gate(self, lock: Takeable, contenders: Sequence[Contender]) -> tuple[float, Cpu]:
        """Let all of them through; gives the seconds that took, and the CPU it used."""
        before, began = cpu_used(self.pids), time.perf_counter()
        lock.release()
        deadline = time.monotonic() + self.patience + len(contenders) * (self.hold + _TURN)
        for contender in contenders:
            contender.finish(deadline)
        return time.perf_counter() - began, cpu_between(before, cpu_used(self.pids))

    def _measured(
        self,
        design: Design,
        repeat: int,
        arrived: Sequence[str],
        rows: list[Row],
        count: FireCount,
        took: tuple[float, Cpu],
    ) -> GateRun:
        gate = self.pool.gate.session_id
        theirs = [row for row in rows if row[1].session != gate]
        through = rows[count.opened :]
        readers = arrived[len(arrived) - design.readers(len(arrived)) :]
        return GateRun(
            design=design.name,
            contenders=len(arrived),
            repeat=repeat,
            fires=len(counts.fires(through)),
            creates=len(counts.creates(theirs)),
            wakeups=len(counts.wakeups(through)),
            useful_wakeups=len(counts.useful_wakeups(through)),
            queueing_fires=len(counts.fires(rows[: count.opened])),
            requests=sum(hook == "step" for hook, _ in theirs),
            overtakings=overtakings(theirs, arrived, readers),
            handoffs_ms=tuple(round(ns / 1e6, 4) for ns in handoffs(rows, readers)),
            server_fires=count.servers,
            seconds=took[0],
            cpu=took[1],
            void=count.void,
            counters=count.counters(),
        )


def _by_name(rows: list[Row], names: Mapping[int, str]) -> list[Row]:
    """What happened in a contender's session was done by the contender, in the background too."""
    return [
        (hook, event._replace(actor=names[event.session]))
        if event.actor and event.session in names
        else (hook, event)
        for hook, event in rows
    ]
