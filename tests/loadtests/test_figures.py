"""From turns to figures, with numbers that can be checked by hand."""

from __future__ import annotations

import pytest

from loadtests.figures import Distribution, Window, figure, handoffs, summary
from loadtests.turns import Turns, UserTurn
from zkkit.bench.kit.machine import Cpu
from zkkit.bench.kit.statistics import Spread

MS = 1_000_000


def turns() -> Turns:
    """Two users: 1 waits 2 ms and holds 5; 2 waits 10 and holds 3; 1 again, stopped at once."""
    kept = Turns()
    first = kept.held(1, 0 * MS, 2 * MS, 7 * MS)
    kept.done(first, 8 * MS)
    second = kept.held(2, 0 * MS, 10 * MS, 13 * MS)
    kept.done(second, 17 * MS)
    kept.held(1, 9 * MS, 15 * MS, 20 * MS)
    return kept


def window(**changes: object) -> Window:
    given = {
        "design": "herd",
        "users": 4,
        "begin_ns": 0,
        "end_ns": 100 * MS,
        "client_fires": 6,
        "server_fires": 9,
        "cpu": Cpu(0.05, {"node1": 0.02}),
        "still_waiting_ns": (90 * MS,),
    }
    return Window(**{**given, **changes})  # type: ignore[arg-type]


def test_the_four_phases_are_told_apart() -> None:
    """Wait, handoff, hold and release are each computed from their own two moments."""
    got = figure(window(), turns().between(0, 100 * MS))
    assert got.wait_ms.max == 10.0
    assert got.handoff_ms == Distribution(2, p50=2.5, p90=2.9, p99=2.99, max=3.0)
    assert got.hold_ms.p50 == 5.0
    assert got.release_ms == Distribution(2, p50=2.5, p90=3.7, p99=3.97, max=4.0)


def test_times_keep_their_microseconds() -> None:
    """A wait of 1.234567 ms is not rounded to a whole millisecond, as locust would."""
    kept = Turns()
    kept.held(1, 0, 1_234_567, 2 * MS)
    assert figure(window(), kept.between(0, 100 * MS)).wait_ms.p50 == 1.235


def test_counts_are_per_acquisition_and_per_second() -> None:
    """Three grants in a tenth of a second are thirty a second; nine fires are three each."""
    got = figure(window(), turns().between(0, 100 * MS))
    assert (got.per_second, got.fires_each, got.server_fires_each) == (30.0, 2.0, 3.0)


def test_those_never_served_are_not_forgotten() -> None:
    """Users without a grant show in `served`, and a wait that has not ended in the longest wait."""
    got = figure(window(), turns().between(0, 100 * MS))
    assert (got.served, got.users, got.still_waiting) == (2, 4, 1)
    assert got.longest_wait_ms == 90.0


def test_only_grants_inside_the_window_count() -> None:
    """A grant before the step began, or at its very end, belongs to no figure."""
    inside = turns().between(3 * MS, 15 * MS)
    assert [turn.user for turn in inside] == [2]


@pytest.mark.parametrize(("used", "saturated"), [(0.089, False), (0.095, True)])
def test_a_client_at_its_limit_is_marked(used: float, saturated: bool) -> None:
    """From 90 % of one core on, the figures are the client's own and are marked."""
    got = figure(window(cpu=Cpu(used, {})), turns().between(0, 100 * MS))
    assert got.saturated is saturated


def test_a_user_that_gets_the_lock_again_made_no_handoff() -> None:
    """From one user to itself nothing is handed over."""
    mine = [UserTurn(1, 0, 1, 2, 3), UserTurn(1, 3, 4, 5, 6), UserTurn(2, 0, 9, 10, 11)]
    assert handoffs(mine) == [4]


def test_nothing_granted_gives_no_numbers_instead_of_zeros() -> None:
    """Without any grant there is no median and no fire per acquisition."""
    got = figure(window(), [])
    assert got.wait_ms is None and got.fires_each is None and got.per_second == 0


def test_repeats_become_one_line_with_its_range() -> None:
    """Two runs of one design give their median, the smallest and the greatest value."""
    runs = [figure(window(server_fires=fires), turns().between(0, 100 * MS)) for fires in (6, 12)]
    (line,) = summary(runs)
    assert line.server_fires_each == Spread(3.0, low=2.0, high=4.0)
    assert (line.runs, line.acquisitions) == (2, 6)
