"""Waiting: the answer as soon as it is true, or an error that says what is missing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from zkkit.hooks import Event, Hooks
from zkkit.testing import aio, eventually, throughout, when


def answers(*given: Any) -> Callable[[], Any]:
    """A question that is answered so, and from then on as at last."""
    left = list(given)
    return lambda: left.pop(0) if len(left) > 1 else left[0]


def on_asyncio(question: Callable[[], Any], *seconds: float, **options: Any) -> Any:
    async def asked() -> Any:
        return question()

    return asyncio.run(aio.eventually(asked, *seconds, **options))


def on_asyncio_at_once(question: Callable[[], Any], *seconds: float, **options: Any) -> Any:
    return asyncio.run(aio.eventually(question, *seconds, **options))


each = pytest.mark.parametrize("wait", [eventually, on_asyncio, on_asyncio_at_once])


@each
def test_the_first_true_answer_is_given(wait: Any) -> None:
    assert wait(answers(None, 0, [], "three", "four"), 5.0) == "three"


@each
def test_it_is_asked_once_even_without_patience(wait: Any) -> None:
    assert wait(lambda: "yes", 0.0) == "yes"


@each
def test_when_the_time_is_over(wait: Any) -> None:
    """It raises in time, and says what was answered last."""
    began = time.monotonic()
    with pytest.raises(AssertionError, match=r"^not so within 0\.1 s: \[\]$"):
        wait(list, 0.1)
    assert 0.1 <= time.monotonic() - began < 2.0


@each
def test_what_to_say_instead(wait: Any) -> None:
    """Asked only when it is needed."""
    said: list[str] = []
    assert wait(lambda: True, 1.0, otherwise=lambda: said.append("said"))
    assert said == []
    with pytest.raises(AssertionError, match=r"^not so within 0 s: two are left$"):
        wait(lambda: False, 0.0, otherwise=lambda: "two are left")


@each
def test_an_error_of_the_question_is_an_error(wait: Any) -> None:
    with pytest.raises(ZeroDivisionError):
        wait(lambda: 1 / 0, 5.0)


def test_throughout() -> None:
    """It lasts as long as it is told, and ends with the first answer that is not true."""
    began = time.monotonic()
    throughout(lambda: True, 0.1)
    assert time.monotonic() - began >= 0.1
    with pytest.raises(AssertionError, match=r"^no longer so after 0\.\d\d s: 0$"):
        throughout(answers(1, 1, 0), 5.0)
    with pytest.raises(AssertionError, match="gone"):
        throughout(lambda: False, 5.0, otherwise=lambda: "gone")


def test_events_are_counted_from_now_on() -> None:
    """Over all sessions, each kind by itself; what is missing is said."""
    sessions = [SimpleNamespace(hooks=Hooks()) for _ in range(2)]

    def happens(session: int, name: str) -> None:
        sessions[session].hooks.emit(name, Event(0, 1, "actor", "Recipe"))

    happens(0, "woke")
    both = when(*sessions, woke=2, watch_set=1)
    happens(0, "woke")
    happens(0, "watch_set")
    happens(0, "watch_set")
    with pytest.raises(AssertionError, match=r"missing after 0 s: \{'woke': 1\}"):
        both.wait(0)
    happens(1, "woke")
    assert both.wait(0)


def test_what_cannot_be_counted() -> None:
    """A name that is no hook's would be waited for in vain; nothing at all has happened already."""
    with pytest.raises(ValueError, match=r"no hook is called flubb; hooks are .*woke"):
        when(SimpleNamespace(hooks=Hooks()), woke=1, flubb=1)
    assert when(SimpleNamespace(hooks=Hooks()), woke=0).wait(0)
