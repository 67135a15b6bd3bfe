"""Whoever calls a public method learns from its docstring what it raises.

The search sees what a method raises in its own lines, by the name of a class. What comes out of the
methods that it calls is for its author to know and to say.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

from zkkit.errors import ZkkitError

PACKAGES = ("zkkit", "zkkit.aio", "zkkit.sim", "zkkit.ensemble", "zkkit.record", "zkkit.testing")
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef
KINDS = (ZkkitError, ValueError, TypeError, AssertionError)


def exported() -> set[Any]:
    """The functions and classes that users import, and what of ours these classes derive from."""
    modules = [importlib.import_module(name) for name in PACKAGES]
    things = [getattr(module, name) for module in modules for name in module.__all__]
    functions = {each for each in things if inspect.isfunction(each)}
    classes = {base for each in things if inspect.isclass(each) for base in each.__mro__}
    return {each for each in functions | classes if each.__module__.startswith("zkkit")}


def errors_of(function: ast.AST, known: dict[str, Any]) -> Iterator[type]:
    """The errors that it raises by the name of their class, but for those that it may catch."""
    tries = [each for each in ast.walk(function) if isinstance(each, ast.Try) and each.handlers]
    tried = {node for each in tries for line in each.body for node in ast.walk(line)}
    for node in {*ast.walk(function)} - tried:
        said = node.exc if isinstance(node, ast.Raise) else None
        said = said.func if isinstance(said, ast.Call) else said
        error = known.get(said.id) if isinstance(said, ast.Name) else None
        if isinstance(error, type) and issubclass(error, KINDS):
            yield error


def raised() -> Iterator[tuple[str, tuple[type, str]]]:
    """By method and error: the error, and what the docstrings of the method and its class say."""
    for thing in exported():
        (tree,) = ast.parse(inspect.getsource(thing)).body
        known = {**vars(builtins), **vars(importlib.import_module(thing.__module__))}
        for each in tree.body if isinstance(tree, ast.ClassDef) else [tree]:
            if isinstance(each, FUNCTION) and not re.match("_[^_]", each.name):
                where = f"{thing.__module__}:{thing.__name__}"
                name = where if each is tree else f"{where}.{each.name}"
                told = f"{ast.get_docstring(each)} {thing.__doc__}"
                for error in errors_of(each, known):
                    yield f"{name} {error.__name__}", (error, told)


RAISED = dict(raised())


@pytest.mark.parametrize("name", sorted(RAISED))
def test_a_public_method_says_what_it_raises(name: str) -> None:
    """By the name of the error, or of a class that the error is of."""
    error, told = RAISED[name]
    names = {each.__name__ for each in error.__mro__} - {"Exception", "BaseException", "object"}
    assert names & {*re.findall(r"\w+", told)}, f"no docstring says so: {name}"


def test_the_search_finds_what_is_raised() -> None:
    """It would say the same if it looked nowhere."""
    found = {name.partition(":")[2] for name in RAISED}
    assert {"Recorder.count TypeError", "tap ZkkitError", "World.actor ValueError"} <= found
    assert "Story.load ValueError" not in found  # it catches that itself
