"""The pages in docs/, and those beside the README: their links lead somewhere, and so do the walks
through the house."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("docs/*.md")), ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]
LINKS = [
    (page, target)
    for page in PAGES
    for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", page.read_text("utf-8"))
]


@pytest.mark.parametrize(("page", "target"), LINKS, ids=lambda each: getattr(each, "name", each))
def test_links_lead_somewhere(page: Path, target: str) -> None:
    assert (page.parent / target).exists(), f"{page.name} points at {target}, which is not there"


SECTION = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## Four walks")[2]
WALKS = {
    title: re.findall(r"^    (zkkit/\S+\.py) ", text, re.MULTILINE)
    for title, text in re.findall(
        r"^\*\*([^*]+)\*\*(.+?)(?=^\*\*|^## )", SECTION, re.MULTILINE | re.DOTALL
    )
}


def room(file: str) -> str:
    """The room a file is in; modules of the ground floor are one each."""
    return file.split("/")[1]


def test_the_four_walks_are_found() -> None:
    assert len(WALKS) == 4
    assert all(len(files) > 5 for files in WALKS.values())


@pytest.mark.parametrize("title", WALKS)
def test_a_walk_passes_files_that_are_there_and_enters_no_room_twice(title: str) -> None:
    files = WALKS[title]
    assert [file for file in files if not (ROOT / file).is_file()] == []
    assert len(set(files)) == len(files)
    rooms = [room(file) for file in files]
    entered = [now for before, now in zip(["", *rooms], rooms, strict=False) if now != before]
    assert len(set(entered)) == len(entered), entered


def names_in(file: str) -> set[str]:
    """The functions, classes and methods that a file defines; a method also with its class."""
    found = set()
    for node in ast.walk(ast.parse((ROOT / file).read_text("utf-8"))):
        if isinstance(node, ast.ClassDef):
            methods = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
            found |= {node.name, *methods, *(f"{node.name}.{name}" for name in methods)}
        elif isinstance(node, ast.FunctionDef):
            found.add(node.name)
    return found


# "fly: a flight of requests; replied: its outcomes" names two.
NAMED = [
    (file, name)
    for file, text in re.findall(r"^    (zkkit/\S+\.py) +(.*)$", SECTION, re.MULTILINE)
    for names in re.findall(r"(?:^|; )([\w.]+(?:, [\w.]+)*): ", text)
    for name in names.split(", ")
]


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_what_a_walk_names_is_in_its_file(file: str, name: str) -> None:
    assert name in names_in(file)


def test_the_walks_name_something() -> None:
    assert {("zkkit/session/runner.py", "replied"), ("zkkit/sim/world.py", "World.actor")} <= {
        *NAMED
    }


def test_an_acquire_uses_what_its_walk_names() -> None:
    """The shared scripts that the walk sends a reader to are those that the lock calls."""
    (files,) = [files for title, files in WALKS.items() if "acquire" in title]
    lock = ROOT / next(file for file in files if file.endswith("/reentrant.py"))
    used = set(re.findall(r"yield from (\w+)\(", lock.read_text("utf-8")))
    named = {name for file, name in NAMED if file == "zkkit/recipes/shared.py"}
    assert named and named <= used


def test_walks_are_short() -> None:
    """An acquire takes at most 12 files, `zkkit compare` at most 15."""
    most = {"acquire": 12, "zkkit compare": 15}
    for word, limit in most.items():
        (files,) = [files for title, files in WALKS.items() if word in title]
        assert len(files) <= limit


def test_what_the_scripts_name_is_there() -> None:
    """A test file that was renamed is renamed in tools/ and .ci/run as well."""
    scripts = [*ROOT.glob("tools/*.sh"), ROOT / ".ci" / "run", ROOT / "Makefile"]
    named = {
        path
        for script in scripts
        for path in re.findall(r"\b(?:tests|zkkit|loadtests)/[\w/]+(?:\.\w+)?", script.read_text())
    }
    made = {"zkkit/ensemble/docker_files/"}  # in the wheel only
    assert named
    assert sorted(path for path in named - made if not (ROOT / path).exists()) == []
