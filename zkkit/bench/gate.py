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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from zkkit import Session
from zkkit.bench.contender import Contender, RunFailed
from zkkit.bench.count import Count
from zkkit.bench.designs import Design, to_read, to_write
from zkkit.bench.machine import Cpu, cpu_between, cpu_used
from zkkit.bench.pool import Pool
from zkkit.bench.reading import handoffs, overtakings
from zkkit.bench.run import Run
from zkkit.bench.witness import Witness
from zkkit.recipes.locks.owned import OwnedLock
from zkkit.record import Recorder, Row, frames
from zkkit.scripting import Blocking

PATIENCE = 60.0
"""Seconds for one contender to be queued, and for all of them beyond their turns."""

_TURN = 1.0  # seconds that one handoff may take at most, on average


class Gate:
    """Makes runs of the experiment with the sessions of a pool."""

    def __init__(
        self,
        pool: Pool,
        witness: Witness,
        *,
        population: str = "own",
        hold: float = 0.0,
        pids: Mapping[str, int] | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self._pool = pool
        self._shared = population == "shared"
        self._witness = witness
        self._hold = hold
        self._pids = pids or {}
        self._patience = patience
        self._number = 0

    def run(self, design: Design, order: Sequence[int], repeat: int) -> tuple[Run, list[Row]]:
        """One run. `order` names the contenders by number, as they shall arrive; it names their
        sessions too, where each has its own."""
        self._number += 1
        name = f"{self._number:03d}-{design.name}-{len(order)}"
        sessions = [self._pool.contenders[0 if self._shared else number] for number in order]
        recorder = Recorder()
        with (
            self._pool.directory(name) as path,
            _recording(recorder, (self._pool.gate, *sessions)),
        ):
            lock = to_write(design.lock(self._pool.gate, path))
            self._close_gate(lock)
            count = Count(self._witness, recorder)
            contenders = self._contenders(design, path, order, sessions)
            for contender in contenders:
                contender.queue_up(self._patience)
            count.open()
            for contender in contenders:
                contender.stay_queued(self._patience)
            took = self._open_gate(lock, contenders)
            count.close()
        rows = list(recorder)
        arrived = [contender.name for contender in contenders]
        return self._measured(design, repeat, arrived, rows, count, took), rows

    def _contenders(
        self, design: Design, path: str, order: Sequence[int], sessions: Sequence[Session]
    ) -> list[Contender]:
        """Those who will contend. Where some read they are the last ones."""
        # One lock object for each session: one for all where they share it.
        locks = {session: design.lock(session, path) for session in dict.fromkeys(sessions)}
        writers = len(order) - design.readers(len(order))
        return [
            Contender(
                f"contender-{number:02d}",
                session,
                (to_write if place < writers else to_read)(locks[session]),
                hold=self._hold,
            )
            for place, (number, session) in enumerate(zip(order, sessions, strict=True))
        ]

    def _close_gate(self, lock: OwnedLock[Blocking]) -> None:
        if lock.acquire(timeout=self._patience) is None:
            raise RunFailed(
                f"the gate did not get its fresh lock {lock.path} within {self._patience:g} s",
                hint="see that the ensemble is up and has a leader",
            )
        # Answered in order: then a watch that acquiring has left is gone, and no newcomer fires it.
        self._pool.gate.exists(lock.path)

    def _open_gate(
        self, lock: OwnedLock[Blocking], contenders: Sequence[Contender]
    ) -> tuple[float, Cpu]:
        """Let all of them through; gives the seconds that took, and the CPU it used."""
        before, began = cpu_used(self._pids), time.perf_counter()
        lock.release()
        deadline = time.monotonic() + self._patience + len(contenders) * (self._hold + _TURN)
        for contender in contenders:
            contender.finish(deadline)
        return time.perf_counter() - began, cpu_between(before, cpu_used(self._pids))

    def _measured(
        self,
        design: Design,
        repeat: int,
        arrived: Sequence[str],
        rows: list[Row],
        count: Count,
        took: tuple[float, Cpu],
    ) -> Run:
        gate = self._pool.gate.session_id
        theirs = [row for row in rows if row[1].session != gate]
        through = rows[count.opened :]
        readers = arrived[len(arrived) - design.readers(len(arrived)) :]
        return Run(
            design=design.name,
            contenders=len(arrived),
            repeat=repeat,
            fires=len(frames.fires(through)),
            creates=len(frames.creates(theirs)),
            wakeups=len(frames.wakeups(through)),
            useful_wakeups=len(frames.useful_wakeups(through)),
            queueing_fires=len(frames.fires(rows[: count.opened])),
            requests=sum(hook == "step" for hook, _ in theirs),
            overtakings=overtakings(theirs, arrived, readers),
            handoffs_ms=tuple(round(ns / 1e6, 4) for ns in handoffs(rows, readers)),
            server_fires=count.servers,
            seconds=took[0],
            cpu=took[1],
            void=count.void,
            counters=count.counters(),
        )


@contextmanager
def _recording(recorder: Recorder, sessions: Sequence[Session]) -> Iterator[None]:
    for session in sessions:
        session.hooks.add(recorder)
    try:
        yield
    finally:
        for session in sessions:
            session.hooks.remove(recorder)
