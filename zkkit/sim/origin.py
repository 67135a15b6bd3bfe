"""Origins: how the world of a story is built again.

    origin = Origin(Maker.of(contenders, ReentrantLock, 3), Maker.of(of_a_fair_lock))
    verdict = explore_origin(origin, faults=one("cancel"))
    verdict.story.save("story.json")                # it remembers its origin

An origin names functions and their arguments; a file can hold it. To build a world again is to
import and call what a file names. So `Maker.make` takes only functions of `zkkit.sim`, which touch
nothing outside the model, and those of packages that its caller trusts.
"""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from ..errors import ZkkitError
from .errors import NoWorld
from .properties import Property
from .world import World

_REFERENCE = "reference"  # {"reference": "package.module:Name"} stands for a class or a function


class Maker(NamedTuple):
    """A function that can be imported ("package.module:function"), and its arguments."""

    function: str
    arguments: tuple[Any, ...] = ()
    options: dict[str, Any] | None = None
    """Arguments by name."""

    @classmethod
    def of(cls, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Maker:
        """That function with these arguments: what JSON can hold, and importable classes and
        functions."""
        return cls(
            _name_of(function),
            tuple(map(_written, arguments)),
            {name: _written(each) for name, each in options.items()} or None,
        )

    def make(self, trusted: Collection[str] = ()) -> Any:
        """Make it. Names outside `zkkit` are imported only from the packages in `trusted`."""
        function = _found(self.function, trusted)
        if not _within(_module(self.function), {"zkkit.sim", *trusted}):
            raise _not_asked_for(self.function, "zkkit.sim")
        if not inspect.isfunction(function) or _name_of(function) != self.function:
            raise NoWorld(
                f"{self.function} is no function that builds something",
                hint="write package.module:function, with the module that defines it",
            )
        arguments = [_read(each, trusted) for each in self.arguments]
        options = {name: _read(each, trusted) for name, each in (self.options or {}).items()}
        try:
            return function(*arguments, **options)
        except ZkkitError:
            raise
        except Exception as error:
            raise NoWorld(f"{self} fails: {error!r}", hint="try it in Python") from error

    def modules(self) -> set[str]:
        """All that it names is in these modules."""
        values = (*self.arguments, *(self.options or {}).values())
        return {_module(self.function), *(_module(v[_REFERENCE]) for v in values if _names(v))}

    def __str__(self) -> str:
        said = [_said(each) for each in self.arguments]
        said += [f"{name}={_said(each)}" for name, each in (self.options or {}).items()]
        return f"{self.function}({', '.join(said)})"


class Origin(NamedTuple):
    """How a world is built, which properties are asked about, and what it is about, in words."""

    build: Maker
    ask: Maker
    about: str = ""

    def world(self, trusted: Collection[str] = ()) -> World:
        """The world, built anew."""
        world = self.build.make(trusted)
        if not isinstance(world, World):
            raise NoWorld(f"{self.build} gives {world!r}, which is no world")
        return world

    def properties(self, trusted: Collection[str] = ()) -> tuple[Property, ...]:
        """What is asked about."""
        asked = self.ask.make(trusted)
        if not isinstance(asked, Sequence) or not all(isinstance(p, Property) for p in asked):
            raise NoWorld(f"{self.ask} gives {asked!r}, which are no properties")
        return tuple(asked)

    def modules(self) -> set[str]:
        """All that it names is in these modules."""
        return self.build.modules() | self.ask.modules()


def _module(reference: str) -> str:
    return reference.partition(":")[0]


def _names(value: Any) -> bool:
    """Whether an argument stands for a class or a function."""
    named = isinstance(value, dict) and set(value) == {_REFERENCE}
    return named and isinstance(value[_REFERENCE], str)


def _name_of(thing: Any) -> str:
    module, name = getattr(thing, "__module__", ""), getattr(thing, "__qualname__", "")
    reference = f"{module}:{name}"
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError):
        found = None
    if found is not thing:
        raise NoWorld(
            f"{thing!r} cannot be found again as {reference}",
            hint="use a function or a class on the top level of a module",
        )
    return reference


def _found(reference: str, trusted: Collection[str]) -> Any:
    module, _, name = reference.partition(":")
    if not _within(module, {"zkkit", *trusted}):
        raise _not_asked_for(reference, "zkkit")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise NoWorld(
            f"{reference} cannot be imported: {error}",
            hint="write package.module:function; the directory you are in is searched too",
        ) from error


def _not_asked_for(reference: str, inside: str) -> NoWorld:
    return NoWorld(
        f"{reference} is code outside {inside}: it is not run unasked",
        hint=f"if you trust it, name it: zkkit sim replay --world {reference}",
    )


def _within(module: str, packages: Collection[str]) -> bool:
    return any(module == package or module.startswith(package + ".") for package in packages)


def _written(value: Any) -> Any:
    """An argument as a file can hold it."""
    if inspect.isclass(value) or inspect.isfunction(value):
        return {_REFERENCE: _name_of(value)}
    try:
        if json.loads(json.dumps(value)) == value:
            return value
    except (TypeError, ValueError):
        pass
    raise NoWorld(
        f"{value!r} cannot be kept in a story file",
        hint="give numbers, texts, lists, classes; or a function of your own that builds the rest",
    )


def _read(value: Any, trusted: Collection[str]) -> Any:
    if _names(value):
        return _found(value[_REFERENCE], trusted)
    return value


def _said(value: Any) -> str:
    if _names(value):
        return str(value[_REFERENCE]).rpartition(":")[2]
    return repr(value)
