"""Pages whose listings are files: they pass as tests, away from this project."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import zkkit

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


WITHIN = ["elections.md", "barriers.md", "counters.md", "watchers.md", "caches.md"]
"""Pages whose listings are excerpts of a program that has these names, a session and some nodes."""
GIVEN = {
    **vars(zkkit),
    "Set": zkkit.steps.Set,
    "plan": b"north",
    "threading": threading,
    "work": lambda fence: None,
    "zkkit": zkkit,
}
NODES = {"elections.md": ["/app/plan"], "caches.md": ["/shop/stock"]}
TOLD = {
    "elections.md": "",
    "barriers.md": "",
    "counters.md": r"0 1 AtomicStatistics\(.*\n3\n",
    "watchers.md": r"FireKind\.CREATED.*path='/shop'\).*path='/shop/a'.*\(\)",
    "caches.md": r"'created'.*stock",
}
"""What they print, in this order."""


@pytest.mark.parametrize("page", WITHIN)
def test_the_excerpts_run(
    page: str, zk_hosts: str, zk_path: str, zk_connect: Any, witness: Any, capsys: Any, caplog: Any
) -> None:
    """On real servers, below a path of their own; nothing fails, in the background neither."""
    witness.create(zk_path)
    for path in NODES.get(page, []):
        witness.create(zk_path + path, b"", makepath=True)
    session = zk_connect(zk_hosts + zk_path)
    text = (DOCS / page).read_text("utf-8").replace("127.0.0.1:2181", zk_hosts + zk_path)
    excerpts = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert excerpts
    names = {**GIVEN, "session": session}
    for number, code in enumerate(excerpts):
        exec(compile(code, f"{page}[{number}]", "exec"), names)
    session.close()
    said = capsys.readouterr().out
    assert re.search(TOLD[page], said, re.DOTALL), said
    assert not [each for each in caplog.records if each.levelname == "ERROR"]
    if page == "elections.md":
        assert witness.get(f"{zk_path}/app/plan")[0] == b"north"


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
