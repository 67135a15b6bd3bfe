"""Pages whose listings are files: they pass as tests, away from this project."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def listings(page: str) -> dict[str, str]:
    """The listings of a page, by the file name in their first line."""
    text = (DOCS / page).read_text("utf-8")
    found = re.findall(r"^```python\n(# (\w+\.py)\n.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert len(found) == text.count("\n```python\n"), "a listing does not begin with its file name"
    return {name: code for code, name in found}


def written(page: str, directory: Path) -> dict[str, str]:
    """The listings of a page, as files."""
    files = listings(page)
    for name, code in files.items():
        (directory / name).write_text(code)
    return files


def run(directory: Path, *command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=directory, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow  # a process each, with servers of its own
@pytest.mark.timeout(120)
@pytest.mark.parametrize("page", ["testing.md", "write-a-recipe.md"])
def test_the_listings_pass(page: str, tmp_path: Path) -> None:
    files = written(page, tmp_path)
    said = run(tmp_path, "pytest", "-q", "-p", "no:cacheprovider", ".")
    assert f"{sum(code.count('def test_') for code in files.values())} passed" in said


@pytest.mark.timeout(240)
def test_the_barrier_is_short_and_typed(tmp_path: Path) -> None:
    """A newcomer's recipe takes at most 45 lines, and mypy finds nothing in it."""
    files = written("write-a-recipe.md", tmp_path)
    assert len(files["barrier.py"].splitlines()) <= 45
    run(tmp_path, "mypy", "--strict", "--ignore-missing-imports", "barrier.py")


def test_the_line_for_the_readme_fits_its_table() -> None:
    """As many columns as the table of recipes has."""
    (row,) = re.findall(r"^\| `Barrier` .*$", (DOCS / "write-a-recipe.md").read_text("utf-8"), re.M)
    readme = (DOCS.parent / "README.md").read_text("utf-8")
    header = next(line for line in readme.splitlines() if line.startswith("| zkkit | Curator"))
    assert row.count("|") == header.count("|")
