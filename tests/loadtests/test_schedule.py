"""A step's clock starts when its users are there, and not before."""

from __future__ import annotations

from loadtests.schedule import StepEvent, Steps


def test_a_step_waits_for_sessions_not_only_for_users() -> None:
    """All users run but one has no session yet: the step has not begun, however long that takes."""
    steps = Steps([10], 5.0)
    assert steps.tick(0.0, 0, 0).kind is StepEvent.WAITING
    assert steps.tick(20.0, 10, 9).kind is StepEvent.WAITING
    assert steps.tick(21.0, 10, 10).kind is StepEvent.BEGINS
    assert steps.tick(25.9, 10, 10).kind is StepEvent.HELD
    assert steps.tick(26.0, 10, 10).kind is StepEvent.OVER


def test_the_next_step_is_ordered_when_the_first_was_held() -> None:
    """Each step has its full time, counted from when its own users were there."""
    steps = Steps([2, 5], 3.0)
    assert steps.tick(0.0, 2, 2) == (StepEvent.BEGINS, 2)
    assert steps.tick(3.0, 2, 2) == (StepEvent.ENDS, 5)
    assert steps.tick(7.0, 5, 4) == (StepEvent.WAITING, 5)
    assert steps.tick(9.0, 5, 5) == (StepEvent.BEGINS, 5)
    assert steps.tick(11.0, 5, 5) == (StepEvent.HELD, 5)
    assert steps.tick(12.0, 5, 5) == (StepEvent.OVER, 5)


def test_a_smaller_step_waits_until_the_others_have_left() -> None:
    """Going down, users that still run keep the step from beginning."""
    steps = Steps([5, 2], 1.0)
    steps.tick(0.0, 5, 5)
    steps.tick(1.0, 5, 5)
    assert steps.tick(2.0, 4, 4).kind is StepEvent.WAITING
    assert steps.tick(3.0, 2, 2).kind is StepEvent.BEGINS


def test_users_that_never_come_end_the_waiting() -> None:
    """A step whose users do not come is given up when its patience is over."""
    steps = Steps([5], 1.0, patience=10.0)
    steps.tick(0.0, 5, 0)
    assert steps.tick(10.0, 5, 4).kind is StepEvent.WAITING
    assert steps.tick(10.1, 5, 4).kind is StepEvent.HOPELESS


def test_a_step_without_an_end_is_held() -> None:
    """Without a run time (a test started on the web page) the step is held until it is stopped."""
    steps = Steps([3], None)
    steps.tick(0.0, 3, 3)
    assert steps.tick(1e6, 3, 3).kind is StepEvent.HELD
