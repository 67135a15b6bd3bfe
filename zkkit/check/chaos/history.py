"""What the files of a chaos run say, put together.

A directory holds one JSON object a line, in three kinds of files:

    chaos.jsonl         the one that breaks things: plan, phases, faults, ends, what was left behind
    ledger.jsonl        every guarded write that the servers accepted, with its zxid
    <process>.jsonl     one for each process that took locks, the restarted ones too

Each line has a time "t" in nanoseconds (one clock, common to all processes of the machine) and says
what happened in "e". Lines of a process that is killed end with its last complete one; half a line
at the end of a file is passed over. Any file may be compressed (.gz).
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

EXCLUSIVE, SHARED, LEASE = "exclusive", "shared", "lease"

_CHAOS, _LEDGER = "chaos", "ledger"


class Part(NamedTuple):
    """What a grant gives of one path: how it is held, and the token (None: it has none)."""

    path: str
    mode: str
    token: int | None


class Who(NamedTuple):
    """One attempt of one actor of one process; no two attempts share it."""

    process: str
    actor: str
    attempt: int

    def __str__(self) -> str:
        return f"{self.process}/{self.actor}#{self.attempt}"


@dataclass
class Attempt:
    """Somebody asked for a lock. `outcome` is "granted", or why not; None if nothing came."""

    who: Who
    lock: str
    asked: int
    answered: int | None = None
    outcome: str | None = None


@dataclass
class Grant:
    """A hold, and what it said of itself."""

    who: Who
    lock: str
    parts: tuple[Part, ...]
    granted: int
    """When its actor had been told."""
    session: str = ""
    """The session that it is lost with."""
    proven: int | None = None
    """When `valid` was last asked that was answered with true: valid until then, surely, since what
    is once false stays false."""
    denied: int | None = None
    """When `valid` was first answered with false."""
    revived: bool = False
    """True came after false."""


class Entry(NamedTuple):
    """A guarded write that the servers accepted."""

    who: Who
    parts: tuple[Part, ...]
    node: str
    zxid: int


@dataclass
class Lived:
    """A process that took locks. It lived on to the end unless it was killed."""

    name: str
    front: str = ""
    killed: bool = False
    rested: bool = False
    code: int | None = None
    """How it ended, if by itself."""


@dataclass
class History:
    """All that was written down."""

    plan: dict[str, Any] = field(default_factory=dict)
    phases: dict[str, int] = field(default_factory=dict)
    """When the storm and the calm began, and when all was over."""
    faults: Counter[str] = field(default_factory=Counter)
    """How often each kind of fault struck."""
    closed: dict[str, int] = field(default_factory=dict)
    """Sessions that were closed from outside, and since when their owners cannot know."""
    processes: dict[str, Lived] = field(default_factory=dict)
    attempts: dict[Who, Attempt] = field(default_factory=dict)
    grants: dict[Who, Grant] = field(default_factory=dict)
    acknowledged: dict[str, Who] = field(default_factory=dict)
    """The nodes of guarded writes whose success was told, and to whom."""
    refused: int = 0
    ledger: list[Entry] = field(default_factory=list)
    drained: bool = False
    """Whether the ledger is complete."""
    crashes: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    looked: set[str] = field(default_factory=set)
    """Where it was looked for something left behind."""
    stopped: str = ""
    """Why the run ended before its time."""
    unreadable: list[str] = field(default_factory=list)


def read(directory: Path) -> History:
    """All files of a directory."""
    history = History()
    for file in sorted(directory.glob("*.jsonl*")):
        name = file.name.partition(".jsonl")[0]
        for number, line in enumerate(_lines(file), start=1):
            if line is None:
                history.unreadable.append(f"{file.name}, line {number}")
            elif name == _CHAOS:
                _of_chaos(history, line)
            elif name == _LEDGER:
                _of_ledger(history, line)
            else:
                _of_process(history, name, line)
    return history


def _lines(file: Path) -> Iterator[dict[str, Any] | None]:
    """The objects of a file; None for a line that is none, unless it is the torn last one."""
    data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    *complete, _torn = data.split(b"\n")
    for line in complete:
        try:
            found = json.loads(line)
            yield found if isinstance(found, dict) and "e" in found else None
        except ValueError:
            yield None


def _of_chaos(history: History, line: dict[str, Any]) -> None:
    match line["e"]:
        case "plan":
            history.plan = line
        case "phase":
            history.phases[line["phase"]] = line["t"]
        case "fault":
            history.faults[line["kind"]] += 1
        case "closing":
            history.closed[line["session"]] = line["t"]
        case "killed":
            _lived(history, line["process"]).killed = True
        case "ended":
            _lived(history, line["process"]).code = line["code"]
        case "left":
            history.left.append(f"{line['what']} {line['name']}")
        case "looked":
            history.looked.add(line["where"])
        case "drained":
            history.drained = True
        case "stopped":
            history.stopped = line["why"]


def _of_ledger(history: History, line: dict[str, Any]) -> None:
    history.ledger.append(Entry(Who(*line["who"]), _parts(line), line["node"], line["zxid"]))


def _of_process(history: History, name: str, line: dict[str, Any]) -> None:
    process = _lived(history, name)
    match line["e"]:
        case "born":
            process.front = line["front"]
        case "rested":
            process.rested = True
        case "crash":
            history.crashes.append(f"{name}/{line['actor']}: {line['why']}")
        case "ask" | "granted" | "denied" | "valid" | "wrote" | "refused":
            _of_attempt(history, Who(name, line["actor"], line["attempt"]), line)


def _of_attempt(history: History, who: Who, line: dict[str, Any]) -> None:
    event, at = line["e"], line["t"]
    if event == "ask":
        history.attempts[who] = Attempt(who, line["lock"], at)
        return
    attempt = history.attempts[who]
    if event in ("granted", "denied"):
        attempt.answered, attempt.outcome = at, line.get("why", event)
    if event == "granted":
        history.grants[who] = Grant(who, attempt.lock, _parts(line), at, line.get("session", ""))
    elif event == "valid":
        _said(history.grants[who], line["valid"], at)
    elif event == "wrote":
        history.acknowledged[line["node"]] = who
    elif event == "refused":
        history.refused += 1


def _said(grant: Grant, valid: bool, at: int) -> None:
    if not valid:
        grant.denied = at if grant.denied is None else grant.denied
    else:
        grant.revived |= grant.denied is not None
        grant.proven = at


def _parts(line: dict[str, Any]) -> tuple[Part, ...]:
    return tuple(Part(*part) for part in line["parts"])


def _lived(history: History, name: str) -> Lived:
    return history.processes.setdefault(name, Lived(name))
