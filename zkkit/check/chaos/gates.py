"""What barriers promise: whoever comes while a gate is closed does not pass before it is opened.

A gate was surely closed from when its keeper was told so until somebody began to open it, unless an
earlier opening was still under way. Who came after the one and had passed before the other passed
early. And in every process that lived on to the end, whoever waited at a gate came to an answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from zkkit.check.chaos.history import ChaosHistory, GateDeed

_LINGERS = 15_000_000_000
"""Nanoseconds for which a request may still be done whose sender got no answer."""
_NEVER = 2**63


class _Closed(NamedTuple):
    """A time in which a gate was surely closed, and who closed it."""

    begin: int
    end: int
    deed: GateDeed


def breaches(history: ChaosHistory) -> Iterator[str]:
    """Every broken promise of a barrier, in a sentence."""
    for deed in history.gates.values():
        if deed.outcome is None and _unanswered(history, deed):
            yield f"{deed.gate}: {deed.who} wanted to {deed.event} and got no answer"
    for deed, span in came_to_closed(history, "passed"):
        if deed.answered < span.end:
            yield (
                f"{deed.gate}: {deed.who} passed {(deed.answered - span.begin) / 1e6:.1f} ms after "
                f"{span.deed.who} had closed it, and nobody had opened it"
            )


def doubts(history: ChaosHistory) -> Iterator[str]:
    """What keeps a run from showing anything about barriers."""
    if history.plan.get("gates"):
        if not any(came_to_closed(history, "passed")):
            yield "nobody who came to a closed gate ever passed it"
        if not any(came_to_closed(history, "turned back")):
            yield "nobody was ever turned back by a closed gate"


def came_to_closed(history: ChaosHistory, outcome: str) -> Iterator[tuple[GateDeed, _Closed]]:
    """Those who came to a gate that was surely closed, if that came of it."""
    by_gate: dict[str, list[GateDeed]] = defaultdict(list)
    for deed in history.gates.values():
        by_gate[deed.gate].append(deed)
    for deeds in by_gate.values():
        spans = list(_surely_closed(history, deeds))
        for deed in deeds:
            for span in spans if deed.outcome == outcome else ():
                if span.begin < deed.asked < span.end:
                    yield deed, span


def _surely_closed(history: ChaosHistory, deeds: Sequence[GateDeed]) -> Iterator[_Closed]:
    openings = [
        (each.asked, _may_last_until(history, each)) for each in deeds if each.event == "open"
    ]
    for deed in deeds:
        if deed.event == "close" and deed.outcome == "gate done":
            begin = deed.answered
            later = [max(begin, asked) for asked, until in openings if until >= begin]
            end = min(later, default=_NEVER)
            if end > begin:
                yield _Closed(begin, end, deed)


def _may_last_until(history: ChaosHistory, deed: GateDeed) -> int:
    if deed.outcome == "gate done":
        return deed.answered
    if deed.outcome is None and not history.processes[deed.who.process].killed:
        return _NEVER
    return max(deed.asked, deed.answered) + _LINGERS


def _unanswered(history: ChaosHistory, deed: GateDeed) -> bool:
    return "over" in history.phases and not history.processes[deed.who.process].killed
