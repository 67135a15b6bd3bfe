"""What the files of a chaos run say, put together.

A directory holds one JSON object a line, in three kinds of files:

    chaos.jsonl         the one that breaks things: plan, phases, faults, ends, what was left behind
    ledger.jsonl        every guarded write that the servers accepted, with its zxid
    <process>.jsonl     one for each process that took locks, led, counted and followed a tree, the
                        restarted ones too

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
_CANCELLED = "AttemptCancelled"


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
    outcome: str | None = None


@dataclass
class GrantRecord:
    """A hold, and what it said of itself."""

    who: Who
    lock: str
    parts: tuple[Part, ...]
    granted: int
    """When its actor learned of it."""
    session: str = ""
    """The session that it is lost with."""
    inside: Who | None = None
    """The attempt whose hold its actor still had: a reentry, or a downgrade if the lock is another
    one."""
    again: bool = False
    """It is no hold beside that one: its actor had lost that one, and kept its place in line."""
    selector: int | None = None
    """It is a run of a function: of which selector of its actor."""
    released: int | None = None
    """When its actor began to give it back, or its function was about to end."""
    proven: int | None = None
    """When `valid` was last asked and said true. The hold was valid until then, since `valid` never
    goes from false to true."""
    denied: int | None = None
    """When `valid` first said false."""
    revived: bool = False
    """True came after false."""

    @property
    def run_of(self) -> Who | None:
        """The selector whose function it is a run of, as its actor counts them; None if it is no
        run."""
        return None if self.selector is None else self.who._replace(attempt=self.selector)


@dataclass
class Addition:
    """Somebody added one to a counter, or was to be given a number of it: `before`. `outcome` is
    "added", "unadded" or "unknown"; None if no answer came."""

    who: Who
    counter: str
    asked: int
    outcome: str | None = None
    answered: int = 0
    before: int = 0
    after: int = 0


@dataclass
class GateDeed:
    """Somebody closed or opened a gate, or came to it: `event` says which. `outcome` is "gate
    done", "passed", "turned back" or "gate unsure"; None if no answer came."""

    who: Who
    event: str
    gate: str
    asked: int
    outcome: str | None = None
    answered: int = 0


@dataclass
class MeetingVisit:
    """Somebody entered a meeting, or wanted to. `outcome` is "entered", "turned away" or "enter
    unsure", `left` is "left", "left alone" or "leave unsure"; None if no answer came."""

    who: Who
    meeting: str
    asked: int
    outcome: str | None = None
    answered: int = 0
    leaving: int = 0
    """When it began to leave."""
    left: str | None = None
    gone: int = 0
    """When it was told that it had left, or not."""

    @property
    def entered(self) -> bool:
        """Whether it was let in."""
        return self.outcome == "entered"


class NodeFacts(NamedTuple):
    """What is known of a node of the tree that caches follow."""

    czxid: int
    mzxid: int
    data: str | None


class CacheTold(NamedTuple):
    """An event of a cache: what happened to which path, and the node as it is now (None: gone, or
    the event is about no node)."""

    at: int
    kind: str
    path: str
    node: NodeFacts | None


class CacheName(NamedTuple):
    """One cache of one process."""

    process: str
    cache: str

    def __str__(self) -> str:
        return f"the {self.cache} of {self.process}"


class WatchName(NamedTuple):
    """One watch of one process."""

    process: str
    watch: str

    def __str__(self) -> str:
        return f"the {self.watch} of {self.process}"


class SeenByWatch(NamedTuple):
    """What a watch was called with: a node (None: there is none), or the names of children."""

    at: int
    what: NodeFacts | tuple[str, ...] | None


Tree = dict[str, NodeFacts]


class LedgerEntry(NamedTuple):
    """A guarded write that the servers accepted."""

    who: Who
    parts: tuple[Part, ...]
    node: str
    zxid: int


@dataclass
class ProcessRecord:
    """A process that took locks. It lived on to the end unless it was killed."""

    name: str
    front: str = ""
    killed: bool = False
    rested: bool = False
    standing: list[str] = field(default_factory=list)
    """Where its scripts stood, if they were told to end before it rested."""
    code: int | None = None
    """How it ended, if by itself."""


@dataclass
class ChaosHistory:
    """All that the files of a run say."""

    plan: dict[str, Any] = field(default_factory=dict)
    phases: dict[str, int] = field(default_factory=dict)
    """When the storm and the calm began, and when all was over."""
    faults: Counter[str] = field(default_factory=Counter)
    """How often each kind of fault struck."""
    closed: dict[str, int] = field(default_factory=dict)
    """Sessions that were closed from outside, and when; their owners may not know it."""
    processes: dict[str, ProcessRecord] = field(default_factory=dict)
    attempts: dict[Who, Attempt] = field(default_factory=dict)
    grants: dict[Who, GrantRecord] = field(default_factory=dict)
    acknowledged: dict[str, Who] = field(default_factory=dict)
    """The nodes of guarded writes that were reported as done, and to whom."""
    refused: int = 0
    ledger: list[LedgerEntry] = field(default_factory=list)
    drained: bool = False
    """Whether the ledger is complete."""
    additions: dict[Who, Addition] = field(default_factory=dict)
    counted: dict[str, int] = field(default_factory=dict)
    """What each counter held when all processes had ended."""
    gates: dict[Who, GateDeed] = field(default_factory=dict)
    visits: dict[Who, MeetingVisit] = field(default_factory=dict)
    seen: dict[WatchName, list[SeenByWatch]] = field(default_factory=dict)
    """What each watch saw, in order."""
    told: dict[CacheName, list[CacheTold]] = field(default_factory=dict)
    """What each cache told, in order."""
    contents: dict[CacheName, Tree] = field(default_factory=dict)
    """What each cache held at the end."""
    tree: Tree | None = None
    """What the servers held when nobody changed it any more."""
    crashes: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    looked: set[str] = field(default_factory=set)
    """The places that were searched for anything left behind."""
    stopped: str = ""
    """Why the run ended before its time."""
    unreadable: list[str] = field(default_factory=list)

    def deeds(self) -> Counter[str]:
        """How often actors did something beside acquiring and releasing."""
        inner = [g for g in self.grants.values() if g.inside is not None and not g.again]
        later = sum(grant.again for grant in self.grants.values())
        reentered = sum(self.attempts[g.inside].lock == g.lock for g in inner if g.inside)
        cancelled = sum(each.outcome == _CANCELLED for each in self.attempts.values())
        runs = [g.run_of for g in self.grants.values() if g.run_of is not None]
        return Counter(
            reentry=reentered,
            downgrade=len(inner) - reentered,
            cancel=cancelled,
            later_term=later,
            next_run=len(runs) - len(set(runs)),
        )


def read(directory: Path) -> ChaosHistory:
    """All files of a directory."""
    history = ChaosHistory()
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
    """The objects of a file; None for a line that is no object, but for an incomplete last one."""
    data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    *complete, _torn = data.split(b"\n")
    for line in complete:
        try:
            found = json.loads(line)
            yield found if isinstance(found, dict) and "e" in found else None
        except ValueError:
            yield None


def _of_chaos(history: ChaosHistory, line: dict[str, Any]) -> None:
    match line["e"]:
        case "plan":
            history.plan = line
        case "phase":
            history.phases[line["phase"]] = line["t"]
        case "fault":
            history.faults[line["kind"]] += 1
        case "closing":
            # Two hands may strike the same session: the first one may have ended it.
            history.closed.setdefault(line["session"], line["t"])
        case "killed":
            _process(history, line["process"]).killed = True
        case "ended":
            _process(history, line["process"]).code = line["code"]
        case "left":
            history.left.append(f"{line['what']} {line['name']}")
        case "looked":
            history.looked.add(line["where"])
        case "counted":
            history.counted[line["counter"]] = line["value"]
        case "tree":
            history.tree = _tree(line)
        case "drained":
            history.drained = True
        case "stopped":
            history.stopped = line["why"]


def _of_ledger(history: ChaosHistory, line: dict[str, Any]) -> None:
    history.ledger.append(LedgerEntry(Who(*line["who"]), _parts(line), line["node"], line["zxid"]))


def _of_process(history: ChaosHistory, name: str, line: dict[str, Any]) -> None:
    process = _process(history, name)
    match line["e"]:
        case "born":
            process.front = line["front"]
        case "rested":
            process.rested = True
        case "standing":
            process.standing = line["scripts"]
        case "crash":
            history.crashes.append(f"{name}/{line['actor']}: {line['why']}")
        case "ask" | "granted" | "denied" | "valid" | "release" | "wrote" | "refused":
            _of_attempt(history, Who(name, line["actor"], line["attempt"]), line)
        case "add" | "added" | "unadded" | "unknown":
            _of_addition(history, Who(name, line["actor"], line["attempt"]), line)
        case "close" | "open" | "come":
            who = Who(name, line["actor"], line["attempt"])
            history.gates[who] = GateDeed(who, line["e"], line["gate"], line["t"])
        case "gate done" | "gate unsure" | "passed" | "turned back":
            deed = history.gates[Who(name, line["actor"], line["attempt"])]
            deed.outcome, deed.answered = line["e"], line["t"]
        case "enter" | "entered" | "turned away" | "enter unsure":
            _of_visit(history, Who(name, line["actor"], line["attempt"]), line)
        case "leave" | "left" | "left alone" | "leave unsure":
            _of_leaving(history.visits[Who(name, line["actor"], line["attempt"])], line)
        case "seen":
            history.seen.setdefault(WatchName(name, line["watch"]), []).append(_seen(line))
        case "told":
            node = None if line["node"] is None else NodeFacts(*line["node"])
            events = history.told.setdefault(CacheName(name, line["cache"]), [])
            events.append(CacheTold(line["t"], line["kind"], line["path"], node))
        case "content":
            history.contents[CacheName(name, line["cache"])] = _tree(line)


def _of_attempt(history: ChaosHistory, who: Who, line: dict[str, Any]) -> None:
    event, at = line["e"], line["t"]
    if event == "ask":
        history.attempts[who] = Attempt(who, line["lock"], at)
        return
    attempt = history.attempts[who]
    if event in ("granted", "denied"):
        attempt.outcome = line.get("why", event)
    if event == "granted":
        outer = line.get("inside")
        inside = None if outer is None else who._replace(attempt=outer)
        history.grants[who] = GrantRecord(
            who,
            attempt.lock,
            _parts(line),
            at,
            line.get("session", ""),
            inside,
            line.get("again", False),
            line.get("selector"),
        )
    elif event == "valid":
        _said(history.grants[who], line["valid"], at)
    elif event == "release":
        history.grants[who].released = at
    elif event == "wrote":
        history.acknowledged[line["node"]] = who
    elif event == "refused":
        history.refused += 1


def _of_addition(history: ChaosHistory, who: Who, line: dict[str, Any]) -> None:
    if line["e"] == "add":
        history.additions[who] = Addition(who, line["counter"], line["t"])
        return
    addition = history.additions[who]
    addition.outcome, addition.answered = line["e"], line["t"]
    addition.before, addition.after = line.get("before", 0), line.get("after", 0)


def _of_visit(history: ChaosHistory, who: Who, line: dict[str, Any]) -> None:
    if line["e"] == "enter":
        history.visits[who] = MeetingVisit(who, line["meeting"], line["t"])
    else:
        history.visits[who].outcome, history.visits[who].answered = line["e"], line["t"]


def _of_leaving(visit: MeetingVisit, line: dict[str, Any]) -> None:
    if line["e"] == "leave":
        visit.leaving = line["t"]
    else:
        visit.left, visit.gone = line["e"], line["t"]


def _seen(line: dict[str, Any]) -> SeenByWatch:
    if "names" in line:
        return SeenByWatch(line["t"], tuple(line["names"]))
    return SeenByWatch(line["t"], None if line["node"] is None else NodeFacts(*line["node"]))


def _tree(line: dict[str, Any]) -> Tree:
    return {path: NodeFacts(*facts) for path, facts in line["nodes"].items()}


def _said(grant: GrantRecord, valid: bool, at: int) -> None:
    if valid:
        grant.revived |= grant.denied is not None
        grant.proven = at
    elif grant.denied is None:
        grant.denied = at


def _parts(line: dict[str, Any]) -> tuple[Part, ...]:
    return tuple(Part(*part) for part in line["parts"])


def _process(history: ChaosHistory, name: str) -> ProcessRecord:
    return history.processes.setdefault(name, ProcessRecord(name))
