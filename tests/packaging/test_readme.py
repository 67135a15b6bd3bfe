"""The README's code is code: it compiles, and what it imports from zkkit exists."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
LINKS = re.findall(r"\]\((?!https?:|#)([^)#]+)", README)


def imported_names(code: str) -> list[tuple[str, str | None]]:
    """(module, name) for each import from zkkit; the name is None for `import zkkit.x`."""
    found: list[tuple[str, str | None]] = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found += [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [(node.module, alias.name) for alias in node.names]
    return [(module, name) for module, name in found if module.split(".")[0] == "zkkit"]


def used_attributes(code: str) -> list[str]:
    """The dotted names below `zkkit`: `zkkit.aio.connect` for `zkkit.aio.connect(...)`."""
    return sorted(
        {
            ast.unparse(node)
            for node in ast.walk(ast.parse(code))
            if isinstance(node, ast.Attribute) and ast.unparse(node).startswith("zkkit.")
        }
    )


def test_there_is_a_tour() -> None:
    assert BLOCKS


@pytest.mark.parametrize("code", BLOCKS)
def test_code_compiles(code: str) -> None:
    compile(code, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


@pytest.mark.parametrize(("module", "name"), [pair for b in BLOCKS for pair in imported_names(b)])
def test_imports_exist(module: str, name: str | None) -> None:
    loaded = importlib.import_module(module)
    if name is not None and not hasattr(loaded, name):
        importlib.import_module(f"{module}.{name}")


@pytest.mark.parametrize("dotted", sorted({name for b in BLOCKS for name in used_attributes(b)}))
def test_what_is_used_below_zkkit_exists(dotted: str) -> None:
    found: object = importlib.import_module("zkkit")
    module = "zkkit"
    for part in dotted.split(".")[1:]:
        module += f".{part}"
        if not hasattr(found, part):
            importlib.import_module(module)
        found = getattr(found, part)


@pytest.mark.parametrize("target", sorted(set(LINKS)))
def test_links_lead_somewhere(target: str) -> None:
    assert (ROOT / target).exists(), f"README.md points at {target}, which is not there"
