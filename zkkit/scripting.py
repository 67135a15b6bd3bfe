"""What recipes are made of: the `Recipe` base class and the `@script` descriptors.

A recipe belongs to a session and its public methods are scripts. On a blocking session calling
such a method runs the script and gives the result; on an asyncio session it gives a coroutine.
Inside another script the same method is used by `yield from Recipe.method.of(recipe, ...)`.

    class Door(Recipe[S]):
        @script
        def open(self) -> Script[bool]: ...

    Door(session, "/door").open()              # bool, on zkkit.connect
    await Door(session, "/door").open()        # bool, on zkkit.aio.connect
    yield from Door.open.of(door)              # in a script

The type parameter says which of the two worlds a recipe lives in; nothing else differs.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Generator, Hashable
from typing import Any, Concatenate, Generic, NamedTuple, ParamSpec, TypeVar, overload

from . import paths
from .errors import NotASession, NotAStep, TimedOut, WrongWith
from .retry import RetryPolicy
from .steps import Script, Step, Within

LONGEST_TIMEOUT = 1_000_000_000
"""Seconds; threads cannot wait for very much longer."""

P = ParamSpec("P")
R = TypeVar("R")


class AnySession(ABC):
    """What a recipe may ask of its session outside of scripts."""

    @abstractmethod
    def run_script(
        self, body: Script[Any], *, timeout: float | None, recipe: Recipe[Any], give_up: bool
    ) -> Any:
        """Run `body`; with `give_up` a passed deadline gives None instead of raising."""

    @abstractmethod
    def actor(self) -> Hashable:
        """Whoever is calling: the thread, greenlet or task."""

    @abstractmethod
    def is_held(self, session_id: int, path: str, zxid: int) -> bool:
        """Whether a node marked as acquired is still held: not released, and its session surely
        not over by our own clock (which latches)."""

    @abstractmethod
    def when_lost(
        self, session_id: int, path: str, zxid: int, callback: Callable[[], object]
    ) -> None:
        """Call back once if that hold is lost before it is released; at once if it already is."""

    @abstractmethod
    def noted(self, key: Hashable) -> Any:
        """What scripts have noted under this key; only for showing it."""

    @property
    @abstractmethod
    def retry(self) -> RetryPolicy:
        """The policy for beginning again."""

    @property
    @abstractmethod
    def node_data(self) -> bytes:
        """What recipes write into their nodes unless told otherwise."""


class Blocking(AnySession):
    """Marks a session whose calls give results."""


class Awaiting(AnySession):
    """Marks a session whose calls give coroutines."""


def not_with(what: object) -> WrongWith:
    """`with` was written where calls give coroutines."""
    return WrongWith(f"{what} is of asyncio: `with` does not await it", hint="write `async with`")


def not_async_with(what: object) -> WrongWith:
    """`async with` was written where calls block."""
    return WrongWith(
        f"{what} is not of asyncio: there is nothing to await",
        hint="write `with`, or open the session with zkkit.aio.connect",
    )


S = TypeVar("S", bound=AnySession, covariant=True)


def check_session(given: object) -> None:
    """Raise NotASession unless this is one."""
    if not isinstance(given, AnySession):
        if hasattr(given, "__aenter__"):
            way_out = "`async with zkkit.aio.connect(hosts) as session:` opens it"
        else:
            way_out = "`with zkkit.connect(hosts) as session:` opens one"
        raise NotASession(f"{given!r} is no session", hint=way_out)


class Recipe(Generic[S]):
    """Base of all recipes: a session and a validated path."""

    def __init__(self, session: S, path: str) -> None:
        check_session(session)
        self.session = session
        self.path = paths.validate(path)

    @property
    def recorded_as(self) -> str:
        """What records call the recipe. (What a recipe gives, a hold say, goes by its name.)"""
        return type(self).__name__

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.path}>"


class Returnable(ABC):
    """A result that must be given back if nobody took it."""

    @abstractmethod
    def give_back(self) -> Script[Any]:
        """The script that undoes what made this result."""


class script(Generic[P, R]):
    """Make a generator method callable in both worlds."""

    def __init__(self, function: Callable[Concatenate[Any, P], Script[R]]) -> None:
        self.function = function
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self.__wrapped__ = function

    def of(self, recipe: Recipe[Any], *args: P.args, **kwargs: P.kwargs) -> Script[R]:
        """The script itself, to be used inside another script."""
        return self.function(recipe, *args, **kwargs)

    @overload
    def __get__(self, recipe: None, owner: type[Any]) -> script[P, R]: ...
    @overload
    def __get__(self, recipe: Recipe[Blocking], owner: type[Any]) -> Callable[P, R]: ...
    @overload
    def __get__(
        self, recipe: Recipe[Awaiting], owner: type[Any]
    ) -> Callable[P, Coroutine[Any, Any, R]]: ...
    def __get__(self, recipe: Recipe[Any] | None, owner: type[Any]) -> Any:
        if recipe is None:
            return self

        def run(*args: P.args, **kwargs: P.kwargs) -> Any:
            return self._start(recipe, *args, **kwargs)

        run.__name__, run.__doc__ = self.__name__, self.__doc__
        return run

    def _start(self, recipe: Recipe[Any], *args: P.args, **kwargs: P.kwargs) -> Any:
        body = self.function(recipe, *args, **kwargs)
        return recipe.session.run_script(body, timeout=None, recipe=recipe, give_up=False)


class timed_script(script[P, R]):
    """A script with a `timeout` parameter: a deadline for the whole call, after which it gives
    None. The runner keeps it (even with frozen servers); the generator need not look at it."""

    def __init__(self, function: Callable[Concatenate[Any, P], Script[R]]) -> None:
        super().__init__(function)
        names = list(inspect.signature(function).parameters)
        self._position = names.index("timeout") - 1  # without self

    def of(self, recipe: Recipe[Any], *args: P.args, **kwargs: P.kwargs) -> Script[R]:
        timeout = self._timeout(args, kwargs)
        body = self.function(recipe, *args, **kwargs)
        return body if timeout is None else _or_none(timeout, body)

    def _start(self, recipe: Recipe[Any], *args: P.args, **kwargs: P.kwargs) -> Any:
        timeout = self._timeout(args, kwargs)
        body = self.function(recipe, *args, **kwargs)
        return recipe.session.run_script(body, timeout=timeout, recipe=recipe, give_up=True)

    def _timeout(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> float | None:
        given = args[self._position] if len(args) > self._position else kwargs.get("timeout")
        return checked_timeout(given)


def checked_timeout(given: Any) -> float | None:
    """A deadline as a caller may give it: seconds, or None for never."""
    if given is None:
        return None
    number = isinstance(given, int | float) and not isinstance(given, bool)
    if not number or not 0 <= given <= LONGEST_TIMEOUT:  # nan is not
        raise ValueError(
            f"timeout must be a number of seconds from 0 to {LONGEST_TIMEOUT:,}, or None for no "
            f"deadline, not {given!r}"
        )
    return float(given)


def as_script(body: Any) -> Script[Any]:
    """`body` as a script, be it a script or a single step; NotAStep if it is neither."""
    if isinstance(body, Step):
        return iter(body)
    if isinstance(body, Generator):
        return body
    raise NotAStep(
        f"{body!r} is neither a script nor a step",
        hint="a script is the generator that a generator function gives when it is called",
    )


def _or_none(timeout: float, body: Script[R]) -> Script[Any]:
    try:
        return (yield Within(timeout, body))
    except TimedOut:
        return None


def name_of(body: Script[Any]) -> str:
    """Where a script stands, for messages: its name, file and line."""
    code = getattr(body, "gi_code", None)
    frame = getattr(body, "gi_frame", None)
    if code is None:
        return repr(body)
    line = frame.f_lineno if frame is not None else code.co_firstlineno
    return f"{code.co_qualname} ({code.co_filename}:{line})"


class BackgroundActor(NamedTuple):
    """Who runs a script in the background of a session: one of its own for every script, whatever
    their names."""

    name: str
    number: int


def actor_name(actor: Hashable) -> str:
    """What to call a thread, greenlet or task in a message or a record."""
    name = getattr(actor, "name", None)
    if name is None:
        get_name = getattr(actor, "get_name", None)
        name = get_name() if get_name else None
    return str(name) if name is not None else str(actor)
