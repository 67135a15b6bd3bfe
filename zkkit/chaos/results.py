"""The verdict over what was written down, and what is published of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape
from itertools import islice
from typing import Any, NamedTuple

from zkkit.bench import machine
from zkkit.bench.results import SCHEMA, VERSION
from zkkit.bench.verdict import Judgement, Verdict
from zkkit.chaos.run import CALM, ChaosPlan
from zkkit.check.chaos.history import Grant, History
from zkkit.check.chaos.properties import breaches, doubts
from zkkit.show import page
from zkkit.show.table import table

_KEPT = 1000  # breaches that are published: a lock that is broken breaks in many ways
_SHOWN = 5  # of them in a terminal


class Verdicts(NamedTuple):
    """What was found."""

    judgement: Judgement
    broken: Sequence[str]
    doubtful: Sequence[str]


def judge(history: History) -> Verdicts:
    """One broken promise breaks it, whatever else happened; a doubt leaves it open."""
    broken, doubtful = list(islice(breaches(history), _KEPT)), list(doubts(history))
    total = f"{len(history.grants):,} grants under {history.faults.total():,} faults"
    if broken:
        more = "" if len(broken) == 1 else f" (and {len(broken) - 1:,} more)"
        why = Judgement(Verdict.BROKEN, f"A promise was broken, in {total}: {broken[0]}{more}.")
    elif doubtful:
        why = Judgement(Verdict.UNKNOWN, f"Unknown, after {total}: {'; '.join(doubtful)}.")
    else:
        lost = sum(grant.denied is not None for grant in history.grants.values())
        why = Judgement(
            Verdict.HOLDS,
            f"Every promise was kept, in {total}: {lost:,} holds were lost and knew it, "
            f"{len(history.ledger):,} guarded writes were accepted in order and "
            f"{history.refused:,} refused, everybody was served and nothing was left.",
        )
    return Verdicts(why, broken, doubtful)


def grants_table(history: History) -> tuple[list[str], list[list[str]]]:
    """Head and rows: for each lock the grants on each front, what was lost, the longest wait."""
    fronts = list(history.plan.get("fronts", ()))
    head = ["lock", *fronts, "timed out", "lost", "longest wait"]
    rows = [_row(history, lock, fronts) for lock in history.plan.get("locks", ())]
    total = [
        f"{sum(int(row[n].replace(',', '')) for row in rows):,}" for n in range(1, len(head) - 1)
    ]
    return head, [*rows, ["all", *total, ""]]


def _row(history: History, lock: str, fronts: Sequence[str]) -> list[str]:
    grants: list[Grant] = [grant for grant in history.grants.values() if grant.lock == lock]
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


def faults_table(history: History) -> tuple[list[str], list[list[str]]]:
    """Head and rows: how often each kind of fault struck."""
    kinds = history.plan.get("faults", ())
    rows = [[kind, f"{history.faults[kind]:,}"] for kind in kinds]
    return ["fault", "struck"], [*rows, ["all", f"{history.faults.total():,}"]]


def text(history: History, found: Verdicts) -> str:
    """What a terminal shows."""
    parts = [table(*grants_table(history)), "", table(*faults_table(history))]
    if len(found.broken) > 1:
        parts += ["", *found.broken[:_SHOWN]]
    return "\n".join(parts)


def document(
    history: History,
    found: Verdicts,
    plan: ChaosPlan,
    *,
    name: str,
    command: str,
    started: datetime,
    ensemble: dict[str, Any],
) -> dict[str, Any]:
    """What results.json says, as plain data."""
    head, rows = grants_table(history)
    verdict, why = found.judgement
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "name": name,
        "experiment": "chaos",
        "verdict": verdict.value,
        "why": why,
        "broken": list(found.broken),
        "doubts": list(found.doubtful),
        "command": command,
        "started": started.isoformat(timespec="seconds"),
        "seconds": round((datetime.now(UTC) - started).total_seconds(), 1),
        "plan": {
            "seconds": plan.seconds,
            "calm_s": CALM,
            "fronts": list(plan.fronts),
            "faults": list(plan.faults),
            "seed": plan.seed,
        },
        "figures": {
            "grants": len(history.grants),
            "processes": len(history.processes),
            "writes": len(history.ledger),
            "refused": history.refused,
            "faults": dict(history.faults),
            "locks": [dict(zip(head, row, strict=True)) for row in rows],
        },
        "machine": machine.describe(),
        "ensemble": ensemble,
    }


def html(history: History, found: Verdicts, results: dict[str, Any]) -> str:
    """The report."""
    body = [
        "<p>Processes on threads, asyncio and gevent take every kind of lock, while processes, "
        "connections and servers are killed, stopped, cut off and mended. What they wrote down "
        "was judged afterwards, by the files alone.</p>",
        "<h2>Grants</h2>",
        page.table(*grants_table(history)),
        "<h2>Faults</h2>",
        page.table(*faults_table(history)),
    ]
    for heading, sentences in (("Broken", found.broken), ("Open", found.doubtful)):
        if sentences:
            body += [f"<h2>{heading}</h2>", page.small(sentences)]
    body += [
        "<h2>Run it again</h2>",
        f"<pre>{escape(results['command'])}</pre>",
        '<p class="soft">Beside this page: results.json, and in history/ what each process wrote '
        "down.</p>",
    ]
    return page.page(
        title="Locks in a storm of faults",
        heading="Locks in a storm of faults",
        verdict=page.verdict(results["verdict"], results["why"]),
        body=body,
        rows_in_group=1000,
    )
