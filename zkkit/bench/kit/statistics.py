"""Medians with something beside them that says how far they can be trusted."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

_CONFIDENCE = 0.95


class Spread(NamedTuple):
    """The median over the repeats, with the smallest and the greatest value beside it."""

    median: float
    low: float
    high: float


class Interval(NamedTuple):
    """A median, and two of the values between which the true one lies with this confidence."""

    median: float
    low: float
    high: float
    confidence: float


def spread(values: Iterable[float | None]) -> Spread | None:
    """The spread of the values that are known; None if none is."""
    known = [value for value in values if value is not None]
    return spread_of(known) if known else None


def spread_of(values: Iterable[float]) -> Spread:
    """The spread of values that are all known, at least one."""
    known = list(values)
    return Spread(*(round(v, 4) for v in (statistics.median(known), min(known), max(known))))


def told(spread: Spread | None, say: Callable[[float], str]) -> str:
    """The median, with the smallest and the greatest value behind it where they differ as said."""
    if spread is None:
        return "?"
    median, low, high = map(say, spread)
    return median if low == high else f"{median} ({low}..{high})"


def middle(spread: Spread | None, say: Callable[[float], str]) -> str:
    """The median alone."""
    return "?" if spread is None else say(spread.median)


def quartiles(values: Sequence[float]) -> Spread:
    """The median between the quartiles: on a busy machine the extremes tell of the neighbours."""
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(median, low, high)


def percentile(values: Sequence[float], percent: int) -> float | None:
    """The value that `percent` of the values do not exceed, interpolated between two values;
    None if there are no values."""
    if not values:
        return None
    if len(values) == 1:
        return values[0]
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def median_interval(values: Sequence[float]) -> Interval:
    """The interval by order statistics, which assumes nothing about the values: the narrowest that
    is sure to 95 %, else all of them (fewer than six give no 95 %)."""
    ordered = sorted(values)
    cut = 0  # how many are cut off at either end
    while 2 * (cut + 1) < len(ordered) and _sure(len(ordered), cut + 1) >= _CONFIDENCE:
        cut += 1
    return Interval(
        statistics.median(ordered), ordered[cut], ordered[-1 - cut], _sure(len(ordered), cut)
    )


def _sure(number: int, cut: int) -> float:
    """How likely the median lies within `number` values without the `cut` outermost."""
    tail = sum(math.comb(number, k) for k in range(cut + 1)) / 2.0**number
    return max(0.0, 1 - 2 * tail)
