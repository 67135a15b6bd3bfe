"""Steps are values: frozen, comparable, iterable."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable
from typing import Any

import pytest

from zkkit.steps import (
    OPEN_ACL,
    Acl,
    Actor,
    Call,
    Check,
    Children,
    Create,
    Delete,
    Exists,
    Get,
    Guid,
    Heard,
    Mark,
    Mode,
    Multi,
    Now,
    Post,
    Posted,
    Random,
    Recall,
    Remember,
    Request,
    SessionId,
    Set,
    Spawn,
    Spawned,
    Step,
    Stop,
    Sync,
    Together,
    Wait,
    Watch,
    Within,
)

REQUESTS: list[Request[Any]] = [
    Create("/a", b"x", Mode.EPHEMERAL, OPEN_ACL),
    Delete("/a", 3),
    Get("/a", watch=True),
    Set("/a", b"x", 3),
    Exists("/a"),
    Children("/a"),
    Sync("/a"),
    Multi((Create("/a"), Check("/b", 1))),
    Watch("/a", recursive=True),
]
STEPS: list[Step[Any]] = [
    *REQUESTS,
    Together(Get("/a"), Children("/a")),
    Wait(),
    Heard(),
    Within(1.0, Wait()),
    Spawn(iter(Wait())),
    Stop(Spawned(1)),
    Call(print, 1),
    Guid(),
    Now(),
    Random(),
    SessionId(),
    Actor(),
    Remember("key", 1),
    Recall("key"),
    Post("/a", "x"),
    Posted("/a"),
    Mark("acquired", "/a", 1),
]
VALUES = [step for step in STEPS if not isinstance(step, Within | Spawn | Call)]


def name(step: object) -> str:
    return type(step).__name__


def fields(step: Step[Any]) -> list[str]:
    if dataclasses.is_dataclass(step):
        return [field.name for field in dataclasses.fields(step)]
    return list(type(step).__slots__)


SENSELESS: list[tuple[str, Any]] = [
    ("mode must be", lambda: Create("/a", b"", "ephemeral")),  # type: ignore[arg-type]
    ("mode must be", lambda: Create("/a", b"", 1)),  # type: ignore[arg-type]
    ("number of seconds", lambda: Within("2", Wait())),  # type: ignore[arg-type]
    ("a transaction takes .* not 'x'", lambda: Multi(("x",))),  # type: ignore[arg-type]
    ("a transaction takes .* not Get", lambda: Multi((Get("/a"),))),  # type: ignore[arg-type]
    (r"one by one, not \[Check", lambda: Multi(([Check("/a")],))),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("why", "make"), SENSELESS)
def test_steps_that_make_no_sense(why: str, make: Any) -> None:
    """A sentence says what is wrong where the step is made."""
    with pytest.raises(ValueError, match=why):
        make()


@pytest.mark.parametrize("step", [step for step in STEPS if fields(step)], ids=name)
def test_steps_are_frozen(step: Step[Any]) -> None:
    """No field of a step can be changed: it may be a key in somebody's table."""
    for field in fields(step):
        with pytest.raises(AttributeError):
            setattr(step, field, getattr(step, field))


@pytest.mark.parametrize("step", VALUES, ids=name)
def test_steps_compare_by_value(step: Step[Any]) -> None:
    """A step made again from the same fields is equal, hashes alike, and differs from others."""
    if isinstance(step, Together):
        again: Step[Any] = Together(*step.requests, settle=step.settle)
    else:
        again = dataclasses.replace(step)  # type: ignore[type-var]
    assert again is not step
    assert again == step
    assert hash(again) == hash(step)
    assert sum(step == other for other in STEPS) == 1


@pytest.mark.parametrize("step", STEPS, ids=name)
def test_steps_are_iterable(step: Step[Any]) -> None:
    """Iterating yields the step itself, once, and returns what is sent."""
    script = iter(step)
    assert next(script) is step
    with pytest.raises(StopIteration) as end:
        script.send("result")
    assert end.value.value == "result"


@pytest.mark.parametrize("step", STEPS, ids=name)
def test_steps_pass_errors_on(step: Step[Any]) -> None:
    """What is thrown at a step comes out of its `yield from`."""
    script = iter(step)
    next(script)
    with pytest.raises(ZeroDivisionError):
        script.throw(ZeroDivisionError())


def test_together_equality() -> None:
    """Equal are flights with the same requests in the same order, settled or not alike."""
    flight = Together(Get("/a"), Get("/b"))
    assert flight == Together(Get("/a"), Get("/b"))
    assert flight != Together(Get("/b"), Get("/a"))
    assert flight != Together(Get("/a"), Get("/b"), settle=True)
    assert flight != (Get("/a"), Get("/b"))
    assert len({flight, Together(Get("/a"), Get("/b"))}) == 1


def test_together_shows_what_is_in_it() -> None:
    """The repr is readable in a story of steps."""
    assert repr(Together(Get("/a"), settle=True)) == (
        "Together(Get(path='/a', watch=False), settle=True)"
    )


@pytest.mark.parametrize("mode", list(Mode))
def test_ttl_goes_with_ttl_modes_only(mode: Mode) -> None:
    """A TTL mode without a TTL, or a TTL with another mode, is refused where it is written."""
    wrong = None if mode.has_ttl else 1000
    right = 1000 if mode.has_ttl else None
    assert Create("/a", mode=mode, ttl_ms=right).ttl_ms == right
    with pytest.raises(ValueError, match=r"/a.*ttl_ms"):
        Create("/a", mode=mode, ttl_ms=wrong)


def test_multi_speaks_of_its_first_path() -> None:
    """Errors and records need one path; an empty multi has none."""
    assert Multi((Set("/a", b""), Delete("/b"))).path == "/a"
    assert Multi(()).path == ""


def test_open_acl_is_open() -> None:
    """Everybody may do everything."""
    assert OPEN_ACL == (Acl(31, "world", "anyone"),)


def test_hashable_steps_are_hashable() -> None:
    """Steps serve as keys, as long as what is in them does."""
    assert all(isinstance(step, Hashable) for step in STEPS)
