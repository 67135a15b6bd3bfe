"""What must be true of a chaos run, and what must have happened for it to say anything.

`breaches` names every broken promise. Of locks and of elections, where to lead is to hold:

    overlap     Two holds that exclude each other were never both valid by their own word. A hold
                was surely valid from its grant until `valid` was last asked that said true; a
                semaphore never has more such holds than leases at a time. And `valid`, once false,
                never became true again. A reentry or a downgrade with the token of the hold it was
                taken in is part of that hold; so is a leader's second term by the same node. (A
                session that we closed from outside, as its owner alone should, cannot know that at
                once: from then on its holds prove nothing.)
    tokens      On every path tokens grow from grant to grant, in the order of the grants. (Readers
                that hold together have no order among themselves.) Grants that never said true are
                left out: their actors may have been told long after they had lost the lock.
    writes      In the order of the servers, no guarded write follows one of a later holder; and
                every write that was acknowledged is there.
    runs        Each run of a LeaderSelector's function is a hold. For one selector it never began
                to run again before it had come to its end.
    reentry     Whoever acquired once more, or read instead of writing, while its hold was surely
                valid, was given that hold's token.
    starvation  In every process that lived on to the end, every attempt came to an answer, and
                after the last fault every actor was granted each of its locks once more, and came
                to rest, before the time for that was over.
    errors      No actor met an error that is not promised, no process ended by itself.
    left        When all actors rested no lock node was left, though their sessions lived; when all
                had ended there was no session, no process and no open port.

What counters, caches, watches and barriers promise stands in counters.py, caches.py, watches.py,
gates.py and meetings.py.

`doubts` names what keeps the run from being a proof: it was stopped, a kind of fault never struck,
a lock or a front was never granted anything in the storm, nobody lost a hold, nothing was written,
nobody reentered, downgraded or was cancelled, no selector led twice, nobody counted, no cache was
told of a change or was cut off, no watch saw a change, no gate let anybody wait or pass, nobody
met, or nobody looked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from zkkit.check.chaos import caches, counters, gates, meetings, watches
from zkkit.check.chaos.history import (
    EXCLUSIVE,
    LEASE,
    ChaosHistory,
    GrantRecord,
    Part,
    ProcessRecord,
    Who,
)

PHASES = ("storm", "calm", "over")
PLACES = ("nodes at rest", "nodes at the end", "receipts", "sessions", "processes", "ports")
"""Where something could be left behind."""


def breaches(history: ChaosHistory) -> Iterator[str]:
    """Every broken promise, in a sentence."""
    yield from overlaps(history)
    yield from revivals(history)
    yield from reentries(history)
    yield from twice_at_once(history)
    yield from tokens(history)
    yield from stale_writes(history)
    yield from lost_writes(history)
    yield from counters.breaches(history)
    yield from caches.breaches(history)
    yield from watches.breaches(history)
    yield from gates.breaches(history)
    yield from meetings.breaches(history)
    yield from starved(history)
    yield from errors(history)
    yield from left_behind(history)


def doubts(history: ChaosHistory) -> Iterator[str]:
    """Everything that keeps the run from being a proof, in a sentence."""
    if history.stopped:
        yield history.stopped
    if not history.plan:
        yield "there is no plan of the run"
        return
    yield from _phases_missing(history)
    yield from _nothing_struck(history)
    yield from _nobody_was_granted(history)
    yield from _nothing_written(history)
    yield from _nothing_done(history)
    yield from counters.doubts(history)
    yield from caches.doubts(history)
    yield from watches.doubts(history)
    yield from gates.doubts(history)
    yield from meetings.doubts(history)
    for place in PLACES:
        if place not in history.looked:
            yield f"nobody looked whether something was left behind: {place}"
    if history.unreadable:
        yield f"{len(history.unreadable)} lines cannot be read, such as {history.unreadable[0]}"


# --- no two at once ---------------------------------------------------------------------------


_NEVER = 2**63


class _Span(NamedTuple):
    """A time in which a hold on a path was surely valid."""

    begin: int
    end: int
    part: Part
    grant: GrantRecord


def overlaps(history: ChaosHistory) -> Iterator[str]:
    """Holds that exclude each other and were both valid."""
    limits: dict[str, int] = history.plan.get("limits", {})
    for path, spans in _spans(history).items():
        valid: list[_Span] = []
        for span in spans:
            valid = [each for each in valid if each.end > span.begin]
            against = [each for each in valid if _exclude(each, span)]
            until = max((each.end for each in against), default=0)
            if span.part.mode == LEASE and len(valid) >= limits[path]:
                against = valid
                ends = sorted(each.end for each in (*valid, span))
                until = ends[len(valid) - limits[path]]  # when there are no more than the limit
            if against:
                both = min(until, span.end) - span.begin
                names = " and ".join(str(each.grant.who) for each in (*against, span))
                yield f"{path}: {names} were valid at the same time, for {both / 1e6:.1f} ms"
            valid.append(span)


def _spans(history: ChaosHistory) -> dict[str, list[_Span]]:
    """The spans on each path, in the order in which they began."""
    found: dict[str, list[_Span]] = defaultdict(list)
    for grant in history.grants.values():
        end = _valid_until(history, grant)
        if end >= grant.granted:
            for part in grant.parts:
                found[part.path].append(_Span(grant.granted, end, part, grant))
    for spans in found.values():
        spans.sort(key=lambda span: (span.begin, span.end))
    return found


def _valid_until(history: ChaosHistory, grant: GrantRecord) -> int:
    """The moment until which a hold was surely valid; 0 if it never was."""
    return min(grant.proven or 0, history.closed.get(grant.session, _NEVER))


def _exclude(one: _Span, other: _Span) -> bool:
    return EXCLUSIVE in (one.part.mode, other.part.mode) and not (
        _is_part_of(one, other.grant) or _is_part_of(other, one.grant)
    )


def _is_part_of(span: _Span, outer: GrantRecord | None) -> bool:
    """Whether a span belongs to a hold that its actor had already."""
    return (
        outer is not None
        and span.grant.inside == outer.who
        and (span.part.path, span.part.token) in [(p.path, p.token) for p in outer.parts]
    )


def reentries(history: ChaosHistory) -> Iterator[str]:
    """Who had a valid hold, acquired once more and was not given that hold."""
    for path, spans in _spans(history).items():
        for span in spans:
            outer = history.grants.get(span.grant.inside) if span.grant.inside else None
            if outer is None or _valid_until(history, outer) < span.begin:
                continue
            if not _is_part_of(span, outer):
                yield f"{path}: {span.grant.who} was not given the valid hold of {outer.who}"


def revivals(history: ChaosHistory) -> Iterator[str]:
    """Holds whose `valid` became true again."""
    for grant in history.grants.values():
        if grant.revived:
            yield f"{grant.lock}: valid of {grant.who} was true again after it had been false"


def twice_at_once(history: ChaosHistory) -> Iterator[str]:
    """Functions that ran again while they ran, for one selector."""
    by_selector: dict[Who, list[GrantRecord]] = defaultdict(list)
    for grant in history.grants.values():
        if grant.run_of is not None:
            by_selector[grant.run_of].append(grant)
    for runs in by_selector.values():
        runs.sort(key=lambda run: run.granted)
        for run, later in pairwise(runs):
            if run.released is None or run.released > later.granted:
                yield f"{run.lock}: the function ran as {later.who} when it ran as {run.who}"


# --- tokens and what is written under them --------------------------------------------------


class _TokenOrder:
    """The tokens of one path, one after the other."""

    def __init__(self) -> None:
        self._exclusive: tuple[int, object] = (-1, None)
        self._any: tuple[int, object] = (-1, None)

    def after(self, part: Part, who: object, *, again: bool) -> object:
        """Who came before with a token that is not smaller, if that breaks the order. `again`: the
        same token may come twice in a row."""
        if part.token is None or part.mode == LEASE:
            return None
        last, whom = self._any if part.mode == EXCLUSIVE else self._exclusive
        self._any = max(self._any, (part.token, who), key=lambda each: each[0])
        if part.mode == EXCLUSIVE:
            self._exclusive = max(self._exclusive, (part.token, who), key=lambda each: each[0])
        return whom if part.token < last or (part.token == last and not again) else None


def tokens(history: ChaosHistory) -> Iterator[str]:
    """Grants whose token is not greater than that of an earlier one."""
    for path, spans in _spans(history).items():
        order = _TokenOrder()
        for span in spans:
            outer = history.grants.get(span.grant.inside) if span.grant.inside else None
            again = _is_part_of(span, outer)
            before = order.after(span.part, span.grant.who, again=again)
            if before is not None:
                yield (
                    f"{path}: the token of {span.grant.who} ({span.part.token:#x}) is not greater "
                    f"than that of {before}, who was granted before"
                )


def stale_writes(history: ChaosHistory) -> Iterator[str]:
    """Writes that the servers accepted after one of a later holder."""
    orders: dict[str, _TokenOrder] = defaultdict(_TokenOrder)
    for entry in sorted(history.ledger, key=lambda each: each.zxid):
        for part in entry.parts:
            before = orders[part.path].after(part, entry.who, again=True)
            if before is not None:
                yield (
                    f"{part.path}: a guarded write of {entry.who} was accepted after one of "
                    f"{before}, who was granted later"
                )


def lost_writes(history: ChaosHistory) -> Iterator[str]:
    """Writes that were acknowledged and are not there."""
    if history.drained:
        written = {entry.node for entry in history.ledger}
        for node, who in history.acknowledged.items():
            if node not in written:
                yield f"the guarded write {node} was acknowledged to {who} and is not there"


# --- everybody gets what they ask for -------------------------------------------------------


def starved(history: ChaosHistory) -> Iterator[str]:
    """Attempts without an answer, and locks that were not granted in the calm; nothing if the run
    was stopped before that."""
    calm = history.phases.get("calm")
    if calm is None or "over" not in history.phases:
        return
    alive = [process for process in history.processes.values() if not process.killed]
    names = {process.name for process in alive}
    for attempt in history.attempts.values():
        if attempt.who.process in names and attempt.outcome is None:
            waited = (history.phases["over"] - attempt.asked) / 1e9
            yield f"{attempt.lock}: {attempt.who} waited for {waited:.0f} s and got no answer"
    had = {
        (grant.who.process, grant.lock)
        for grant in history.grants.values()
        if grant.granted >= calm
    }
    paths: dict[str, set[str]] = {}
    for grant in history.grants.values():
        paths.setdefault(grant.lock, set()).update(part.path for part in grant.parts)
    for process in alive:
        for lock in history.plan.get("locks", ()):
            if (process.name, lock) not in had:
                where = _standing(process, paths.get(lock, set()))
                yield f"{lock}: {process.name} was not granted it after the last fault{where}"
        if not process.rested:
            yield f"{process.name} did not come to rest after the last fault"


def _standing(process: ProcessRecord, paths: set[str]) -> str:
    """Where the scripts of a process stood at the end that were about these paths; all of them, if
    none says so."""
    here = [each for each in process.standing if any(f" {path}" in each for path in paths)]
    found = here or process.standing
    return f" ({'; '.join(found)})" if found else ""


def errors(history: ChaosHistory) -> Iterator[str]:
    """Errors that a lock must not raise, and processes that ended by themselves."""
    yield from (f"an error that is not promised: {crash}" for crash in history.crashes)
    for process in history.processes.values():
        if not process.killed and process.code not in (None, 0):
            yield f"{process.name} ended by itself, with exit code {process.code}"


def left_behind(history: ChaosHistory) -> Iterator[str]:
    """What was still there in the end."""
    yield from (f"left behind: {what}" for what in history.left)


# --- whether it says anything -----------------------------------------------------------------


def _phases_missing(history: ChaosHistory) -> Iterator[str]:
    missing = [phase for phase in PHASES if phase not in history.phases]
    if missing and not history.stopped:
        yield f"the run never came to: {', '.join(missing)}"


def _nothing_struck(history: ChaosHistory) -> Iterator[str]:
    kinds = history.plan["faults"]
    for kind in kinds:
        if not history.faults[kind]:
            yield f"the fault {kind!r} never struck"
    if not kinds:
        yield "no kind of fault was planned"
    if not any(grant.denied is not None for grant in history.grants.values()):
        yield "no holder ever lost what it held"


def _nobody_was_granted(history: ChaosHistory) -> Iterator[str]:
    """Only the storm counts: in the calm there is nothing to stand up to."""
    calm = history.phases.get("calm")
    stormy = [g for g in history.grants.values() if calm is None or g.granted < calm]
    proven = [grant for grant in stormy if grant.proven is not None]
    locks = {grant.lock for grant in proven}
    fronts = {history.processes[grant.who.process].front for grant in proven}
    for lock in history.plan["locks"]:
        if lock not in locks:
            yield f"nobody was granted {lock} in the storm"
    for front in history.plan["fronts"]:
        if front not in fronts:
            yield f"no process on {front} was granted anything in the storm"


def _nothing_written(history: ChaosHistory) -> Iterator[str]:
    if not history.drained:
        yield "the guarded writes could not be read back to the last"
    written = {part.path for entry in history.ledger for part in entry.parts}
    for path in history.plan["fenced"]:
        if path not in written:
            yield f"nothing was ever written under a hold of {path}"


_DEEDS = {
    "reentry": "nobody ever acquired a lock that it held",
    "downgrade": "nobody ever went from writing to reading",
    "cancel": "nobody was ever cancelled",
    "next_run": "no selector ever ran its function again",
}


def _nothing_done(history: ChaosHistory) -> Iterator[str]:
    done = history.deeds()
    yield from (_DEEDS[deed] for deed in history.plan.get("deeds", ()) if not done[deed])
