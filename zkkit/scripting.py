"""What recipes are made of: the bases `InSession` and `Recipe`, and the `@script` methods.

A recipe belongs to a session and its public methods are scripts. On a blocking session calling
such a method runs the script and gives the result; on an asyncio session it gives a coroutine.
Inside another script the same method is used by `yield from recipe.method.of(...)`.

    class Door(Recipe[S]):
        @script
        def open(self) -> Script[int]: ...
        @timed_script
        def enter(self, timeout: float | None = None) -> Script[str]: ...
        @timed_script(otherwise=False)
        def wait(self, timeout: float | None = None) -> Script[bool]: ...

    door.open()                       # int, on zkkit.connect
    await door.open()                 # int, on zkkit.aio.connect
    yield from door.open.of()         # int, in a script
    door.enter(timeout=2)             # str | None: None after the deadline
    door.wait(timeout=2)              # bool: False after the deadline

The type parameter says which of the two worlds a recipe lives in; nothing else differs.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Generator, Hashable
from contextlib import suppress
from types import GeneratorType
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    NamedTuple,
    ParamSpec,
    TypeVar,
    overload,
)

from . import paths
from .errors import ForkedSession, NotASession, NotAStep, SessionClosed, TimedOut, WrongWith
from .retry import RetryPolicy
from .steps import Script, Step, Within

LONGEST_TIMEOUT = 1_000_000_000
"""Seconds; threads cannot wait for very much longer."""

RAISE: Any = object()
"""What `run_script` is given as `otherwise` if a passed deadline is to raise DeadlineExceeded."""

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
D = TypeVar("D")


class AnySession(ABC):
    """What a recipe may ask of its session outside of scripts."""

    retry: RetryPolicy
    """How often recipes begin again."""
    node_data: bytes
    """What recipes write into their nodes unless told otherwise."""

    @property
    @abstractmethod
    def state(self) -> str:
        """connecting, connected, suspended, lost or closed."""

    @abstractmethod
    def run_script(
        self, body: Script[Any], *, timeout: float | None, owner: InSession[Any], otherwise: Any
    ) -> Any:
        """Run `body`, a script of `owner`'s. After the deadline give `otherwise`, or raise
        DeadlineExceeded if that is RAISE."""

    @abstractmethod
    def begin_script(self, body: Script[Any], *, owner: InSession[Any]) -> None:
        """Run `body`, a script of `owner`'s, in the background: nobody waits for it."""

    @abstractmethod
    def actor(self) -> Hashable:
        """Whoever is calling: the thread, greenlet or task."""

    @abstractmethod
    def is_held(self, session_id: int, path: str, zxid: int) -> bool:
        """Whether a node marked as acquired in that session (0: it outlives sessions) is still
        held: not released, and that session surely not over by our own clock (which latches)."""

    @abstractmethod
    def when_lost(
        self, session_id: int, path: str, zxid: int, callback: Callable[[], object]
    ) -> None:
        """Call back once if that hold is lost before it is released; at once if it already is."""

    @abstractmethod
    def noted(self, key: Hashable) -> Any:
        """What scripts have noted under this key; only for showing it."""


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


def check_session(session: object) -> None:
    """Raise NotASession unless this is one."""
    if not isinstance(session, AnySession):
        if hasattr(session, "__aenter__"):
            way_out = "`async with zkkit.aio.connect(hosts) as session:` opens it"
        else:
            way_out = "`with zkkit.connect(hosts) as session:` opens one"
        raise NotASession(f"{session!r} is no session", hint=way_out)


class InSession(Generic[S]):
    """Base of what lives in a session and has scripts for methods: recipes, and what they give."""

    session: S

    @property
    def recorded_as(self) -> str:
        """What records call it."""
        return type(self).__name__

    @property
    def notes(self) -> dict[Hashable, Any]:
        """What scripts have noted about it: for its session alone, which goes by steps
        (`Remember`, `Recall`)."""
        notes: dict[Hashable, Any] = self.__dict__.setdefault("_notes", {})
        return notes


class Recipe(InSession[S]):
    """Base of all recipes: a session and a validated path.

    Raises NotASession if `session` is none, InvalidPath if `path` is none.
    """

    def __init__(self, session: S, path: str) -> None:
        check_session(session)
        self.session = session
        self.path = paths.validate(path)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.path}>"


class Returnable(InSession[S], ABC):
    """What a recipe gives and wants back: a hold, say. If nobody took it, it is given back. It has
    scripts for methods, too, and records call it by its recipe's name."""

    def __init__(self, recipe: InSession[S], path: str) -> None:
        self.session = recipe.session
        self.path = path
        self._recipe = recipe

    @property
    def recorded_as(self) -> str:
        return self._recipe.recorded_as

    @abstractmethod
    def give_back(self) -> Script[Any]:
        """The script that undoes what made this result."""


class ScriptMethod(Generic[P, R_co]):
    """A script method of one object: call it, or use it in another script by `of`."""

    __slots__ = ("_owner", "_script")

    def __init__(self, script: script[P, R_co], owner: InSession[Any]) -> None:
        self._script = script
        self._owner = owner

    @property
    def session(self) -> AnySession:
        """Which session runs it."""
        session: AnySession = self._owner.session
        return session

    def of(self, *args: P.args, **kwargs: P.kwargs) -> Script[R_co]:
        """The script itself, to be used inside another script."""
        return self._script.begin(self._owner, args, kwargs)

    if not TYPE_CHECKING:  # which of the two below it is, only the type checker needs to know

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return self._script.run(self._owner, args, kwargs)

        __name__ = property(lambda self: self._script.__name__)
        __doc__ = property(lambda self: self._script.__doc__)


class BlockingMethod(ScriptMethod[P, R_co]):
    """A script method of an object in a blocking session: a call gives the result."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...  # type: ignore[empty-body]


class AwaitingMethod(ScriptMethod[P, R_co]):
    """A script method of an object in an asyncio session: a call gives a coroutine."""

    def __call__(  # type: ignore[empty-body]
        self, *args: P.args, **kwargs: P.kwargs
    ) -> Coroutine[Any, Any, R_co]: ...


class script(Generic[P, R_co]):
    """Make a generator method callable in both worlds."""

    def __init__(self, function: Callable[Concatenate[Any, P], Script[R_co]]) -> None:
        self.function = function
        self._otherwise: Any = RAISE
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self.__wrapped__ = function

    @overload
    def __get__(self, owner: None, kind: type[Any]) -> script[P, R_co]: ...
    @overload
    def __get__(self, owner: InSession[Blocking], kind: type[Any]) -> BlockingMethod[P, R_co]: ...
    @overload
    def __get__(self, owner: InSession[Awaiting], kind: type[Any]) -> AwaitingMethod[P, R_co]: ...
    @overload
    def __get__(self, owner: InSession[AnySession], kind: type[Any]) -> ScriptMethod[P, R_co]: ...
    def __get__(self, owner: InSession[Any] | None, kind: type[Any]) -> Any:
        return self if owner is None else ScriptMethod(self, owner)

    def begin(self, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Script[Any]:
        """The script, to be used inside another one."""
        timeout = self._timeout(args, kwargs)
        body = self.function(owner, *args, **kwargs)
        return body if timeout is None else _within(timeout, body, self._otherwise)

    def run(self, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Have the owner's session run the script."""
        timeout = self._timeout(args, kwargs)
        body = self.function(owner, *args, **kwargs)
        return owner.session.run_script(
            body, timeout=timeout, owner=owner, otherwise=self._otherwise
        )

    def _timeout(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> float | None:
        return None


class closing_script(script[P, None]):
    """A script that ends something which ends with its session as well: if that is closed, there is
    nothing left to do. Nor is there in a forked child: what it has is a copy."""

    def run(self, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if isinstance(owner.session, Awaiting):
            return self._run_awaited(owner, args, kwargs)
        with suppress(SessionClosed, ForkedSession):
            super().run(owner, args, kwargs)

    async def _run_awaited(self, *called: Any) -> None:
        with suppress(SessionClosed, ForkedSession):
            await super().run(*called)


class _TimedScript(script[P, R_co]):
    """A script with a deadline for the whole call, after which it gives `otherwise`."""

    def __init__(
        self, function: Callable[Concatenate[Any, P], Script[Any]], otherwise: Any
    ) -> None:
        super().__init__(function)
        parameters = inspect.signature(function).parameters
        if "timeout" not in parameters:
            raise TypeError(
                f"{function.__qualname__} is a timed script but has no parameter `timeout`: add "
                "`timeout: float | None = None`, or make it a plain @script"
            )
        timeout = parameters["timeout"]
        by_name = timeout.kind is inspect.Parameter.KEYWORD_ONLY
        self._position = None if by_name else list(parameters).index("timeout") - 1  # without self
        self._default = None if timeout.default is inspect.Parameter.empty else timeout.default
        self._otherwise = otherwise

    def _timeout(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> float | None:
        if self._position is not None and len(args) > self._position:
            return checked_timeout(args[self._position])
        return checked_timeout(kwargs.get("timeout", self._default))


@overload
def timed_script(function: Callable[Concatenate[Any, P], Script[R]], /) -> script[P, R | None]: ...
@overload
def timed_script(
    *, otherwise: D
) -> Callable[[Callable[Concatenate[Any, P], Script[R]]], script[P, R | D]]: ...
def timed_script(function: Any = None, /, *, otherwise: Any = None) -> Any:
    """A script with a `timeout` parameter: a deadline for the whole call, after which it gives
    None, or what is given as `otherwise`. The runner keeps the deadline (even with frozen servers);
    the generator need not look at it. With a timeout of 0 it gives what it can without waiting."""
    if function is not None:
        return _TimedScript(function, None)
    return lambda function: _TimedScript(function, otherwise)


def checked_timeout(timeout: Any) -> float | None:
    """A deadline as a caller may give it: seconds, or None for never."""
    if timeout is None:
        return None
    number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if not number or not 0 <= timeout <= LONGEST_TIMEOUT:  # nan is not
        raise ValueError(
            f"timeout must be a number of seconds from 0 to {LONGEST_TIMEOUT:,}, or None for no "
            f"deadline, not {timeout!r}"
        )
    return float(timeout)


def as_script(body: Any) -> Script[Any]:
    """`body` as a script, be it a script or a single step; NotAStep if it is neither, or a script
    that has begun already."""
    if isinstance(body, Step):
        return iter(body)
    if isinstance(body, GeneratorType):
        if inspect.getgeneratorstate(body) != inspect.GEN_CREATED:
            raise NotAStep(
                f"{body!r} has begun already: a script runs once",
                hint="call the generator function again: that gives another one",
            )
        return body
    if isinstance(body, Generator):
        return body
    raise NotAStep(
        f"{body!r} is neither a script nor a step",
        hint="a script is the generator that a generator function gives when it is called",
    )


def _within(timeout: float, body: Script[Any], otherwise: Any) -> Script[Any]:
    try:
        return (yield Within(timeout, body))
    except TimedOut:
        return otherwise


def name_of(body: Script[Any]) -> str:
    """Where a script stands, for messages: its name, file and line."""
    code = getattr(body, "gi_code", None)
    frame = getattr(body, "gi_frame", None)
    if code is None:
        return repr(body)
    line = frame.f_lineno if frame is not None else code.co_firstlineno
    return f"{code.co_qualname} ({code.co_filename}:{line})"


def innermost(body: Script[Any]) -> Script[Any]:
    """The script that this one stands in by `yield from`, or itself."""
    inner: Any = getattr(body, "gi_yieldfrom", None)
    while hasattr(inner, "gi_yieldfrom") and inner.gi_code is not Step.__iter__.__code__:
        body, inner = inner, inner.gi_yieldfrom
    return body


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
