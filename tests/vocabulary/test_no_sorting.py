"""What errors mean is said by the shared scripts: recipes do not sort them by isinstance, and do
not ask again by hand after a broken connection."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

from zkkit import errors, recipes

RECIPES = Path(recipes.__file__).parent
ERRORS = {
    name
    for name, each in vars(errors).items()
    if inspect.isclass(each) and issubclass(each, errors.ZkkitError)
}
ALLOWED = {
    "shared.py",  # here it is said
    "caches/one_shots.py",  # who follows one node only need not be allowed to read its children
}


def sorting() -> Iterator[str]:
    """The files of recipes that ask by isinstance which error an outcome is."""
    for file in sorted(RECIPES.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
                asked = {each.id for each in ast.walk(node.args[1]) if isinstance(each, ast.Name)}
                if asked & ERRORS:
                    yield file.relative_to(RECIPES).as_posix()


def test_recipes_do_not_sort_errors() -> None:
    assert set(sorting()) == ALLOWED


def asking_again() -> Iterator[str]:
    """The files of recipes in which a loop goes on after a ConnectionLost."""
    for file in sorted(RECIPES.rglob("*.py")):
        tree = ast.parse(file.read_text("utf-8"))
        loops = [each for each in ast.walk(tree) if isinstance(each, ast.While | ast.For)]
        inside = [each for loop in loops for each in ast.walk(loop)]
        caught = [each.type for each in inside if isinstance(each, ast.ExceptHandler) and each.type]
        if any("ConnectionLost" in ast.unparse(each) for each in caught):
            yield file.relative_to(RECIPES).as_posix()


def test_recipes_do_not_ask_again_by_hand() -> None:
    assert set(asking_again()) == {"shared.py"}
