"""The results directory: `results/<name>/<UTC time>/`, and `latest`, which points at it.

    results.json          verdict, figures, runs, machine
    events.parquet        every event of every run (events.jsonl where pyarrow is not installed)
    server-metrics.json   what the servers said before and after
    report.html, *.png    for people

It is filled under a hidden name and gets its own only when it is complete; then `latest` is moved
in one step. So whatever happens, no reader meets half a result.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from zkkit.bench import machine
from zkkit.bench.compare import Outcome
from zkkit.bench.designs import Design
from zkkit.bench.figures import figures
from zkkit.bench.laws import Law
from zkkit.errors import ZkkitError
from zkkit.record import MissingExtra, Row, export

SCHEMA = "zkkit.results"
VERSION = 1

_CURVE = 50  # points of a law's curve


class ResultsUnwritable(ZkkitError):
    """Results cannot be written where they were asked for."""


class ResultsDirectory:
    """A place for the results of one run, made before the work begins: who measures for minutes
    wants to know at once that the disk is read-only. What is not published is removed again."""

    def __init__(self, parent: str | os.PathLike[str], name: str) -> None:
        self._home = Path(parent).absolute() / name
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        self._made = [p for p in (self._home, *self._home.parents) if not p.exists()]
        self._hidden = self._home / f".{stamp}-{os.getpid()}"
        self._stamp = stamp
        try:
            self._hidden.mkdir(parents=True)
        except OSError as error:
            self.discard()
            raise ResultsUnwritable(
                f"cannot write results to {self._home}: {error.strerror}",
                hint="give another directory with --results",
            ) from error

    def write(self, name: str, content: str | bytes) -> None:
        """Write one file."""
        data = content.encode() if isinstance(content, str) else content
        (self._hidden / name).write_bytes(data)

    def folder(self, name: str) -> Path:
        """A directory inside, for files that are written while the work goes on."""
        inside = self._hidden / name
        inside.mkdir()
        return inside

    def write_events(self, rows: Sequence[Row]) -> None:
        """Write the recording, as Parquet if that can be had."""
        try:
            export.to_parquet(rows, self._hidden / "events.parquet")
        except MissingExtra:
            export.to_jsonl(rows, self._hidden / "events.jsonl")

    def publish(self) -> Path:
        """Give the directory its name and let `latest` point at it."""
        final, number = self._home / self._stamp, 1
        while final.exists():
            number += 1
            final = self._home / f"{self._stamp}-{number}"
        self._hidden.rename(final)
        self._made = []
        _point(self._home / "latest", final.name)
        return final

    def discard(self) -> None:
        """Remove what was not published, and the directories that were made for it."""
        shutil.rmtree(self._hidden, ignore_errors=True)
        for directory in self._made:
            try:
                directory.rmdir()
            except OSError:
                break  # never made, or somebody else uses it by now

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.discard()


def _point(link: Path, target: str) -> None:
    """Let `link` point at its sibling `target`, in one step; a text file where links fail."""
    fresh = link.with_name(f".latest-{os.getpid()}-{time.monotonic_ns()}")
    try:
        fresh.symlink_to(target, target_is_directory=True)
        fresh.replace(link)
    except OSError:
        fresh.unlink(missing_ok=True)
        fresh.write_text(f"{target}\n")
        fresh.replace(link.with_name("latest.txt"))


def results(
    outcome: Outcome, *, name: str, command: str, started: datetime, ensemble: dict[str, Any]
) -> dict[str, Any]:
    """What results.json says, as plain data."""
    plan, (verdict, why) = outcome.plan, outcome.judgement
    finished = datetime.now(UTC)
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "name": name,
        "experiment": "gate",
        "verdict": verdict.value,
        "why": why,
        "command": command,
        "started": started.isoformat(timespec="seconds"),
        "seconds": round((finished - started).total_seconds(), 1),
        "plan": {
            "designs": [design.name for design in plan.designs],
            "contenders": list(plan.contenders),
            "population": plan.population,
            "readers": plan.designs[0].reads,
            "repeats": plan.repeats,
            "hold_ms": plan.hold * 1e3,
            "seed": plan.seed,
            "order": "ABBA",
        },
        "laws": {
            design.name: _law(design, design.law_of(plan.population), plan.contenders)
            for design in plan.designs
        },
        "figures": figures(plan.designs, outcome.runs, plan.population),
        "runs": [run.as_data() for run in outcome.runs],
        "machine": machine.describe(),
        "ensemble": ensemble,
    }


def _law(design: Design, law: Law, measured: Sequence[int]) -> dict[str, Any]:
    """The law in words, and for so many numbers of contenders that it can be drawn; always for
    those that were measured."""
    most = max(measured)
    numbers = sorted({1, *measured, *range(most, 0, -max(1, most // _CURVE))})
    return {
        "does": design.does,
        "told": law.told(),
        **{
            what: {
                "relation": term.relation,
                "formula": term.formula,
                "curve": [(n, term.of(n)) for n in numbers],
            }
            for what, term in law.terms().items()
        },
    }


def server_metrics(outcome: Outcome) -> dict[str, Any]:
    """What server-metrics.json says: all of `mntr` around the whole, the fires around each run."""
    return {
        "schema": "zkkit.server-metrics",
        "version": VERSION,
        "before": outcome.before,
        "after": outcome.after,
        "fires": [
            {
                "design": run.design,
                "contenders": run.contenders,
                "repeat": run.repeat,
                **run.counters,
            }
            for run in outcome.runs
        ],
    }


def as_json(data: dict[str, Any]) -> str:
    """Readable, and without the NaN that JSON does not know."""
    return json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
