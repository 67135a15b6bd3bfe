"""Docstrings are sentences that an outsider understands: they name what they are about."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FRAGMENT = re.compile(r"(Of|By|Told|Counted)\b")
"""What begins so leaves the reader to guess the subject: "Of the semaphores."."""


def docstrings() -> Iterator[tuple[str, str]]:
    """All of them, those of attributes too, and where they stand."""
    for package in ("zkkit", "loadtests"):
        for file in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                said = node.value if isinstance(node, ast.Expr) else None
                if isinstance(said, ast.Constant) and isinstance(said.value, str):
                    yield f"{file.relative_to(ROOT)}:{node.lineno}", said.value


def test_docstrings_name_their_subject() -> None:
    every = list(docstrings())
    assert len(every) > 1000  # it would say the same if it looked nowhere
    assert [where for where, text in every if FRAGMENT.match(text)] == []
