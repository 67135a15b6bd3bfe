"""Whoever calls a public method learns from its docstring what it raises.

The search sees what a method raises in its own lines, by the name of a class, and what the checks
raise that it calls there (`check_flag(...)`, `self._check_running()`). What comes out of whatever
else it calls is for its author to know and to say; that a script method says something is tested.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from zkkit import recipes
from zkkit.errors import ZkkitError

PACKAGES = ("zkkit", "zkkit.aio", "zkkit.sim", "zkkit.ensemble", "zkkit.record", "zkkit.testing")
RECIPES = Path(recipes.__file__).parent
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef
KINDS = (ZkkitError, ValueError, TypeError, AssertionError)


def exported() -> set[Any]:
    """The functions and classes that users import, and what of ours these classes derive from."""
    modules = [importlib.import_module(name) for name in PACKAGES]
    things = [getattr(module, name) for module in modules for name in module.__all__]
    functions = {each for each in things if inspect.isfunction(each)}
    classes = {base for each in things if inspect.isclass(each) for base in each.__mro__}
    return {each for each in functions | classes if each.__module__.startswith("zkkit")}


CHECK = re.compile("_?check(ed)?_")
Where = tuple[ast.AST, dict[str, Any], Any]
"""A function, what the names in it mean, and the class whose method it is."""


def source_of(function: Any, thing: Any) -> Where:
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    return tree, names_in(function.__module__), thing


def names_in(module: str) -> dict[str, Any]:
    return {**vars(builtins), **vars(importlib.import_module(module))}


def checked(node: ast.AST, known: dict[str, Any], thing: Any) -> Where | None:
    """The check that this calls, if it calls one: a function, or a method of the same object."""
    called = node.func if isinstance(node, ast.Call) else None
    if isinstance(called, ast.Name) and CHECK.match(called.id):
        return source_of(known[called.id], thing)
    if isinstance(called, ast.Attribute) and re.match(
        rf"self\.{CHECK.pattern}", ast.unparse(called)
    ):
        return source_of(inspect.unwrap(getattr(thing, called.attr)), thing)
    return None


def errors_of(function: ast.AST, known: dict[str, Any], thing: Any) -> Iterator[type]:
    """The errors that it raises by the name of their class, but for those that it may catch."""
    tries = [each for each in ast.walk(function) if isinstance(each, ast.Try) and each.handlers]
    tried = {node for each in tries for line in each.body for node in ast.walk(line)}
    for node in {*ast.walk(function)} - tried:
        check = checked(node, known, thing)
        if check is not None:
            yield from errors_of(*check)
        said = node.exc if isinstance(node, ast.Raise) else None
        said = said.func if isinstance(said, ast.Call) else said
        error = known.get(said.id) if isinstance(said, ast.Name) else None
        if isinstance(error, type) and issubclass(error, KINDS):
            yield error


NAMED = {each.__name__: each for each in exported()}


def told_by(doc: str | None, thing: Any) -> str:
    """A docstring, and those that it sends its reader to: "Raises as `Ensemble.kill`"."""
    told = doc or ""
    for name in re.findall(r"\b[Rr]aises\s+as\s+`([\w.]+)`", told):
        *owner, last = name.split(".")
        of = NAMED[owner[0]] if owner else thing
        told += told_by((getattr(of, last, None) or NAMED[last]).__doc__, of)
    return told


def raised() -> Iterator[tuple[str, tuple[type, str]]]:
    """By method and error: the error, and what the docstrings of the method and its class say."""
    for thing in exported():
        (tree,) = ast.parse(inspect.getsource(thing)).body
        known = names_in(thing.__module__)
        for each in tree.body if isinstance(tree, ast.ClassDef) else [tree]:
            if isinstance(each, FUNCTION) and not re.match("_[^_]", each.name):
                where = f"{thing.__module__}:{thing.__name__}"
                name = where if each is tree else f"{where}.{each.name}"
                told = f"{told_by(ast.get_docstring(each), thing)} {thing.__doc__}"
                for error in errors_of(each, known, thing):
                    yield f"{name} {error.__name__}", (error, told)


RAISED = dict(raised())


@pytest.mark.parametrize("name", sorted(RAISED))
def test_a_public_method_says_what_it_raises(name: str) -> None:
    """By the name of the error, or of a class that the error is of."""
    error, told = RAISED[name]
    names = {each.__name__ for each in error.__mro__} - {"Exception", "BaseException", "object"}
    assert names & {*re.findall(r"\w+", told)}, f"no docstring says so: {name}"


def is_script(function: FUNCTION) -> bool:
    return any(re.match("(timed_)?script", ast.unparse(each)) for each in function.decorator_list)


def script_methods() -> Iterator[tuple[str, str]]:
    """Each public script method of recipes, and its docstring."""
    for file in sorted(RECIPES.rglob("*.py")):
        for thing in ast.walk(ast.parse(file.read_text("utf-8"))):
            for each in thing.body if isinstance(thing, ast.ClassDef) else []:
                if isinstance(each, ast.FunctionDef) and is_script(each):
                    yield f"{thing.name}.{each.name}", ast.get_docstring(each) or ""


SCRIPTS = dict(script_methods())


SCRIPTS.pop("_Request.send")  # for `revoke`, which is no method


@pytest.mark.parametrize("name", sorted(name for name in SCRIPTS if "._" not in name))
def test_a_script_method_says_what_it_raises(name: str) -> None:
    assert re.search(r"\b[Rr]aises\b", SCRIPTS[name]), f"its docstring does not say so: {name}"


def test_the_search_finds_what_is_raised() -> None:
    """It would say the same if it looked nowhere."""
    found = {name.partition(":")[2] for name in RAISED}
    assert {"Recorder.count TypeError", "tap ZkkitError", "World.actor ValueError"} <= found
    assert {"ReentrantLock.__init__ ValueError", "Tenure.on_lost ValueError"} <= found  # by checks
    assert "Story.load ValueError" not in found  # it catches that itself
    assert {"OwnedLock.acquire", "Tenure.check", "DoubleBarrier.leave"} <= SCRIPTS.keys()
