"""Retry policies and deadlines: pure arithmetic."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zkkit.retry import (
    NEVER,
    Deadline,
    Exponential,
    Forever,
    NTimes,
    UntilElapsed,
    check_policy,
    once,
)

ATTEMPT = st.integers(1, 200)
CHANCE = st.floats(0, 1, exclude_max=True)
SECONDS = st.floats(0, 1e6)


def test_n_times() -> None:
    """So many more tries, with the same pause before each."""
    policy = NTimes(2, 0.5)
    assert [policy.delay(n, 0.0, 0.0) for n in (1, 2, 3, 4)] == [0.5, 0.5, None, None]


def test_once_and_never() -> None:
    """The two smallest policies: one more try, and none."""
    assert [once(0.1).delay(n, 0.0, 0.0) for n in (1, 2)] == [0.1, None]
    assert NEVER.delay(1, 0.0, 0.0) is None


@given(ATTEMPT, SECONDS, CHANCE)
def test_n_times_looks_only_at_the_count(attempt: int, elapsed: float, chance: float) -> None:
    """Neither time nor chance changes a counted policy."""
    assert (NTimes(5, 1.0).delay(attempt, elapsed, chance) is None) == (attempt > 5)


@given(ATTEMPT, SECONDS, CHANCE)
def test_forever_never_gives_up(attempt: int, elapsed: float, chance: float) -> None:
    """The pause is always the same."""
    assert Forever(0.25).delay(attempt, elapsed, chance) == 0.25


@given(ATTEMPT, st.floats(0, 20), CHANCE)
def test_until_elapsed_begins_no_pause_that_ends_too_late(
    attempt: int, elapsed: float, chance: float
) -> None:
    """A next try is promised only if it begins within the time."""
    delay = UntilElapsed(10.0, 0.5).delay(attempt, elapsed, chance)
    assert (delay is None) == (elapsed + 0.5 > 10.0)
    assert delay in (None, 0.5)


@given(st.integers(1, 60), CHANCE)
def test_exponential_bounds(attempt: int, chance: float) -> None:
    """The wait lies in base x [1, 2^attempt) and is a multiple of base."""
    delay = Exponential(1.0, 100).delay(attempt, 0.0, chance)
    assert delay is not None
    assert 1.0 <= delay < 2.0**attempt or delay == 1.0
    assert delay == int(delay)
    assert delay < 2.0**30


@given(st.integers(1, 60), CHANCE)
def test_bounded_exponential(attempt: int, chance: float) -> None:
    """No single wait exceeds `longest`."""
    delay = Exponential(0.1, 100, longest=2.0).delay(attempt, 0.0, chance)
    assert delay is not None
    assert 0.1 <= delay <= 2.0


@given(ATTEMPT, SECONDS, CHANCE)
def test_exponential_gives_up(attempt: int, elapsed: float, chance: float) -> None:
    """After so many tries it is over."""
    assert (Exponential(0.1, 3).delay(attempt, elapsed, chance) is None) == (attempt > 3)


def test_exponential_spreads() -> None:
    """Chance decides within the range: that is what keeps clients apart."""
    policy = Exponential(0.1, 10)
    assert policy.delay(4, 0.0, 0.0) == pytest.approx(0.1)
    assert policy.delay(4, 0.0, 0.5) == pytest.approx(0.8)
    assert policy.delay(4, 0.0, 0.999) == pytest.approx(1.5)


def test_policies_are_values() -> None:
    """Equal arguments make equal, hashable policies."""
    assert once(0.5) == NTimes(1, 0.5)
    assert len({Exponential(0.1, 3), Exponential(0.1, 3), Exponential(0.1, 4)}) == 2


NAN, INFINITE = float("nan"), float("inf")


@pytest.mark.parametrize("seconds", ["x", None, True, NAN, INFINITE, -0.1, 1e12, b"1", [1]])
@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda seconds: NTimes(3, seconds), "pause"),
        (once, "pause"),
        (Forever, "pause"),
        (lambda seconds: UntilElapsed(seconds, 1), "seconds"),
        (lambda seconds: UntilElapsed(1, seconds), "pause"),
        (lambda seconds: Exponential(seconds, 3), "base"),
        (lambda seconds: Exponential(0.1, 3, seconds or "None"), "longest"),
    ],
)
def test_what_is_no_time(make: Any, name: str, seconds: Any) -> None:
    """It is refused where the policy is made, by its name, not where it is used for the first
    time."""
    with pytest.raises(ValueError, match=rf"^{name} must be a number of seconds"):
        make(seconds)


@pytest.mark.parametrize("times", ["3", 2.5, None, True, -1, NAN])
@pytest.mark.parametrize("make", [NTimes, lambda times: Exponential(0.1, times)])
def test_what_is_no_number_of_times(make: Any, times: Any) -> None:
    """Neither a text nor half a try, nor fewer than none."""
    with pytest.raises(ValueError, match=r"^times must be a whole number, 0 or more, not "):
        make(times)


def test_the_bounds_of_what_makes_sense() -> None:
    """Nothing at all, whole numbers of seconds, and as much as can be waited."""
    for seconds in (0, 0.0, 1, 1_000_000_000):
        assert Forever(seconds).delay(1, 0.0, 0.0) == seconds
        UntilElapsed(seconds, seconds), Exponential(seconds, 0, seconds), NTimes(0, seconds)


def test_a_policy_whose_delay_is_a_coroutine() -> None:
    """One of the caller's own that nobody would await is none."""

    class Awaited:
        async def delay(self, attempt: int, elapsed: float, chance: float) -> float | None:
            return None

    with pytest.raises(ValueError, match=r"^retry must be a policy"):
        check_policy(Awaited())


def test_deadline_counts_down() -> None:
    """What is left shrinks to nothing and stays there."""
    deadline = Deadline.after(2.0, now=10.0)
    assert [deadline.left(now) for now in (10.0, 11.5, 12.0, 99.0)] == [2.0, 0.5, 0.0, 0.0]
    assert [deadline.over(now) for now in (10.0, 11.999, 12.0, 99.0)] == [False, False, True, True]


def test_no_deadline_never_comes() -> None:
    """None means never, not at once."""
    deadline = Deadline.after(None, now=10.0)
    assert deadline.left(1e9) is None
    assert not deadline.over(1e9)


@pytest.mark.parametrize("seconds", [0, -1, -0.5])
def test_deadline_of_nothing_is_over_at_once(seconds: float) -> None:
    """Zero or less is over at once, not in the past."""
    deadline = Deadline.after(seconds, now=10.0)
    assert deadline.over(10.0)
    assert deadline.left(10.0) == 0.0


@given(st.none() | st.floats(-10, 10), st.floats(0, 1e6), st.floats(0, 20))
def test_over_means_nothing_left(seconds: float | None, start: float, later: float) -> None:
    """`left` and `over` never disagree."""
    deadline = Deadline.after(seconds, start)
    assert deadline.over(start + later) == (deadline.left(start + later) == 0.0)
