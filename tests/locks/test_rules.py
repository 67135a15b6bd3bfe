"""The rules by themselves: whose turn it is, whom to watch, and in what order, without a server."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kazoo.client import KazooClient

from zkkit.errors import CounterUsedUp
from zkkit.recipes.locks.line import CURATOR, KAZOO, Line, layout_named
from zkkit.recipes.locks.rules import (
    Place,
    Turn,
    ahead_of,
    behind_first,
    behind_last,
    first,
    first_in_line,
    in_order,
)
from zkkit.steps import Delete, Guid, Node, Proved, Stat

KINDS = ("R", "W")
LAST = 2**31 - 1
"""The last number before the server's counter wraps to -2^31."""


def places(kinds: str) -> list[Place]:
    """`places("RRW")`: two readers and a writer, in this order."""
    return [Place(f"{kind}{number}", kind, number) for number, kind in enumerate(kinds)]


queues = st.text("RW", max_size=12)
unhurried = settings(deadline=None)  # a busy machine is no failure


def wrapped(number: int) -> int:
    """As the server counts: signed, 32 bits."""
    return (number + 2**31) % 2**32 - 2**31


def names_from(start: int, count: int) -> list[str]:
    """Names with consecutive numbers, as the server writes them."""
    return [f"x-lock-{wrapped(start + n):010d}" for n in range(count)]


@unhurried
@given(queues)
def test_first_in_line(ahead):
    """Ours with nobody ahead; else behind the one just ahead."""
    turn = first_in_line(places(ahead))
    assert turn == (Turn(False, places(ahead)[-1].name) if ahead else Turn(True))


@unhurried
@given(queues, st.integers(1, 5))
def test_first_k(ahead, count):
    """Ours with fewer than `count` ahead; else behind the one whose leaving makes it so, if those
    further ahead leave later."""
    turn = first(count)(places(ahead))
    assert turn.mine == (len(ahead) < count)
    if not turn.mine:
        assert turn.behind == places(ahead)[len(ahead) - count].name


def test_first_one_is_first_in_line():
    assert first(1)(places("WWW")) == first_in_line(places("WWW"))


@pytest.mark.parametrize("count", [0, -1])
def test_first_of_nobody(count):
    """A rule that lets nobody in is refused."""
    with pytest.raises(ValueError, match="at least one"):
        first(count)


@unhurried
@given(queues)
def test_readers_wait_for_writers_only(ahead):
    """Both reader rules agree whose turn it is; they differ in whom they watch: a writer."""
    last, foremost = behind_last("W")(places(ahead)), behind_first("W")(places(ahead))
    assert last.mine == foremost.mine == ("W" not in ahead)
    if not last.mine:
        assert last.behind == f"W{ahead.rindex('W')}"
        assert foremost.behind == f"W{ahead.index('W')}"


@unhurried
@given(queues)
def test_last_writer_wakes_a_reader_once(ahead):
    """If those ahead leave in order, `behind_last` is woken once, `behind_first` by each writer."""
    queue = places(ahead)

    def wakeups(rule):
        count, left = 0, list(queue)
        while not (turn := rule(left)).mine:
            left = left[[place.name for place in left].index(turn.behind) + 1 :]
            count += 1
        return count

    assert wakeups(behind_last("W")) == ("W" in ahead)
    assert wakeups(behind_first("W")) == ahead.count("W")


@pytest.mark.defect("K-5")
@unhurried
@given(st.integers(-(2**31), LAST), st.integers(1, 20), st.randoms())
def test_order_across_the_wrap(start, count, rng):
    """Wherever the numbers begin, also just before they wrap: those created first come first."""
    names = names_from(start, count)
    shuffled = names[:]
    rng.shuffle(shuffled)
    assert [place.name for place in in_order(shuffled, ("lock-",))] == names
    for index, name in enumerate(names):
        ahead = ahead_of(name, shuffled, ("lock-",))
        assert [place.name for place in ahead] == names[:index]


@pytest.mark.defect("K-5")
def test_the_last_before_the_wrap_is_ahead():
    """K-5 (#606, #730): the node numbered -2^31 comes after the one numbered 2^31 - 1."""
    before, after = names_from(LAST, 2)
    assert after.endswith("lock--2147483648")
    assert [place.name for place in ahead_of(after, [after, before], ("lock-",))] == [before]
    assert ahead_of(before, [after, before], ("lock-",)) == []


@pytest.mark.xfail(
    strict=True, raises=AssertionError, reason="K-5 (#606, #730): kazoo compares numbers as text"
)
def test_the_wrap_in_kazoo():
    """The same asked of kazoo's Lock: who is ahead of the first one after the wrap?"""
    client = KazooClient()  # never started: the children are given to it
    lock = client.Lock("/lock")
    before, after = f"other__lock__{LAST:010d}", f"{lock.prefix}-2147483648"
    client.get_children = lambda path: [after, before]
    assert lock._get_predecessor(after) == before


@pytest.mark.parametrize("name", ["x-lock-", "x-lock-12x", "lock", "x-lock--", "other-0000000001"])
def test_other_children_do_not_count(name):
    """A child without a kind and a number is no contender."""
    mine = "x-lock-0000000002"
    assert ahead_of(mine, [name, mine], ("lock-",)) == []
    assert [place.name for place in in_order([name, mine], ("lock-",))] == [mine]


def test_not_in_line():
    """Who is not among the children has no place: it must begin again."""
    assert ahead_of("x-lock-0000000002", ["x-lock-0000000001"], ("lock-",)) is None
    assert ahead_of("strange", ["strange"], ("lock-",)) is None
    assert in_order([], ("lock-",)) == []


def test_kinds_are_told_apart():
    """Readers and writers of both layouts stand in one line and keep their kind."""
    for layout in (CURATOR, KAZOO):
        read = layout.mark("0-0", layout.read) + "0000000007"
        write = layout.mark("1-1", layout.write) + "0000000003"
        found = in_order([read, write], (layout.read, layout.write))
        assert [(p.name, p.kind, p.number) for p in found] == [
            (write, layout.write, 3),
            (read, layout.read, 7),
        ]


def test_no_such_layout():
    with pytest.raises(ValueError, match="curator, kazoo"):
        layout_named("zookeeper")


# --- numbers that are used up -------------------------------------------------------------------


def enter(number: int) -> tuple[list[Any], Any]:
    """Let a contender enter a line, by hand, and get this number: the steps it takes after that,
    and what comes of it (a node or an error)."""
    line = Line("/line", ("lock-",))
    script = line.enter("lock-", line.by_predecessor(first_in_line, True), data=b"")
    assert isinstance(next(script), Guid)
    script.send("guid")
    name = f"_c_guid-lock-{number:010d}"
    taken: list[Any] = []
    try:
        step = script.send((Node(f"/line/{name}", Stat(*[0] * 11)), (name,)))
        while True:
            taken.append(step)
            step = script.send(None)
    except StopIteration as end:
        return taken, end.value
    except CounterUsedUp as error:
        return taken, error


@pytest.mark.defect("K-5")
@pytest.mark.parametrize("number", [LAST, -(2**31), -1])
def test_a_used_up_counter_is_refused(number):
    """A server without new numbers gives the last one twice: refused, and the node withdrawn."""
    steps, error = enter(number)
    assert [type(step) for step in steps] == [Delete]
    assert isinstance(error, CounterUsedUp) and error.path == "/line"
    assert "another path" in error.hint


@pytest.mark.parametrize("number", [0, LAST - 1])
def test_good_numbers_are_granted(number):
    steps, node = enter(number)
    assert steps == [Proved()] and node.path.endswith(f"{number:010d}")
