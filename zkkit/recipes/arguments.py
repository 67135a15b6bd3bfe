"""Arguments that make no sense: refused at the call, by a sentence that says what is wanted.

Otherwise they would end in a wait that never ends, or in an AttributeError somewhere else.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import partial

from ..scripting import Awaiting, ScriptMethod


def check_blocking(value: object) -> None:
    """`acquire(2)` does not mean two seconds."""
    if not isinstance(value, bool):
        raise ValueError(
            f"blocking must be True or False, not {value!r}; a deadline is given as timeout=seconds"
        )


def check_flag(name: str, value: object) -> None:
    """What is on or off."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be True or False, not {value!r}")


def check_count(name: str, value: object, *, other: str = "") -> None:
    """How many of something: at least one. `other`: what else could have been given."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least one{other}, not {value!r}")


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """One of these words."""
    if value not in tuple(choices):
        raise ValueError(f"there is no {name} {value!r}: use one of {', '.join(choices)}")


def check_text(name: str, value: object) -> None:
    """What is to be written into a node as text."""
    if not isinstance(value, str):
        raise ValueError(f"{name} is text, not {value!r}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name} is text that UTF-8 can write, not {value!r}") from None


def checked_data(value: bytes | None, default: bytes) -> bytes:
    """What a recipe is to write into its nodes; None: the default."""
    if value is not None and not isinstance(value, bytes):
        raise ValueError(f"node_data must be bytes, not {value!r}; encode text first")
    return default if value is None else value


def check_callable(name: str, value: object) -> None:
    """What is to be called later."""
    if not callable(value):
        raise ValueError(f"{name} must be something that can be called, not {value!r}")


def check_callback(name: str, value: object) -> None:
    """What is called, and not awaited."""
    check_callable(name, value)
    if is_awaited(value):
        raise ValueError(
            f"{name} must be a plain function (def), not {value!r}: nobody would await it. Let a "
            "plain one start a task (asyncio.create_task)"
        )
    if inspect.isgeneratorfunction(value) or inspect.isasyncgenfunction(value):
        raise ValueError(f"{name} must be a plain function, not {value!r}: nobody would iterate it")


def check_methods(name: str, value: object, *methods: str) -> None:
    """An object of the caller's own, which is to have these methods; its class will not do."""
    found = [getattr(value, each, None) for each in methods]
    if isinstance(value, type) or not all(map(callable, found)):
        wanted = ", ".join(f"{each}()" for each in methods)
        raise ValueError(f"{name} must be an object that has {wanted}, not {value!r}")
    for each, method in zip(methods, found, strict=True):
        if is_awaited(method):
            raise ValueError(
                f"{each}() of {name} must be a plain function (def), not {method!r}: nobody would "
                "await it"
            )


def is_awaited(function: object) -> bool:
    """Whether it gives a coroutine. An object that can be called may do so as well, and so do the
    methods of recipes on asyncio."""
    while isinstance(function, partial):
        function = function.func
    if isinstance(function, ScriptMethod):
        return isinstance(function.session, Awaiting)
    return any(map(inspect.iscoroutinefunction, (function, type(function).__call__)))
