"""Comparing peers: whose turn it is, and how zkkit does beside each of the others.

In a repeat the peers of a row run one after the other, and in the next repeat the other way round,
the rows too (ABBA); every two repeats begin another order, until each order has been. So neither a
machine that grows warmer nor a JVM that grows faster favours a peer, and the peers of one repeat
can be compared as a pair.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import Protocol, TypeVar

from zkkit.bench.kit.ground import facts
from zkkit.bench.kit.judgement import Judgement, first_of
from zkkit.bench.kit.machine import SATURATED
from zkkit.bench.kit.results import Head
from zkkit.bench.kit.statistics import Interval, median_interval
from zkkit.show.wording import many

ZKKIT, KAZOO, CURATOR = "zkkit", "kazoo", "Curator"
ASYNCIO = "zkkit on asyncio"
"""The same recipes and operations of zkkit, awaited: all sessions of the process on one loop."""

_ALIKE = 1.25  # an interval that goes further does not make peers alike
_SURE = 0.9  # an interval of less confidence makes a title say "about"

OURS = (ZKKIT, ASYNCIO)
"""The peers that are compared with the others."""

RowT = TypeVar("RowT")


def in_turn(
    rows: Sequence[RowT], peers: Sequence[str], repeats: int, seed: int
) -> Iterator[tuple[RowT, str, int]]:
    """Row, peer and repeat of each cell, in their order. The seed decides in which order the
    peers' orders come."""
    orders = [order for order in permutations(peers) if order <= order[::-1]]
    random.Random(seed).shuffle(orders)
    for repeat in range(repeats):
        order = orders[repeat // 2 % len(orders)]
        there = [(row, peer, repeat) for row in rows for peer in order]
        yield from there if repeat % 2 == 0 else reversed(there)


def ratio_of(ours: Mapping[int, float], theirs: Mapping[int, float]) -> Interval | None:
    """One over the other, repeat by repeat; None if no repeat has both."""
    pairs = [ours[repeat] / theirs[repeat] for repeat in ours if repeat in theirs]
    return median_interval(pairs) if pairs else None


def ratios_of(
    speeds: Mapping[str, Mapping[int, float]], subject: str, others: Iterable[str]
) -> dict[str, Interval]:
    """How the subject compares with each of the others that was measured beside it. `speeds` are by
    peer and repeat, the more the faster."""
    found = {name: ratio_of(speeds[subject], speeds[name]) for name in others if name in speeds}
    return {name: ratio for name, ratio in found.items() if ratio}


def full_name(peer: str) -> str:
    """A peer, for people."""
    return "Java Curator" if peer == CURATOR else peer


def told_ratio(ratio: Interval | None) -> str:
    """A ratio with its interval."""
    if ratio is None:
        return "?"
    return f"{ratio.median:.2f} ({ratio.low:.2f}..{ratio.high:.2f})"


def times_as(adverb: str, peer: str, ratio: Interval) -> str:
    """How zkkit compares with a peer, "1.50 times as often as kazoo", if the interval allows to say
    so. A wide interval with 1 in it does not say that they are alike: it is told itself."""
    if ratio.low <= 1 <= ratio.high:
        if ratio.low >= 1 / _ALIKE and ratio.high <= _ALIKE:
            return f"about as {adverb} as {full_name(peer)}"
        return f"{ratio.low:.2f} to {ratio.high:.2f} times as {adverb} as {full_name(peer)}"
    about = "" if ratio.confidence >= _SURE else "about "
    return f"{about}{ratio.median:.2f} times as {adverb} as {full_name(peer)}"


def is_saturated(peer: str, cpu: float | None, seconds: float) -> bool:
    """Whether a client of one interpreter was at its limit, with so much CPU in so many seconds; no
    if the system does not tell. Java has no such limit."""
    return peer != CURATOR and (cpu or 0.0) / seconds > SATURATED


def saturated_note(what: str) -> str:
    """What the star behind a figure means; `what` the figure should tell about."""
    return (
        "* the client used over 90 % of one core: the figure tells more about the Python "
        f"interpreter than about the {what}."
    )


class Measured(Protocol):
    """A cell, as far as it can be void."""

    @property
    def name(self) -> str: ...
    @property
    def void(self) -> str: ...


def doubted(cells: Sequence[Measured], planned: int, stopped: str) -> Judgement | None:
    """Why the cells say nothing, if they do not: the measuring was stopped, one is missing or
    void."""
    doubts = [f"{cell.name} is void: {cell.void}" for cell in cells if cell.void]
    if stopped:
        doubts.insert(0, stopped)
    elif len(cells) != planned:
        doubts.insert(0, f"{len(cells)} of {planned} cells were measured")
    return Judgement("unknown", f"Unknown: {first_of(doubts)}.") if doubts else None


class ComparisonPlan(Protocol):
    """How often the peers take their turns, and for how long."""

    @property
    def repeats(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def seed(self) -> int: ...


def conditions_of(
    head: Head,
    plan: ComparisonPlan,
    versions: Mapping[str, str],
    java_flags: Sequence[str],
    ratios: Iterable[Interval],
    more: str = "",
) -> dict[str, str]:
    """What the figures were measured on, and how; `more`: what else belongs to the plan."""
    clients = ", ".join(f"{name} {version}" for name, version in versions.items())
    java = f" or Java ({' '.join(java_flags)})" if CURATOR in versions else ""
    sure = min((ratio.confidence for ratio in ratios), default=None)
    how = {
        "client": f"{clients}; each in a process of its own, on {head.machine.python}{java}",
        "plan": f"{many(plan.repeats, 'repeat')} of {plan.seconds:g} s, "
        f"peers and rows ABBA, seed {plan.seed}{more}",
        "intervals": "none" if sure is None else f"sure to {sure:.0%}",
    }
    return facts(head, how)
