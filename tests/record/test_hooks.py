"""Instruments and hooks: who is called, who is not, and what happens to one that breaks."""

from __future__ import annotations

import asyncio
import logging
import threading
from types import SimpleNamespace

import pytest

from zkkit.hooks import HOOK_NAMES, Event, Hooks, Instrument

EVENT = Event(1, 2, "actor", "Lock", "/lock/a")


class Listener:
    def __init__(self) -> None:
        self.heard: list[Event] = []

    def woke(self, event: Event) -> None:
        self.heard.append(event)


class Broken(Instrument):
    def __init__(self, error: BaseException) -> None:
        self.error = error
        self.calls = 0

    def woke(self, event: Event) -> None:
        self.calls += 1
        raise self.error

    def step(self, event: Event) -> None: ...


def listening(hooks: Hooks) -> set[str]:
    return {name for name in HOOK_NAMES if getattr(hooks, name)}


def test_an_event_is_frozen_and_has_the_fields_in_order() -> None:
    assert Event._fields == (
        "t_ns", "session", "actor", "recipe", "path", "kind", "zxid", "cause", "duration",
    )  # fmt: skip
    with pytest.raises(AttributeError):
        EVENT.path = "/other"  # type: ignore[misc]


def test_the_hooks_are_these_in_this_order() -> None:
    """The order is part of the recording format."""
    assert HOOK_NAMES == (
        "node_created", "node_deleted", "watch_set", "watch_fired", "woke", "acquired", "released",
        "lost", "step", "session_changed", "wakeup_ended", "led", "unled", "entered", "left", "put",
        "taken", "done", "value", "cached",
    )  # fmt: skip


def test_without_instruments_nobody_listens() -> None:
    hooks = Hooks()
    assert listening(hooks) == set()
    for name in HOOK_NAMES:
        hooks.emit(name, EVENT)


def test_any_object_with_some_hooks_will_do() -> None:
    hooks, listener = Hooks(), Listener()
    heard: list[Event] = []
    hooks.add(listener)
    hooks.add(SimpleNamespace(step=heard.append, woke=None))
    assert listening(hooks) == {"woke", "step"}
    hooks.emit("woke", EVENT)
    hooks.emit("step", EVENT)
    assert listener.heard == heard == [EVENT]


def test_methods_inherited_unchanged_do_not_count() -> None:
    hooks = Hooks()
    hooks.add(Broken(ValueError()))
    assert listening(hooks) == {"woke", "step"}
    with pytest.raises(TypeError):
        hooks.add(Instrument())


def test_adding_twice_calls_once_and_removing_is_forgiving() -> None:
    hooks, listener = Hooks(), Listener()
    hooks.add(listener)
    hooks.add(listener)
    hooks.emit("woke", EVENT)
    assert len(listener.heard) == 1
    hooks.remove(listener)
    hooks.remove(listener)
    assert listening(hooks) == set()


def test_equal_instruments_are_still_two() -> None:
    hooks = Hooks()
    heard: list[Event] = []
    first, second = SimpleNamespace(lost=heard.append), SimpleNamespace(lost=heard.append)
    assert first == second
    hooks.add(first)
    hooks.add(second)
    hooks.remove(first)
    hooks.emit("lost", EVENT)
    assert heard == [EVENT]


def test_a_broken_instrument_is_switched_off_and_the_others_still_called(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hooks, before, after = Hooks(), Listener(), Listener()
    broken = Broken(ValueError("no ink"))
    for instrument in (before, broken, after):
        hooks.add(instrument)
    with caplog.at_level(logging.ERROR, "zkkit.hooks"):
        hooks.emit("woke", EVENT)
        hooks.emit("woke", EVENT)
    assert broken.calls == 1
    assert before.heard == after.heard == [EVENT, EVENT]
    assert listening(hooks) == {"woke"}, "the whole instrument goes, its step hook too"
    [line] = caplog.records
    assert line.name == "zkkit.hooks"
    assert "Broken raised in woke" in line.getMessage()
    assert "no ink" in caplog.text, "with the traceback"


@pytest.mark.parametrize("strange", [asyncio.CancelledError, SystemExit, GeneratorExit])
def test_an_instrument_that_raises_no_exception_is_switched_off_too(
    strange: type[BaseException],
) -> None:
    hooks = Hooks()
    hooks.add(Broken(strange()))
    hooks.emit("woke", EVENT)
    assert listening(hooks) == set()


def test_a_ctrl_c_in_the_middle_of_a_hook_passes_through() -> None:
    hooks = Hooks()
    hooks.add(Broken(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        hooks.emit("woke", EVENT)
    assert listening(hooks) == {"woke", "step"}
    elsewhere = threading.Thread(target=hooks.emit, args=("woke", EVENT))
    elsewhere.start()
    elsewhere.join()
    assert listening(hooks) == set(), "on another thread nobody pressed Ctrl-C"


def test_an_instrument_may_leave_while_it_is_called() -> None:
    hooks, listener = Hooks(), Listener()
    leaver = SimpleNamespace()
    leaver.woke = lambda event: hooks.remove(leaver)
    hooks.add(leaver)
    hooks.add(listener)
    hooks.emit("woke", EVENT)
    assert listener.heard == [EVENT]
    assert len(hooks.woke) == 1


def test_a_misspelt_hook_is_pointed_out() -> None:
    with pytest.raises(TypeError, match=r"'node_create' mean 'node_created'.*session_changed"):
        Hooks().add(SimpleNamespace(node_create=print))
    with pytest.raises(TypeError, match="no hook method; the hooks are node_created"):
        Hooks().add(object())


def test_a_class_is_not_an_instrument() -> None:
    with pytest.raises(TypeError, match="Listener is a class"):
        Hooks().add(Listener)


def test_a_hook_that_nobody_would_await_is_refused() -> None:
    class Awaited:
        async def woke(self, event: Event) -> None: ...

    with pytest.raises(TypeError, match=r"woke of .*Awaited is `async def`"):
        Hooks().add(Awaited())


@pytest.mark.concurrent
def test_instruments_come_and_go_from_many_threads() -> None:
    hooks, steady = Hooks(), Listener()
    hooks.add(steady)

    def visit() -> None:
        for _ in range(200):
            visitor = Listener()
            hooks.add(visitor)
            hooks.emit("woke", EVENT)
            hooks.remove(visitor)
            assert visitor.heard

    threads = [threading.Thread(target=visit) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(steady.heard) == 800
    assert len(hooks.woke) == 1
