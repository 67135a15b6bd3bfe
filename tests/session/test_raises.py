"""What the docstrings of public methods say that is raised."""

from __future__ import annotations

import builtins
import re
from typing import Any

import pytest

import zkkit
import zkkit.aio
from zkkit import errors

OPERATIONS = ["create", "get", "set", "exists", "children", "delete", "multi"]
METHODS = [*OPERATIONS, "run", "spawn", "background", "close"]
PUBLIC = [
    zkkit.connect,
    zkkit.aio.connect,
    *(getattr(kind, name) for kind in (zkkit.Session, zkkit.aio.AioSession) for name in METHODS),
]


@pytest.mark.parametrize("public", PUBLIC, ids=lambda public: public.__name__)
def test_raises(public: Any) -> None:
    """Each has a section of what it raises, and the errors it names exist."""
    _, heading, section = public.__doc__.partition("Raises:\n")
    assert heading
    named = re.findall(r"^ +(\w+): ", section, re.MULTILINE)
    assert named
    for name in set(named) - {"Nothing"}:
        assert hasattr(errors, name) or hasattr(builtins, name), name
