"""A Ctrl-C during long work."""

from __future__ import annotations

import io
import signal
import sys

import pytest

from zkkit.show.progress import Progress


class StruckInTheEnd:
    """Ctrl-C comes just while it is dropped: Python reports that, and goes on."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


@pytest.fixture
def dropped(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What Python has reported and dropped."""
    found: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda report: found.append(report.exc_type))
    return found


def drop_something() -> None:
    StruckInTheEnd()


def test_a_lost_interrupt_is_noticed(dropped: list[object]) -> None:
    """It strikes in a finaliser; the next unit is not counted, and the old handler is back."""
    drop_something()
    assert dropped == [KeyboardInterrupt]  # lost for good
    out = io.StringIO()
    with pytest.raises(KeyboardInterrupt), Progress(3, "runs", stream=out) as progress:
        progress.done("one")
        drop_something()
        progress.done("two")
    assert out.getvalue() == "1/3 runs: one\n"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_that_is_not_lost() -> None:
    """It ends the block where it strikes."""
    out = io.StringIO()
    with pytest.raises(KeyboardInterrupt), Progress(3, "runs", stream=out) as progress:
        signal.raise_signal(signal.SIGINT)
        progress.done("one")
    assert out.getvalue() == ""


def test_somebody_elses_handler_is_left_alone() -> None:
    """A program that takes care of Ctrl-C itself goes on doing so."""
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        with Progress(1, "runs", stream=io.StringIO()) as progress:
            signal.raise_signal(signal.SIGINT)
            progress.done("one")
        assert heard == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)
