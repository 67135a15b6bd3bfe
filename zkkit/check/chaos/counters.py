"""What counters promise: each addition counts once, and no number is given out twice.

sum         The counter holds in the end as much as was confirmed; beyond that at most the
            additions whose outcome is unknown: the caller was told so, or was killed before the
            answer came.
once        No two confirmed additions gave the same number, and each gave one more than it
            found.
order       Who began to add when another's addition was confirmed got the greater number.
answers     In every process that lived on to the end, every addition came to an answer.

Numbers that are reserved a block at a time may come in any order, and some never. But none was
given out twice, and each was one that the counter has come past.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from zkkit.check.chaos.history import Addition, ChaosHistory


def breaches(history: ChaosHistory) -> Iterator[str]:
    """Every broken promise of a counter, in a sentence."""
    for counter in history.plan.get("counters", ()):
        additions = [each for each in history.additions.values() if each.counter == counter]
        confirmed = [each for each in additions if each.outcome == "added"]
        yield from _sum(history, counter, len(confirmed), len(in_doubt(additions)))
        yield from _by_one(confirmed)
        yield from _order(confirmed)
        yield from _unanswered(history, additions)
    for counter in history.plan.get("numbers", ()):
        taken = [each for each in history.additions.values() if each.counter == counter]
        given = [each for each in taken if each.outcome == "added"]
        yield from _once(given, [each.before for each in given])
        yield from _reserved(history, counter, given)
        yield from _unanswered(history, taken)


def doubts(history: ChaosHistory) -> Iterator[str]:
    """What keeps a run from showing anything about counters."""
    calm = history.phases.get("calm")
    for counter in (*history.plan.get("counters", ()), *history.plan.get("numbers", ())):
        if counter not in history.counted:
            yield f"nobody read what {counter} held in the end"
        if not any(
            each.outcome == "added" and (calm is None or each.answered < calm)
            for each in history.additions.values()
            if each.counter == counter
        ):
            yield f"nobody ever added to {counter} in the storm"


def in_doubt(additions: Iterable[Addition]) -> list[Addition]:
    """The additions of which it is unknown whether they counted."""
    return [each for each in additions if each.outcome in (None, "unknown")]


def _sum(history: ChaosHistory, counter: str, confirmed: int, doubtful: int) -> Iterator[str]:
    held = history.counted.get(counter)
    if held is not None and not confirmed <= held <= confirmed + doubtful:
        yield (
            f"{counter} holds {held:,} in the end: {confirmed:,} additions were confirmed, and "
            f"{doubtful:,} are unknown"
        )


def _by_one(confirmed: Sequence[Addition]) -> Iterator[str]:
    for each in confirmed:
        if each.after != each.before + 1:
            yield f"{each.counter}: {each.who} added one to {each.before} and got {each.after}"
    yield from _once(confirmed, [each.after for each in confirmed])


def _once(confirmed: Sequence[Addition], numbers: Sequence[int]) -> Iterator[str]:
    given: dict[int, Addition] = {}
    for each, number in zip(confirmed, numbers, strict=True):
        other = given.setdefault(number, each)
        if other is not each:
            yield f"{each.counter}: {other.who} and {each.who} were both given {number}"


def _reserved(history: ChaosHistory, counter: str, given: Sequence[Addition]) -> Iterator[str]:
    held = history.counted.get(counter)
    for each in given:
        if held is not None and not 0 <= each.before < held:
            yield f"{counter} holds {held:,} in the end, and {each.who} was given {each.before}"


def _order(confirmed: Sequence[Addition]) -> Iterator[str]:
    answers = sorted(confirmed, key=lambda each: each.answered)
    known = 0
    highest: Addition | None = None  # of those that were answered before
    for each in sorted(confirmed, key=lambda each: each.asked):
        while known < len(answers) and answers[known].answered < each.asked:
            if highest is None or answers[known].after > highest.after:
                highest = answers[known]
            known += 1
        if highest is not None and each.after < highest.after:
            yield (
                f"{each.counter}: {each.who} was given {each.after} after {highest.who} had been "
                f"given {highest.after}"
            )


def _unanswered(history: ChaosHistory, additions: Sequence[Addition]) -> Iterator[str]:
    over = history.phases.get("over")
    if over is None:
        return
    for each in additions:
        if each.outcome is None and not history.processes[each.who.process].killed:
            waited = (over - each.asked) / 1e9
            yield f"{each.counter}: {each.who} added for {waited:.0f} s and got no answer"
