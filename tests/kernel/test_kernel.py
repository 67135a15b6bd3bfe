"""The rules of running scripts, asked directly; and that both engines say what they cannot do."""

from __future__ import annotations

import pytest

from zkkit import kernel
from zkkit.errors import Cancelled, InvalidPath, NoNode, NotAStep, TimedOut, Unsupported
from zkkit.kernel import CANCELLED, RUNS, TIMED_OUT, WatchKey, WatchKind
from zkkit.sim import NO_FAULTS, World, explore
from zkkit.steps import (
    Children,
    Create,
    Exists,
    Fire,
    FireKind,
    Get,
    Multi,
    Now,
    Step,
    Together,
    Watch,
)

CHILD, DATA = WatchKind.CHILD, WatchKind.DATA
PERSISTENT, RECURSIVE = WatchKind.PERSISTENT, WatchKind.RECURSIVE


@pytest.mark.parametrize(
    ("fates", "place", "fate", "after", "throws"),
    [
        ([RUNS], 0, CANCELLED, [CANCELLED], True),
        ([RUNS, RUNS], 0, CANCELLED, [CANCELLED, CANCELLED], True),
        ([RUNS, RUNS, RUNS], 1, TIMED_OUT, [RUNS, TIMED_OUT, CANCELLED], True),
        # What unwinds already is not hit a second time, and its own deadline matters no more.
        ([RUNS, TIMED_OUT], 0, CANCELLED, [CANCELLED, CANCELLED], False),
        ([RUNS, RUNS, TIMED_OUT], 1, TIMED_OUT, [RUNS, TIMED_OUT, CANCELLED], False),
        ([CANCELLED, CANCELLED], 0, CANCELLED, [CANCELLED, CANCELLED], False),
    ],
)
def test_interrupts(fates, place, fate, after, throws):
    """A frame and all above it unwind; `Cancelled` is thrown unless those above do already."""
    assert kernel.interrupt(fates, place, fate) == (after, throws)


def test_what_comes_out_of_a_frame():
    """Of a deadline TimedOut, of a cancel nothing but an error; else what came."""
    failed, cancelled = NoNode("/x"), Cancelled()
    assert kernel.after_frame(RUNS, 0.0, True, 7, None) == (7, None)
    assert kernel.after_frame(TIMED_OUT, 1.0, True, 7, None) == (7, None)  # just in time
    assert kernel.after_frame(TIMED_OUT, 1.0, True, None, failed) == (None, failed)
    _, error = kernel.after_frame(TIMED_OUT, 1.5, True, None, cancelled)
    assert isinstance(error, TimedOut) and "within 1.5 s" in str(error)
    assert kernel.after_frame(CANCELLED, 0.0, True, None, cancelled) == (None, cancelled)
    value, error = kernel.after_frame(CANCELLED, 0.0, True, 7, None)
    assert value is None and isinstance(error, Cancelled)  # it swallowed its cancel
    assert kernel.after_frame(CANCELLED, 0.0, False, 7, None) == (7, None)  # the outermost


def test_what_a_flight_gives():
    """One outcome as it is; of several the first error, or with settle all as they are."""
    failed, worse = NoNode("/x"), NoNode("/y")
    pair = (Exists("/x"), Exists("/y"))
    assert kernel.flight_result(pair[0], [1]) == (1, None)
    assert kernel.flight_result(pair[0], [failed]) == (None, failed)
    assert kernel.flight_result(Together(*pair), [1, 2]) == ((1, 2), None)
    assert kernel.flight_result(Together(*pair), [1, failed]) == (None, failed)
    assert kernel.flight_result(Together(*pair), [failed, worse]) == (None, failed)
    settled = Together(*pair, settle=True)
    assert kernel.flight_result(settled, [failed, 2]) == ((failed, 2), None)


def test_what_goes_to_the_server():
    """The requests of a step, if they make sense."""
    one, two = Exists("/x"), Create("/y")

    def requests(step):
        return kernel.requests_of(step, lambda: "here")

    assert requests(one) == (one,) and requests(Together(one, two)) == (one, two)
    assert requests(Now()) == () == requests(Together())
    with pytest.raises(NotAStep, match="42, which is no step: here"):
        requests(42)
    with pytest.raises(NotAStep, match=r"only requests can fly together, not Now\(\): here"):
        requests(Together(one, Now()))
    for wrong in (Exists("x"), Multi(Create("x"))):
        with pytest.raises(InvalidPath):
            requests(wrong)


@pytest.mark.parametrize(
    ("step", "key"),
    [
        (Get("/x", watch=True), (DATA, "/x")),
        (Exists("/x", watch=True), (DATA, "/x")),
        (Children("/x", watch=True), (CHILD, "/x")),
        (Watch("/x"), (PERSISTENT, "/x")),
        (Watch("/x", recursive=True), (RECURSIVE, "/x")),
        (Get("/x"), None),
        (Create("/x"), None),
    ],
)
def test_which_watch_a_request_sets(step, key):
    """By its kind, or none."""
    assert kernel.watch_of(step) == key


@pytest.mark.parametrize(
    ("kind", "standing", "asked"),
    [
        (DATA, None, DATA),
        (DATA, PERSISTENT, None),
        (CHILD, RECURSIVE, None),
        (PERSISTENT, None, PERSISTENT),
        (PERSISTENT, RECURSIVE, RECURSIVE),
        (RECURSIVE, PERSISTENT, RECURSIVE),
    ],
)
def test_a_persistent_watch_stands_for_others(kind, standing, asked):
    """Where one is, nobody asks for a one-shot watch, nor for a weaker one."""
    expected = None if asked is None else WatchKey(asked, "/x")
    assert kernel.watch_to_ask(WatchKey(kind, "/x"), standing) == expected


def test_who_hears_of_what():
    """One-shot watches by their kind, a persistent one of its node, recursive ones from above."""
    above = [(RECURSIVE, "/a/b"), (RECURSIVE, "/a"), (RECURSIVE, "/")]
    common = [(PERSISTENT, "/a/b"), *above]
    assert [*kernel.hearers(FireKind.CREATED, "/a/b")] == [(DATA, "/a/b"), *common]
    assert [*kernel.hearers(FireKind.CHANGED, "/a/b")] == [(DATA, "/a/b"), *common]
    gone = [(DATA, "/a/b"), (CHILD, "/a/b"), *common]
    assert [*kernel.hearers(FireKind.DELETED, "/a/b")] == gone
    children = [(CHILD, "/a/b"), (PERSISTENT, "/a/b")]
    assert [*kernel.hearers(FireKind.CHILD, "/a/b")] == children
    assert (RECURSIVE, "/") in kernel.hearers(FireKind.CHANGED, "/")


def test_what_stands_for_an_event_of_children():
    """A node that comes or goes, told to the users of its parent."""
    assert kernel.child_event(FireKind.CREATED, "/a/b") == Fire(FireKind.CHILD, "/a")
    assert kernel.child_event(FireKind.DELETED, "/a") == Fire(FireKind.CHILD, "/")
    assert kernel.child_event(FireKind.CHANGED, "/a/b") is None
    assert kernel.child_event(FireKind.CREATED, "/") is None


class Unheard(Step[None]):
    """A step that no engine knows."""

    def __repr__(self):
        return "Unheard()"


def test_a_step_without_a_handler_is_an_error():
    """Not passed over in silence: it names the step and the line."""
    world = World()

    def script():
        yield Unheard()

    world.actor("A", world.connect(), script)
    with pytest.raises(Unsupported, match=r"no handler here for the step Unheard\(\): .*script"):
        explore(world, [], faults=NO_FAULTS)
