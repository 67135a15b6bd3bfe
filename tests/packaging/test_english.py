"""Docstrings are sentences that an outsider understands: they name what they are about."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FRAGMENT = re.compile(r"(Of|By|Told|Counted)\b")
"""What begins so leaves the reader to guess the subject: "Of the semaphores."."""
PREPOSITION = re.compile(
    r"(In|On|At|For|From|To|With|Without|Within|Under|Over|Before|After|Behind|Between|Beside|Above"
    r"|Below|Since|During|Against|Among|Through|As)\b"
)
VERB = re.compile(
    r"\b(can|may|must|will|would|do|did|have|had|are|were|\w+ed|(?!(its|this|less)\b)\w+s)\b|[:,]"
)
"""What may be a verb, or has one after it: "After a lost reply: find out."."""
UNTIL = re.compile(r"(Until (?!when\b)|From when to when )[^:,]*$")
"""A clause that belongs to another one, which is missing: "Until enough have come."."""


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


def has_no_verb(text: str) -> bool:
    """Whether a docstring surely is no sentence: it begins with a preposition, and nothing in it
    can be a verb; or it is nothing but a clause of time."""
    rest = PREPOSITION.match(text)
    return bool((rest and not VERB.search(text, rest.end())) or UNTIL.match(text))


def test_docstrings_have_verbs() -> None:
    assert all(map(has_no_verb, ["For ever.", "In its own time.", "Until enough have come."]))
    assert not any(map(has_no_verb, ["In a word, yes.", "After a reply it ends.", "Untie it."]))
    assert [where for where, text in docstrings() if has_no_verb(text)] == []
