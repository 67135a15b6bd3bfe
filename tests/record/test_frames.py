"""What a recording says: small recordings with answers known by hand."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from zkkit.hooks import Event
from zkkit.record import Row
from zkkit.record.frames import creates, fires, handoffs, overtakings, useful_wakeups, wakeups


def row(
    hook: str, actor: str = "a", t: int = 0, *, path: str = "/l/x", kind: str = "", session: int = 1
) -> Row:
    return hook, Event(t, session, actor, "Lock", path, kind)


def test_fires_came_over_the_wire() -> None:
    rows = [
        row("watch_fired", kind="deleted"),
        row("watch_fired", kind="none"),
        row("watch_set", kind="data"),
        row("watch_fired", kind="child"),
    ]
    assert [event.kind for event in fires(rows)] == ["deleted", "child"]


def test_creates_count_requests_that_failed_too() -> None:
    exists = Event(0, 1, "a", "HerdLock", "/l/lock", "Create", 0, "NodeExists", 5)
    rows = [
        row("step", kind="Create"),
        row("node_created"),
        ("step", exists),
        row("step", kind="Get"),
    ]
    assert [event.cause for event in creates(rows)] == ["", "NodeExists"]


def test_a_wakeup_is_useful_if_its_actor_acquires_before_the_next() -> None:
    rows = [
        row("woke", "a", 1),
        row("woke", "b", 2),
        row("woke", "a", 3),
        row("step", "a", 4),
        row("acquired", "b", 5),
        row("acquired", "c", 6),
        row("acquired", "a", 7),
        row("acquired", "a", 8),
        row("woke", "d", 9),
    ]
    assert [event.t_ns for event in wakeups(rows)] == [1, 2, 3, 9]
    assert [event.t_ns for event in useful_wakeups(rows)] == [2, 3]


def test_actors_of_two_sessions_are_two() -> None:
    rows = [row("woke", "main", session=1), row("acquired", "main", session=2)]
    assert useful_wakeups(rows) == []
    rows = [
        row("acquired", "main", 0, session=1),
        row("released", "main", 5, session=1),
        row("acquired", "main", 7, session=2),
    ]
    assert handoffs(rows) == [2]


def test_handoffs_by_directory() -> None:
    rows = [
        row("acquired", "a", 0, path="/l/1"),
        row("acquired", "x", 1, path="/m/1"),
        row("released", "a", 10, path="/l/1"),
        row("acquired", "b", 13, path="/l/2"),
        row("released", "x", 20, path="/m/1"),
        row("acquired", "y", 25, path="/m/2"),
        row("released", "b", 30, path="/l/2"),
        row("acquired", "c", 37, path="/l/3"),
    ]
    assert handoffs(rows) == [3, 5, 7]


def test_taking_it_back_is_no_handoff() -> None:
    rows = [
        row("acquired", "a", 0),
        row("released", "a", 10),
        row("acquired", "a", 11),
        row("acquired", "a", 12, kind="reentrant"),
        row("released", "a", 20),
        row("acquired", "b", 24),
    ]
    assert handoffs(rows) == [4]


def test_a_lost_hold_starts_no_handoff() -> None:
    rows = [
        row("acquired", "a", 0),
        row("lost", "a", 10),
        row("released", "a", 11),
        row("acquired", "b", 20),
    ]
    assert handoffs(rows) == []


def test_the_news_may_overtake_the_answer() -> None:
    """b hears that the node is gone before a hears that its delete is done, and so does c."""
    rows = [
        row("acquired", "a", 0),
        row("acquired", "b", 10),
        row("released", "a", 11),
        row("acquired", "c", 20),
        row("released", "b", 22),
    ]
    assert handoffs(rows) == [-1, -2]


def test_overtakings() -> None:
    order = ["a", "b", "c", "d"]
    assert overtakings([row("acquired", actor) for actor in "abcd"], order) == 0
    assert overtakings([row("acquired", actor) for actor in "dcba"], order) == 6
    assert overtakings([row("acquired", actor) for actor in "bacd"], order) == 1
    rows = [row("acquired", "gate"), row("acquired", "d"), row("acquired", "a", kind="reentrant")]
    assert overtakings([*rows, row("acquired", "b")], order) == 1
    assert overtakings([], order) == 0


def test_overtakings_of_one_who_waits_again() -> None:
    assert overtakings([row("acquired", actor) for actor in "aba"], ["a", "b", "a"]) == 0
    assert overtakings([row("acquired", actor) for actor in "aab"], ["a", "b", "a"]) == 1


@given(st.permutations(range(8)))
def test_overtakings_are_the_pairs_out_of_order(granted: list[int]) -> None:
    rows = [row("acquired", str(number)) for number in granted]
    swapped = sum(a > b for a, b in itertools.combinations(granted, 2))
    assert overtakings(rows, [str(number) for number in range(8)]) == swapped
