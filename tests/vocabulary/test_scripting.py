"""What recipes are made of, without a session."""

from __future__ import annotations

from typing import Any

import pytest

from zkkit import ReentrantLock
from zkkit.errors import InvalidPath, NotAStep
from zkkit.scripting import Recipe, actor_name, as_script, name_of
from zkkit.sim import World
from zkkit.steps import Create, Get, Guid, Script


def some_script() -> Script[str]:
    yield from Guid()
    return (yield from Guid())


def test_as_script() -> None:
    """A step becomes a script of one step; a script stays what it is."""
    script = as_script(Get("/a"))
    assert next(script) == Get("/a")
    assert as_script(script) is script


@pytest.mark.parametrize("body", [None, 42, "script", [], print, some_script])
def test_what_is_no_script(body: Any) -> None:
    """Anything else is refused, also the function that was not called."""
    with pytest.raises(NotAStep, match="generator"):
        as_script(body)


def test_name_of_says_where_a_script_stands() -> None:
    """Name, file and the line of the yield it stands at."""
    script = some_script()
    first = some_script.__code__.co_firstlineno
    next(script)
    assert name_of(script) == f"some_script ({__file__}:{first + 1})"
    script.send("guid")
    assert name_of(script) == f"some_script ({__file__}:{first + 2})"


def test_actor_name() -> None:
    """A thread has a name, a task gives one, anything else is shown as it is."""

    class Task:
        def get_name(self) -> str:
            return "Task-1"

    class Thread:
        name = "Thread-1"

    assert [actor_name(each) for each in (Task(), Thread(), "me")] == ["Task-1", "Thread-1", "me"]


def test_recipes_check_their_path() -> None:
    """A recipe on an invalid path is refused where it is made, not where it is used."""
    session = World().connect()
    with pytest.raises(InvalidPath):
        ReentrantLock(session, "relative")
    assert repr(Recipe(session, "/a/lock")) == "<Recipe /a/lock>"


def test_of_gives_the_script() -> None:
    """`Recipe.method.of(recipe)` is the script itself, to be run by anybody."""
    lock = ReentrantLock(World().connect(), "/a")
    script = ReentrantLock.acquire.of(lock)
    assert not isinstance(next(script), Create)  # it asks who is calling before it creates


@pytest.mark.parametrize("timeout", [-1, -0.1, "1", float("nan")])
def test_impossible_timeouts(timeout: Any) -> None:
    """A timeout that is no time is refused before anything is begun."""
    lock = ReentrantLock(World().connect(), "/a")
    with pytest.raises(ValueError, match="timeout"):
        ReentrantLock.acquire.of(lock, timeout=timeout)
    with pytest.raises(ValueError, match="timeout"):
        ReentrantLock.acquire.of(lock, True, timeout)
