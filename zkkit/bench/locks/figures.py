"""From cells to figures: rates, ratios with an interval, CPU for each acquisition."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from zkkit.bench.kit.statistics import Interval, Spread, spread_of
from zkkit.bench.locks.judge import LockCell, LockSpeeds
from zkkit.bench.locks.layers import LayerShares
from zkkit.bench.locks.plan import LocksPlan
from zkkit.bench.peers.cells import OURS, ZKKIT
from zkkit.bench.peers.figures import ComparisonResults, measured_rows


@dataclass(frozen=True)
class PeerFigure:
    """What one peer did at one row, over all repeats.

    Microseconds of CPU are for one acquisition. They are None where they are not known: not every
    system tells them, nor do servers in containers or on other machines.
    """

    cells: int
    rate: Spread
    acquisitions: int
    client_us: float | None
    client_share: float | None
    thread_us: Mapping[str, float]
    server_us: Mapping[str, float]
    machine_share: float | None
    saturated: int


@dataclass(frozen=True)
class LockFigure:
    """One row: what each peer did, and how zkkit compares with each of the others. What zkkit did
    on asyncio is a row of its own, beside the same cells of the others."""

    kind: str
    sessions: int
    classes: Mapping[str, str]
    peers: Mapping[str, PeerFigure]
    ratios: Mapping[str, Interval]
    subject: str = ZKKIT
    """Which of zkkit's peers it is about: on threads, or on asyncio."""


@dataclass(frozen=True, kw_only=True)
class LocksResults(ComparisonResults):
    """What results.json says about the speed of locks."""

    experiment: ClassVar[str] = "locks"
    plan: LocksPlan
    figures: tuple[LockFigure, ...]
    runs: tuple[LockCell, ...]
    warmed: Mapping[str, int] = field(default_factory=dict)
    """Acquisitions of each peer before anything counted."""
    layers: tuple[LayerShares, ...] = ()
    """Where zkkit's CPU time goes."""


def figures(speeds: LockSpeeds) -> tuple[LockFigure, ...]:
    """One for each row that all peers were measured at, and of zkkit's peers one each."""
    found = []
    for one in measured_rows(speeds):
        others = [name for name in one.cells if name not in OURS]
        found += [
            LockFigure(
                kind=one.row.kind.name,
                sessions=one.row.sessions,
                classes=one.row.kind.classes,
                peers={name: _peer(one.cells[name]) for name in (subject, *others)},
                ratios=one.ratios(subject, others),
                subject=subject,
            )
            for subject in OURS
            if subject in one.cells
        ]
    return tuple(found)


def _peer(cells: Sequence[LockCell]) -> PeerFigure:
    """CPU over all cells together: its clock ticks too seldom for one of them."""
    acquisitions = sum(cell.acquisitions for cell in cells)
    seconds = sum(cell.seconds for cell in cells)
    client = sum(cell.client_cpu or 0.0 for cell in cells) or None
    servers = {name: sum(cell.server_cpu[name] for cell in cells) for name in cells[0].server_cpu}
    threads = {
        kind: sum(cell.thread_cpu.get(kind, 0.0) for cell in cells)
        for kind in {kind: None for cell in cells for kind in cell.thread_cpu}
    }
    busy = (client + sum(servers.values())) / seconds if client and servers else None
    return PeerFigure(
        cells=len(cells),
        rate=spread_of(cell.value for cell in cells),
        acquisitions=acquisitions,
        client_us=client and client / acquisitions * 1e6,
        client_share=client and client / seconds,
        thread_us={kind: used / acquisitions * 1e6 for kind, used in threads.items()},
        server_us={name: used / acquisitions * 1e6 for name, used in servers.items()},
        machine_share=busy and busy / (os.cpu_count() or 1),
        saturated=sum(cell.saturated for cell in cells),
    )
