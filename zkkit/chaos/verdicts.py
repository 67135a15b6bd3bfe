"""The verdict over what was written down, and what became of each lock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from zkkit.bench.kit.judgement import Judgement
from zkkit.check.chaos.caches import CHANGES
from zkkit.check.chaos.counters import in_doubt
from zkkit.check.chaos.gates import came_to_closed
from zkkit.check.chaos.history import ChaosHistory, GrantRecord
from zkkit.check.chaos.meetings import met
from zkkit.check.chaos.properties import breaches, doubts

_KEPT = 1000  # breaches that are published: a lock that is broken breaks in many ways


class Verdicts(NamedTuple):
    """What was found."""

    judgement: Judgement
    broken: Sequence[str]
    doubtful: Sequence[str]


def judge(history: ChaosHistory) -> Verdicts:
    """One broken promise breaks it, whatever else happened; a doubt leaves it open."""
    broken, doubtful = list(islice(breaches(history), _KEPT)), list(doubts(history))
    total = f"{len(history.grants):,} grants under {history.faults.total():,} faults"
    if broken:
        more = "" if len(broken) == 1 else f" (and {len(broken) - 1:,} more)"
        why = Judgement("broken", f"A promise was broken, in {total}: {broken[0]}{more}.")
    elif doubtful:
        why = Judgement("unknown", f"Unknown, after {total}: {'; '.join(doubtful)}.")
    else:
        lost = sum(grant.denied is not None for grant in history.grants.values())
        why = Judgement(
            "holds",
            f"Every promise was kept, in {total}: {lost:,} holds were lost and knew it, "
            f"{len(history.ledger):,} guarded writes were accepted in order and "
            f"{history.refused:,} refused, {_counted(history)}, {_came(history)}, "
            f"{met(history):,} were let into a meeting, {_followed(history)}, everybody was "
            "served and nothing was left.",
        )
    return Verdicts(why, broken, doubtful)


def _counted(history: ChaosHistory) -> str:
    numbers = history.plan.get("numbers", ())
    all_of_them = history.additions.values()
    additions = [each for each in all_of_them if each.counter not in numbers]
    added = sum(each.outcome == "added" for each in additions)
    given_out = sum(each.outcome == "added" for each in all_of_them) - added
    return (
        f"{added:,} additions counted once ({len(in_doubt(additions)):,} more are unknown), "
        f"{given_out:,} numbers were given out once"
    )


def _came(history: ChaosHistory) -> str:
    came = sum(1 for _ in came_to_closed(history, "passed"))
    return f"{came:,} came to a closed gate and passed when it was opened"


def _followed(history: ChaosHistory) -> str:
    changes = sum(each.kind in CHANGES for told in history.told.values() for each in told)
    like = len(history.contents)
    return f"{like:,} caches and watchers told of {changes:,} changes and became like the tree"


def grants_table(history: ChaosHistory) -> tuple[list[str], list[list[str]]]:
    """Head and rows: for each lock the grants on each front, what was lost, the longest wait."""
    fronts = list(history.plan.get("fronts", ()))
    head = ["lock", *fronts, "timed out", "lost", "longest wait"]
    rows = [_row(history, lock, fronts) for lock in history.plan.get("locks", ())]
    total = [
        f"{sum(int(row[n].replace(',', '')) for row in rows):,}" for n in range(1, len(head) - 1)
    ]
    return head, [*rows, ["all", *total, ""]]


def _row(history: ChaosHistory, lock: str, fronts: Sequence[str]) -> list[str]:
    grants: list[GrantRecord] = [grant for grant in history.grants.values() if grant.lock == lock]
    by_front = Counter(history.processes[grant.who.process].front for grant in grants)
    attempts = [each for each in history.attempts.values() if each.lock == lock]
    waits = [(grant.granted - history.attempts[grant.who].asked) / 1e9 for grant in grants]
    return [
        lock,
        *(f"{by_front[front]:,}" for front in fronts),
        f"{sum(each.outcome == 'timeout' for each in attempts):,}",
        f"{sum(grant.denied is not None for grant in grants):,}",
        f"{max(waits):.1f} s" if waits else "-",
    ]
