"""Results: what every results.json says, and the directory it is written to.

The directory is `results/<name>/<UTC time>/`, and `latest` points at the newest:

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
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Self

from zkkit.bench.kit.data import plain_fields, with_fields
from zkkit.bench.kit.judgement import Judgement
from zkkit.bench.kit.machine import MachineFacts
from zkkit.bench.kit.servers import ServerFacts
from zkkit.bench.kit.witness import Reading
from zkkit.errors import ZkkitError
from zkkit.record import MissingExtra, Row, export

SCHEMA = "zkkit.results"
VERSION = 2


@dataclass(frozen=True)
class Head:
    """What every results.json says first."""

    name: str
    judgement: Judgement
    command: str
    """The command that does the same again."""
    started: str
    seconds: float
    machine: MachineFacts
    ensemble: ServerFacts | None
    """None if no servers took part."""


@dataclass(frozen=True)
class Results:
    """What results.json says. An experiment adds fields of its own: plan, figures, runs."""

    experiment: ClassVar[str]
    head: Head

    def as_data(self) -> dict[str, Any]:
        """The results as results.json has them: the head's fields stand beside the others."""
        mine = plain_fields(self)
        head = mine.pop("head")
        judgement = head.pop("judgement")
        named = {"schema": SCHEMA, "version": VERSION, "experiment": self.experiment}
        return {**named, **head, **judgement, **mine}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Make the results of what results.json says."""
        read: Self = with_fields(cls, {**data, "head": {**data, "judgement": data}})
        return read

    @classmethod
    def read(cls, home: Path) -> Self:
        """Read a directory of results; raises ResultsUnreadable if another version wrote them."""
        data = json.loads((home / "results.json").read_text())
        found = data.get("experiment"), data.get("version")
        if found != (cls.experiment, VERSION):
            raise ResultsUnreadable(
                f"{home} has results of {found[0]}, version {found[1]}: this zkkit reads "
                f"{cls.experiment}, version {VERSION}"
            )
        return cls.from_data(data)


class ResultsUnreadable(ZkkitError):
    """Results of another experiment, or of another version of zkkit."""


class ResultsUnwritable(ZkkitError):
    """Results cannot be written where they were asked for."""


class ResultsDirectory(AbstractContextManager["ResultsDirectory"]):
    """A place for the results of one run, made before the work begins: who measures for minutes
    wants to know at once that the disk is read-only (ResultsUnwritable). What is not published is
    removed again."""

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
        """Write one file, in a directory of its own if its name says so."""
        data = content.encode() if isinstance(content, str) else content
        file = self._hidden / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(data)

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


def latest(home: Path) -> Path | None:
    """The directory that `latest` points at; None if nothing was published there."""
    if (home / "latest").exists():
        return (home / "latest").resolve()
    text = home / "latest.txt"  # where links fail
    return home / text.read_text().strip() if text.exists() else None


@dataclass(frozen=True)
class ServerMetrics:
    """What server-metrics.json says: all of `mntr` around the whole, the fires around each run."""

    before: Reading
    after: Reading
    fires: tuple[Mapping[str, Any], ...]

    def as_data(self) -> dict[str, Any]:
        return {"schema": "zkkit.server-metrics", "version": VERSION, **plain_fields(self)}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Make the metrics of what server-metrics.json says."""
        read: Self = with_fields(cls, data)
        return read
