"""What the tests of two families use is in tests/support, where a third one finds it."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).parents[1]


def borrowed() -> list[str]:
    """The imports of one family's test files by another family."""
    found = []
    for file in sorted(TESTS.glob("*/**/*.py")):
        own = file.relative_to(TESTS).parts[0]
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests."):
                family = (node.module or "").split(".")[1]
                if family not in (own, "support"):
                    found.append(f"{file.relative_to(TESTS)}: {node.module}")
    return found


def test_no_family_borrows_from_another() -> None:
    assert borrowed() == []
