"""One thing, one name: no public class name exists twice in zkkit, loadtests and tests/support.

A module name may repeat where it plays the same part in sibling packages; a class name may not:
whoever reads it in a traceback or an import must know which thing is meant.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("zkkit", "loadtests", "tests/support")


def public_classes() -> dict[str, list[str]]:
    """Where each public class is defined, also below other classes and in functions."""
    found: dict[str, list[str]] = defaultdict(list)
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found[node.name].append(f"{file.relative_to(ROOT)}:{node.lineno}")
    return found


DOUBLE = {name: where for name, where in public_classes().items() if len(where) > 1}


def test_no_class_name_exists_twice() -> None:
    """Name a class by what it is of: GateRun, not a second Run."""
    assert DOUBLE == {}


def test_the_search_finds_classes() -> None:
    """It would say the same if it looked nowhere."""
    found = public_classes()
    assert len(found) > 100
    assert {"ReentrantLock", "World", "Recorder"} <= found.keys()
