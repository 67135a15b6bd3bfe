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

from loadtests.turns import UserTurn
from zkkit.bench.kit.machine import SATURATED, Cpu
from zkkit.bench.kit.statistics import Spread, percentile, spread, spread_of

PHASES = ("wait", "handoff", "hold", "release")


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
    """When each user that still waited at the end had begun to."""
    counters: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """The fires each server had counted, before and after."""

    @property
    def seconds(self) -> float:
        return (self.end_ns - self.begin_ns) / 1e9


def handoffs(turns: Sequence[UserTurn]) -> list[int]:
    """Nanoseconds from each letting go to the next grant, where that went to another user.

    The turns must be in the order of their grants. With a lock that works none is negative.
    """
    return [
        after.acquired_ns - before.released_ns
        for before, after in pairwise(turns)
        if before.user != after.user
    ]


@dataclass(frozen=True)
class Distribution:
    """How long a phase of a turn took, in milliseconds with three digits behind the point."""

    count: int
    p50: float
    p90: float
    p99: float
    max: float


@dataclass(frozen=True)
class StepFigure:
    """What one window says. Shares are of one core."""

    design: str
    users: int
    seconds: float
    acquisitions: int
    per_second: float
    wait_ms: Distribution | None
    handoff_ms: Distribution | None
    hold_ms: Distribution | None
    release_ms: Distribution | None
    fires: int
    server_fires: int | None
    fires_each: float | None
    server_fires_each: float | None
    served: int
    served_share: float
    still_waiting: int
    longest_wait_ms: float | None
    client_cpu_s: float
    client_cpu_share: float
    server_cpu_s: Mapping[str, float]
    server_cpu_share: Mapping[str, float]
    saturated: bool


@dataclass(frozen=True)
class PhaseSpread:
    """The percentiles of a phase, over several runs."""

    p50: Spread
    p90: Spread
    p99: Spread
    max: Spread


@dataclass(frozen=True)
class LoadLine:
    """All runs of one design with one number of users."""

    design: str
    users: int
    runs: int
    acquisitions: int
    per_second: Spread
    fires_each: Spread | None
    server_fires_each: Spread | None
    served: Spread
    longest_wait_ms: Spread | None
    wait_ms: PhaseSpread | None
    handoff_ms: PhaseSpread | None
    hold_ms: PhaseSpread | None
    release_ms: PhaseSpread | None
    client_cpu_share: Spread
    server_cpu_share: Mapping[str, Spread]
    saturated: int

    def phase(self, name: str) -> PhaseSpread | None:
        """The times of one of PHASES; None if there are none."""
        found: PhaseSpread | None = getattr(self, f"{name}_ms")
        return found


def figure(window: Window, turns: Sequence[UserTurn]) -> StepFigure:
    """What a window says; `turns` are those granted in it, in that order."""
    count, seconds = len(turns), window.seconds
    share = window.cpu.client / seconds
    waits = [turn.acquired_ns - turn.asked_ns for turn in turns]
    served = len({turn.user for turn in turns})
    return StepFigure(
        design=window.design,
        users=window.users,
        seconds=round(seconds, 3),
        acquisitions=count,
        per_second=round(count / seconds, 3),
        wait_ms=distribution(waits),
        handoff_ms=distribution(handoffs(turns)),
        hold_ms=distribution([turn.released_ns - turn.acquired_ns for turn in turns]),
        release_ms=distribution([t.done_ns - t.released_ns for t in turns if t.done_ns]),
        fires=window.client_fires,
        server_fires=window.server_fires,
        fires_each=_each(window.client_fires, count),
        server_fires_each=_each(window.server_fires, count),
        served=served,
        served_share=round(served / window.users, 4),
        still_waiting=len(window.still_waiting_ns),
        longest_wait_ms=_longest(waits, window.still_waiting_ns),
        client_cpu_s=round(window.cpu.client, 3),
        client_cpu_share=round(share, 3),
        server_cpu_s=window.cpu.servers,
        server_cpu_share={n: round(used / seconds, 3) for n, used in window.cpu.servers.items()},
        saturated=share > SATURATED,
    )


def distribution(ns: Sequence[int]) -> Distribution | None:
    """How these nanoseconds are distributed; None if there are none."""
    if not ns:
        return None
    p50, p90, p99 = (round((percentile(ns, percent) or 0.0) / 1e6, 3) for percent in (50, 90, 99))
    return Distribution(len(ns), p50, p90, p99, round(max(ns) / 1e6, 3))


def summary(runs: Iterable[StepFigure]) -> tuple[LoadLine, ...]:
    """One line for each design and number of users, in the order of their first run: medians over
    the runs, with the smallest and the greatest value beside them."""
    groups: dict[tuple[str, int], list[StepFigure]] = {}
    for run in runs:
        groups.setdefault((run.design, run.users), []).append(run)
    return tuple(_line(design, users, mine) for (design, users), mine in groups.items())


def _line(design: str, users: int, runs: Sequence[StepFigure]) -> LoadLine:
    return LoadLine(
        design=design,
        users=users,
        runs=len(runs),
        acquisitions=sum(run.acquisitions for run in runs),
        per_second=spread_of(run.per_second for run in runs),
        fires_each=spread(run.fires_each for run in runs),
        server_fires_each=spread(run.server_fires_each for run in runs),
        served=spread_of(run.served for run in runs),
        longest_wait_ms=spread(run.longest_wait_ms for run in runs),
        wait_ms=_phase([run.wait_ms for run in runs]),
        handoff_ms=_phase([run.handoff_ms for run in runs]),
        hold_ms=_phase([run.hold_ms for run in runs]),
        release_ms=_phase([run.release_ms for run in runs]),
        client_cpu_share=spread_of(run.client_cpu_share for run in runs),
        server_cpu_share=_servers([run.server_cpu_share for run in runs]),
        saturated=sum(run.saturated for run in runs),
    )


def _phase(of_runs: Sequence[Distribution | None]) -> PhaseSpread | None:
    known = [run for run in of_runs if run is not None]
    if not known:
        return None
    names = ("p50", "p90", "p99", "max")
    return PhaseSpread(*(spread_of(getattr(run, name) for run in known) for name in names))


def _servers(shares: Sequence[Mapping[str, float]]) -> dict[str, Spread]:
    names = sorted({name for run in shares for name in run})
    return {name: spread_of(run[name] for run in shares if name in run) for name in names}


def _each(fires: int | None, acquisitions: int) -> float | None:
    return round(fires / acquisitions, 3) if fires is not None and acquisitions else None


def _longest(waits: Sequence[int], still_waiting: Sequence[int]) -> float | None:
    longest = max((*waits, *still_waiting), default=None)
    return None if longest is None else round(longest / 1e6, 3)
