"""What a recording says: small recordings with answers known by hand."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from zkkit.hooks import Event
from zkkit.record import Row
from zkkit.record.counts import (
    creates,
    fires,
    handoffs,
    overtakings,
    spans,
    useful_wakeups,
    wakeups,
)


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


def over(actor: str, t: int, woke: int, outcome: str, **fields: Any) -> Row:
    """What came of the wakeup at `woke`."""
    hook, event = row("wakeup_ended", actor, t, kind=outcome, **fields)
    return hook, event._replace(duration=t - woke)


def ns(rows: Iterable[Row]) -> list[int]:
    return [handoff.ns for handoff in handoffs(rows)]


def test_a_wakeup_is_what_came_of_it() -> None:
    rows = [
        row("woke", "a", 1),
        row("woke", "b", 2),
        over("a", 3, 1, "again"),
        row("woke", "a", 4),
        row("acquired", "b", 5),
        over("b", 6, 2, "useful"),
        over("a", 7, 4, "useful"),
        row("woke", "a", 8),
        over("a", 9, 8, "failed"),
        row("woke", "d", 10),
    ]
    assert [wakeup.t_ns for wakeup in wakeups(rows)] == [1, 2, 4, 8, 10]
    assert [wakeup.outcome for wakeup in wakeups(rows)] == [
        "again", "useful", "useful", "failed", "unknown",
    ]  # fmt: skip
    assert [wakeup.t_ns for wakeup in useful_wakeups(rows)] == [2, 4]
    assert [wakeup.ended_ns for wakeup in wakeups(rows)] == [3, 6, 7, 9, None]


def test_runs_of_one_name_are_told_apart_by_the_time() -> None:
    """One fire wakes three background runs that share a name: each has its own outcome, and
    where not even the clock tells them apart the numbers are still right."""
    woken = [row("woke", "watcher", t) for t in (1, 2, 2)]
    rows = [
        *woken,
        over("watcher", 3, 2, "again"),
        over("watcher", 4, 1, "useful"),
        over("watcher", 5, 2, "useful"),
    ]
    assert [wakeup.t_ns for wakeup in useful_wakeups(rows)] == [1, 2]
    assert len(wakeups(rows)) == 3


def test_the_wakeup_must_be_in_the_recording() -> None:
    """A part of a recording counts only the wakeups that are in it."""
    rows = [row("woke", "a", 1), over("a", 2, 1, "useful")]
    assert useful_wakeups(rows[1:]) == wakeups(rows[1:]) == []


def test_actors_of_two_sessions_are_two() -> None:
    rows = [row("woke", "main", session=1), over("main", 0, 0, "useful", session=2)]
    assert useful_wakeups(rows) == []
    rows = [
        row("acquired", "main", 0, session=1),
        row("released", "main", 5, session=1),
        row("acquired", "main", 7, session=2),
    ]
    assert ns(rows) == [2]


def test_spans() -> None:
    """Holds, leads and stays, whoever ends them and however; a reentry is no hold of its own."""
    rows = [
        row("released", "gate", 1, path="/l/0"),
        row("acquired", "a", 2, path="/l/1"),
        row("acquired", "a", 3, path="/l/1", kind="reentrant"),
        row("led", "a", 4, path="/l/1"),
        row("entered", "c", 5, path="/b/c"),
        row("released", "b", 6, path="/l/1"),
        row("lost", "a", 7, path="/l/1", kind="led"),
        row("unled", "a", 8, path="/l/1"),
        row("left", "c", 9, path="/b/c"),
        row("led", "d", 10, path="/l/2"),
    ]
    assert [(s.what, s.actor, s.start_ns, s.end_ns, s.ended) for s in spans(rows)] == [
        ("acquired", "gate", None, 1, "released"),
        ("acquired", "a", 2, 6, "released"),
        ("led", "a", 4, 7, "lost"),
        ("entered", "c", 5, 9, "left"),
        ("led", "d", 10, None, ""),
    ]


def test_a_lead_is_handed_over_too() -> None:
    rows = [
        row("led", "a", 0, path="/l/1"),
        row("acquired", "x", 3, path="/l/9"),
        row("unled", "a", 10, path="/l/1"),
        row("led", "b", 14, path="/l/2"),
    ]
    assert [(h.directory, h.giver, h.taker, h.ns) for h in handoffs(rows)] == [("/l", "a", "b", 4)]
    assert overtakings(rows, ["b", "a"]) == 1


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
    assert ns(rows) == [3, 5, 7]


def test_taking_it_back_is_no_handoff() -> None:
    rows = [
        row("acquired", "a", 0),
        row("released", "a", 10),
        row("acquired", "a", 11),
        row("acquired", "a", 12, kind="reentrant"),
        row("released", "a", 20),
        row("acquired", "b", 24),
    ]
    assert ns(rows) == [4]


def test_a_lost_hold_starts_no_handoff() -> None:
    rows = [
        row("acquired", "a", 0),
        row("lost", "a", 10),
        row("released", "a", 11),
        row("acquired", "b", 20),
    ]
    assert ns(rows) == []


def test_the_news_may_overtake_the_answer() -> None:
    """b hears that the node is gone before a hears that its delete is done, and so does c."""
    rows = [
        row("acquired", "a", 0),
        row("acquired", "b", 10),
        row("released", "a", 11),
        row("acquired", "c", 20),
        row("released", "b", 22),
    ]
    assert ns(rows) == [-1, -2]


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
