"""What double barriers promise: nobody is let in before enough have come, and nobody is out before
the others have begun to leave.

early       As long as somebody may be inside, others may join. So visits whose times touch are
            taken together, and before the first of them was let in enough of them had come.
out early   Two that were inside at one time are of one round. One of them did not leave the
            meeting, as one of all, before the other began to leave; unless that one was gone, and
            was told so.
answers     In every process that lived on to the end, every call came to an answer; and in the
            calm nobody left alone, nor did so many wait together in vain as make a meeting.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from zkkit.check.chaos.history import ChaosHistory, MeetingVisit, Who

_LINGERS = 30_000_000_000
"""Nanoseconds for which a member may still be there of whom nobody knows that it has gone."""
_PATIENCE = 15_000_000_000
"""Nanoseconds in the calm after which a meeting that is complete must have begun."""
_NEVER = 2**63


def breaches(history: ChaosHistory) -> Iterator[str]:
    """Every broken promise of a double barrier, in a sentence."""
    planned: dict[str, int] = history.plan.get("meetings", {})
    by_meeting: dict[str, list[MeetingVisit]] = defaultdict(list)
    for visit in sorted(history.visits.values(), key=lambda visit: visit.asked):
        by_meeting[visit.meeting].append(visit)
    for meeting, members in planned.items():
        visits = by_meeting[meeting]
        yield from _early(history, visits, members)
        yield from _out_early(visits)
        yield from _in_vain(history, visits, members)
        yield from _unanswered(history, visits)


def doubts(history: ChaosHistory) -> Iterator[str]:
    """What keeps a run from showing anything about double barriers."""
    if history.plan.get("meetings"):
        calm = history.phases.get("calm", _NEVER)
        stormy = [visit for visit in history.visits.values() if visit.asked < calm]
        if not any(visit.entered for visit in stormy):
            yield "nobody was ever let into a meeting in the storm"
        if not any(visit.left == "left" for visit in stormy):
            yield "nobody ever left a meeting with the others in the storm"


def met(history: ChaosHistory) -> int:
    """How many were let into a meeting."""
    return sum(visit.entered for visit in history.visits.values())


def _early(history: ChaosHistory, visits: Sequence[MeetingVisit], members: int) -> Iterator[str]:
    """`visits` come in the order in which they were begun."""
    together: list[MeetingVisit] = []
    until = 0
    for visit in (*visits, None):
        if together and (visit is None or visit.asked > until):
            inside = [each for each in together if each.entered]
            first = min(inside, key=lambda each: each.answered, default=None)
            came = sum(first is not None and each.asked <= first.answered for each in together)
            if first is not None and came < members:
                yield f"{first.meeting}: {first.who} was let in when {came} of {members} had come"
            together, until = [], 0
        if visit is not None:
            together.append(visit)
            until = max(until, _may_be_there_until(history, visit))


def _out_early(visits: Sequence[MeetingVisit]) -> Iterator[str]:
    left = [visit for visit in visits if visit.left == "left"]
    for out in left:
        for other in left:
            if other.answered < out.leaving and out.gone < other.leaving:
                yield (
                    f"{out.meeting}: {out.who} was out {(other.leaving - out.gone) / 1e6:.1f} ms "
                    f"before {other.who} began to leave"
                )


def _in_vain(history: ChaosHistory, visits: Sequence[MeetingVisit], members: int) -> Iterator[str]:
    calm = history.phases.get("calm", _NEVER)
    waited: list[MeetingVisit] = []
    for visit in visits:
        if visit.asked < calm:
            continue
        if visit.left == "left alone":
            yield f"{visit.meeting}: {visit.who} left alone, though the others were about to leave"
        if visit.outcome == "turned away":
            waited.append(visit)
    if len(waited) >= members:
        together = min(each.answered for each in waited) - max(each.asked for each in waited)
        if together > _PATIENCE:
            yield (
                f"{waited[0].meeting}: {len(waited)} of {members} waited together for "
                f"{together / 1e9:.0f} s, and nobody was let in"
            )


def _unanswered(history: ChaosHistory, visits: Sequence[MeetingVisit]) -> Iterator[str]:
    for visit in visits:
        if "over" in history.phases and not _killed(history, visit.who):
            if visit.outcome is None:
                yield f"{visit.meeting}: {visit.who} wanted to enter and got no answer"
            elif visit.leaving and visit.left is None:
                yield f"{visit.meeting}: {visit.who} wanted to leave and got no answer"


def _may_be_there_until(history: ChaosHistory, visit: MeetingVisit) -> int:
    """When it was surely gone."""
    if visit.left == "left":
        return visit.gone
    silent = visit.outcome is None or (visit.entered and visit.left is None)
    if silent and not _killed(history, visit.who):
        return _NEVER
    return max(visit.asked, visit.answered, visit.leaving, visit.gone) + _LINGERS


def _killed(history: ChaosHistory, who: Who) -> bool:
    return history.processes[who.process].killed
