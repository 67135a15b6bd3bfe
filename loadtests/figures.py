"""From turns to figures: one window (a held step) each, then one line for each design and step.

    wait      from asking to being told, of the turns granted in the window
    handoff   from one user's letting go to the grant of the next user
    hold      from being told to letting go
    release   from letting go to the server's answer

A closed loop hides waiting: a user that is not served asks for nothing more, so it makes the
other figures look better, not worse. That is why a window also says how many users were served
at all, and how long the one that waits longest had been waiting at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from loadtests.turns import Turn
from zkkit.bench.figures import spread
from zkkit.bench.machine import SATURATED, Cpu
from zkkit.bench.run import percentile

PHASES = ("wait", "handoff", "hold", "release")
PERCENTS = (50, 90, 99)


@dataclass(frozen=True)
class Window:
    """A step that was held: what was counted between its begin and its end."""

    design: str
    users: int
    begin_ns: int
    end_ns: int
    client_fires: int
    server_fires: int | None
    cpu: Cpu
    still_waiting_ns: Sequence[int] = ()
    """For each user that waited at the end: since when it had."""
    counters: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """The fires each server had counted, before and after."""

    @property
    def seconds(self) -> float:
        return (self.end_ns - self.begin_ns) / 1e9


def handoffs(turns: Sequence[Turn]) -> list[int]:
    """Nanoseconds from each letting go to the next grant, where that went to another user.

    The turns must be in the order of their grants. With a lock that works none is negative.
    """
    return [
        after.acquired_ns - before.released_ns
        for before, after in pairwise(turns)
        if before.user != after.user
    ]


def figure(window: Window, turns: Sequence[Turn]) -> dict[str, Any]:
    """What a window says, as plain data; `turns` are those granted in it, in that order."""
    done = [turn for turn in turns if turn.done_ns]
    times = {
        "wait": [turn.acquired_ns - turn.asked_ns for turn in turns],
        "handoff": handoffs(turns),
        "hold": [turn.released_ns - turn.acquired_ns for turn in turns],
        "release": [turn.done_ns - turn.released_ns for turn in done],
    }
    count, seconds = len(turns), window.seconds
    share = window.cpu.client / seconds
    return {
        "design": window.design,
        "users": window.users,
        "seconds": round(seconds, 3),
        "acquisitions": count,
        "per_second": round(count / seconds, 3),
        **{f"{phase}_ms": distribution(times[phase]) for phase in PHASES},
        "fires": window.client_fires,
        "server_fires": window.server_fires,
        "fires_each": _each(window.client_fires, count),
        "server_fires_each": _each(window.server_fires, count),
        "served": len({turn.user for turn in turns}),
        "served_share": round(len({turn.user for turn in turns}) / window.users, 4),
        "still_waiting": len(window.still_waiting_ns),
        "longest_wait_ms": _longest(times["wait"], window.still_waiting_ns),
        "client_cpu_s": round(window.cpu.client, 3),
        "client_cpu_share": round(share, 3),
        "server_cpu_s": window.cpu.servers,
        "server_cpu_share": {
            name: round(used / seconds, 3) for name, used in window.cpu.servers.items()
        },
        "saturated": share > SATURATED,
    }


def distribution(ns: Sequence[int]) -> dict[str, float] | None:
    """Milliseconds with three digits behind the point, which are microseconds; None of nothing."""
    if not ns:
        return None
    found = {f"p{percent}": percentile(ns, percent) for percent in PERCENTS}
    found["max"] = float(max(ns))
    ms = {name: round(value / 1e6, 3) for name, value in found.items() if value is not None}
    return {"count": len(ns), **ms}


def summary(runs: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One line for each design and number of users, in the order of their first run: medians over
    the runs, with the smallest and the greatest value beside them."""
    groups: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    for run in runs:
        groups.setdefault((run["design"], run["users"]), []).append(run)
    return [_line(design, users, mine) for (design, users), mine in groups.items()]


def _line(design: str, users: int, runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    def over(name: str) -> dict[str, float] | None:
        found = spread(run[name] for run in runs)
        return found and found._asdict()

    line: dict[str, Any] = {"design": design, "users": users, "runs": len(runs)}
    for name in ("per_second", "fires_each", "server_fires_each", "served", "longest_wait_ms"):
        line[name] = over(name)
    for phase in PHASES:
        line[f"{phase}_ms"] = _phase([run[f"{phase}_ms"] for run in runs])
    line["acquisitions"] = sum(run["acquisitions"] for run in runs)
    line["client_cpu_share"] = over("client_cpu_share")
    line["server_cpu_share"] = _servers([run["server_cpu_share"] for run in runs])
    line["saturated"] = sum(run["saturated"] for run in runs)
    return line


def _phase(of_runs: Sequence[Mapping[str, float] | None]) -> dict[str, Any] | None:
    known = [run for run in of_runs if run is not None]
    if not known:
        return None
    names = (*(f"p{percent}" for percent in PERCENTS), "max")
    spreads = {name: spread(run[name] for run in known) for name in names}
    return {name: found and found._asdict() for name, found in spreads.items()}


def _servers(shares: Sequence[Mapping[str, float]]) -> dict[str, dict[str, float]]:
    names = sorted({name for run in shares for name in run})
    found = {name: spread(run.get(name) for run in shares) for name in names}
    return {name: value._asdict() for name, value in found.items() if value is not None}


def _each(fires: int | None, acquisitions: int) -> float | None:
    return round(fires / acquisitions, 3) if fires is not None and acquisitions else None


def _longest(waits: Sequence[int], still_waiting: Sequence[int]) -> float | None:
    longest = max((*waits, *still_waiting), default=None)
    return None if longest is None else round(longest / 1e6, 3)
