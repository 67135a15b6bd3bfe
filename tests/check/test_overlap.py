"""Overlapping holds are found, all of them, and nothing else is called one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from zkkit.check.overlap import HoldInterval, overlaps

MS = 1_000_000


def held(who: str, begin: int, end: int, lock: str = "/lock") -> HoldInterval:
    return HoldInterval(who, lock, begin * MS, end * MS)


def test_one_after_the_other_is_no_overlap() -> None:
    """A hold that begins in the very nanosecond in which another ends does not overlap it."""
    assert overlaps([held("a", 0, 5), held("b", 5, 9), held("a", 9, 12)]) == []


def test_an_overlap_names_both_and_its_length() -> None:
    """The sentence names the two actors, the lock, and how long both held it."""
    (found,) = overlaps([held("b", 4, 9), held("a", 0, 6)])
    assert (found.first.who, found.second.who, found.ns) == ("a", "b", 2 * MS)
    assert str(found) == "a and b both held /lock for 2.000 ms"


def test_a_long_hold_overlaps_everything_inside_it() -> None:
    """Holds inside a long one are found, although each begins after the end of the one before."""
    found = overlaps([held("long", 0, 100), held("a", 10, 20), held("b", 30, 40)])
    assert [(o.first.who, o.second.who) for o in found] == [("long", "a"), ("long", "b")]


def test_two_locks_have_nothing_to_do_with_each_other() -> None:
    """The same time on another lock is no overlap."""
    assert overlaps([held("a", 0, 9, "/one"), held("b", 0, 9, "/two")]) == []


def test_a_hold_without_length_overlaps_nothing() -> None:
    """An empty interval has no moment in common with any other."""
    assert overlaps([held("a", 0, 9), held("b", 4, 4)]) == []


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 30), st.integers(0, 8)), max_size=12)
)
def test_it_agrees_with_comparing_every_pair(raw: list[tuple[str, int, int]]) -> None:
    """A hold is reported if and only if an earlier one, by brute force, shares time with it."""
    holds = [held(f"{who}{n}", begin, begin + length) for n, (who, begin, length) in enumerate(raw)]
    order = sorted(holds, key=lambda h: (h.acquired_ns, h.released_ns))
    expected = [
        late
        for n, late in enumerate(order)
        if any(
            min(early.released_ns, late.released_ns) > max(early.acquired_ns, late.acquired_ns)
            for early in order[:n]
        )
    ]
    found = overlaps(holds)
    assert [overlap.second for overlap in found] == expected
    assert all(overlap.ns > 0 for overlap in found)
