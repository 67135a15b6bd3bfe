"""From cells to figures: rates, ratios with an interval, CPU for each acquisition, profiles."""

from __future__ import annotations

import math
import os
import statistics
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from zkkit.bench import machine
from zkkit.bench.figures import spread
from zkkit.bench.locks_cells import Cell, Speeds
from zkkit.bench.locks_rows import ZKKIT
from zkkit.bench.results import SCHEMA, VERSION

_CONFIDENCE = 0.95


class Interval(NamedTuple):
    """A median, and two of the values between which the true one lies with this confidence."""

    median: float
    low: float
    high: float
    confidence: float


def median_interval(values: Sequence[float]) -> Interval:
    """The interval by order statistics, which assumes nothing about the values: the narrowest that
    is sure to 95 %, else all of them (fewer than six give no 95 %)."""
    ordered = sorted(values)
    cut = 0  # how many are cut off at either end
    while 2 * (cut + 1) < len(ordered) and _sure(len(ordered), cut + 1) >= _CONFIDENCE:
        cut += 1
    return Interval(
        statistics.median(ordered), ordered[cut], ordered[-1 - cut], _sure(len(ordered), cut)
    )


def _sure(number: int, cut: int) -> float:
    """How likely the median lies within `number` values without the `cut` outermost."""
    tail = sum(math.comb(number, k) for k in range(cut + 1)) / 2.0**number
    return max(0.0, 1 - 2 * tail)


def figures(speeds: Speeds) -> list[dict[str, Any]]:
    """One for each row: what each peer did, and how zkkit compares with each of the others."""
    found = []
    for row in speeds.plan.rows:
        cells = [c for c in speeds.cells if c.planned.row == row and not c.void]
        mine = {name: [c for c in cells if c.planned.peer == name] for name in speeds.plan.peers}
        if not all(mine.values()):
            continue
        found.append(
            {
                "kind": row.kind.name,
                "sessions": row.sessions,
                "classes": dict(row.kind.classes),
                "peers": {name: _peer(measured) for name, measured in mine.items()},
                "ratios": {
                    name: ratio
                    for name in speeds.plan.peers
                    if name != ZKKIT and (ratio := _ratio(mine[ZKKIT], mine[name]))
                },
            }
        )
    return found


def _peer(cells: Sequence[Cell]) -> dict[str, Any]:
    rates = spread(cell.rate for cell in cells)
    assert rates is not None
    return {
        "cells": len(cells),
        "rate": rates._asdict(),
        "acquisitions": sum(cell.acquisitions for cell in cells),
        **_cpu(cells),
        "saturated": sum(cell.saturated for cell in cells),
    }


def _cpu(cells: Sequence[Cell]) -> dict[str, Any]:
    """Over all cells together: the clock of CPU time ticks too seldom for one of them. None where
    it is not known: not every system tells it, nor servers in containers or on other machines."""
    acquisitions = sum(cell.acquisitions for cell in cells)
    seconds = sum(cell.seconds for cell in cells)
    client = sum(cell.client_cpu or 0.0 for cell in cells) or None
    servers = {name: sum(cell.server_cpu[name] for cell in cells) for name in cells[0].server_cpu}
    cores = os.cpu_count() or 1
    return {
        "client_us": client and client / acquisitions * 1e6,
        "client_share": client and client / seconds,
        "server_us": {name: used / acquisitions * 1e6 for name, used in servers.items()},
        "machine_share": (client + sum(servers.values())) / seconds / cores
        if client and servers
        else None,
    }


def _ratio(ours: Iterable[Cell], theirs: Iterable[Cell]) -> dict[str, float] | None:
    """zkkit's rate over the other's, repeat by repeat; None if no repeat has both."""
    of = {cell.planned.repeat: cell.rate for cell in theirs}
    pairs = [c.rate / of[c.planned.repeat] for c in ours if c.planned.repeat in of]
    return median_interval(pairs)._asdict() if pairs else None


def profiles(speeds: Speeds, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Where the CPU time of an acquisition goes: the samples' shares of what the figures say it
    is. (Sampling itself takes time, so the samples' own sum would be too large.)"""
    measured = {(row["kind"], row["sessions"]): row["peers"] for row in rows}
    return [
        {
            "kind": one.row.kind.name,
            "sessions": one.row.sessions,
            "peer": one.peer,
            "samples": one.samples.total(),
            "client_us": client_us,
            "parts_us": {
                part: client_us * number / one.samples.total()
                for part, number in one.samples.most_common()
            },
        }
        for one in speeds.profiles
        if (peers := measured.get((one.row.kind.name, one.row.sessions)))
        and (client_us := peers[one.peer]["client_us"])
    ]


def results(
    speeds: Speeds,
    *,
    name: str,
    command: str,
    started: datetime,
    ensemble: Mapping[str, Any],
    peer_flags: Sequence[str],
    left_out: str,
) -> dict[str, Any]:
    """What results.json says, as plain data."""
    plan, (verdict, why) = speeds.plan, speeds.judgement
    rows = figures(speeds)
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "name": name,
        "experiment": "locks",
        "verdict": verdict.value,
        "why": why,
        "command": command,
        "started": started.isoformat(timespec="seconds"),
        "seconds": round((datetime.now(UTC) - started).total_seconds(), 1),
        "plan": {
            "peers": list(plan.peers),
            "sessions": list(plan.sessions),
            "repeats": plan.repeats,
            "cell_seconds": plan.seconds,
            "seed": plan.seed,
            "order": "peers in all orders in turn, rows ABBA",
        },
        "versions": dict(speeds.versions),
        "peer_flags": list(peer_flags),
        "left_out": left_out,
        "figures": rows,
        "profiles": profiles(speeds, rows),
        "runs": [_run(cell) for cell in speeds.cells],
        "machine": machine.describe(),
        "ensemble": dict(ensemble),
    }


def _run(cell: Cell) -> dict[str, Any]:
    row = cell.planned.row
    return {
        "kind": row.kind.name,
        "sessions": row.sessions,
        "peer": cell.planned.peer,
        "repeat": cell.planned.repeat,
        "void": cell.void,
        "overlap": cell.overlap,
        "acquisitions": cell.acquisitions,
        "rate": round(cell.rate, 2),
        "settled_s": round(cell.settled, 4),
        "seconds": round(cell.seconds, 4),
        "longest_acquire_s": round(cell.longest, 4),
        "longest_release_s": round(cell.longest_release, 4),
        "client_cpu_s": _rounded(cell.client_cpu),
        "client_cpu_share": _rounded(cell.client_share),
        "server_cpu_s": {name: round(used, 3) for name, used in cell.server_cpu.items()},
        "saturated": cell.saturated,
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
