"""What recipes are made of, without a session."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from zkkit import ReentrantLock
from zkkit.errors import InvalidPath, NotAStep, TimedOut
from zkkit.scripting import Recipe, actor_name, as_script, name_of, timed_script
from zkkit.sim import World
from zkkit.steps import Create, Get, Guid, Script, Wait, Within


def some_script() -> Script[str]:
    yield from Guid()
    return (yield from Guid())


def test_as_script() -> None:
    """A step becomes a script of one step; a script stays what it is."""
    script = as_script(Get("/a"))
    assert as_script(script) is script
    assert next(script) == Get("/a")


def test_a_script_runs_once() -> None:
    """One that has begun, has ended or was closed would give None, or begin in its middle."""
    begun, ended, closed = some_script(), some_script(), some_script()
    next(begun)
    with pytest.raises(StopIteration):
        next(ended), ended.send("a"), ended.send("b")
    closed.close()
    for used in (begun, ended, closed):
        with pytest.raises(NotAStep, match=r"some_script.* has begun already[^\n]*\n.*again"):
            as_script(used)


def test_a_script_that_is_no_generator_of_python() -> None:
    """Compiled ones (Cython) are scripts as well; of them nobody knows whether they have begun."""

    class Compiled(Generator[Any, Any, None]):
        def send(self, value: Any) -> Any:
            raise StopIteration

        def throw(self, *error: Any) -> Any:
            raise StopIteration

    script: Any = Compiled()
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
    """`recipe.method.of()` is the script itself, to be run by anybody."""
    lock = ReentrantLock(World().connect(), "/a")
    script = lock.acquire.of()
    assert not isinstance(next(script), Create)  # it asks who is calling before it creates


def test_a_method_has_a_name_and_a_docstring() -> None:
    """What `help` shows of it is what was written."""
    lock = ReentrantLock(World().connect(), "/a")
    assert lock.acquire.__name__ == ReentrantLock.acquire.__name__ == "acquire"
    assert lock.acquire.__doc__ == ReentrantLock.acquire.__doc__
    assert "deadline" in (lock.acquire.__doc__ or "")


def test_a_timed_script_without_a_timeout() -> None:
    """Refused where the class is made, by a sentence that says what is missing."""
    with pytest.raises(TypeError, match=r"Door.wait is a timed script .* no parameter `timeout`"):

        class Door(Recipe[Any]):
            @timed_script
            def wait(self, patience: float) -> Script[bool]:
                yield from Guid()
                return True


class Patient(Recipe[Any]):
    """Waits for ever, with a deadline in every way it can be given."""

    @timed_script
    def none(self, timeout: float | None = None) -> Script[str]:
        return (yield from self._wait())

    @timed_script(otherwise=False)
    def false(self, *names: str, timeout: float | None = None) -> Script[bool]:
        return (yield from self._wait())

    @timed_script(otherwise="late")
    def late(self, timeout: float | None = 3.0) -> Script[str]:
        return (yield from self._wait())

    def _wait(self) -> Script[Any]:
        yield from Wait()


@pytest.mark.parametrize(
    ("begin", "seconds", "gives"),
    [
        (lambda it: it.none.of(2.0), 2.0, None),
        (lambda it: it.none.of(timeout=2), 2.0, None),
        (lambda it: it.false.of("a", "b", "c", timeout=1.0), 1.0, False),
        (lambda it: it.late.of(), 3.0, "late"),
        (lambda it: it.late.of(4.0), 4.0, "late"),
    ],
)
def test_what_a_deadline_gives(begin: Any, seconds: float, gives: Any) -> None:
    """None, or what the method says; its own deadline holds where the caller gives none."""
    script = begin(Patient(World().connect(), "/a"))
    step = next(script)
    assert isinstance(step, Within) and step.seconds == seconds
    with pytest.raises(StopIteration) as end:
        script.throw(TimedOut("late"))
    assert end.value.value is gives


def test_no_deadline() -> None:
    """Without one nothing is put around the script."""
    patient = Patient(World().connect(), "/a")
    for script in (patient.none.of(), patient.false.of("a"), patient.late.of(None)):
        assert isinstance(next(script), Wait)


@pytest.mark.parametrize("timeout", [-1, -0.1, "1", float("nan")])
def test_impossible_timeouts(timeout: Any) -> None:
    """A timeout that is no time is refused before anything is begun."""
    lock = ReentrantLock(World().connect(), "/a")
    with pytest.raises(ValueError, match="timeout"):
        lock.acquire.of(timeout=timeout)
    with pytest.raises(ValueError, match="timeout"):
        lock.acquire.of(True, timeout)
