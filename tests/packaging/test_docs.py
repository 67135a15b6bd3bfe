"""The pages in docs/, and those beside the README: their links lead somewhere, and so do the walks
through the house."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
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
    """The room a file is in, its package; modules of the ground floor are one each."""
    package = file.rpartition("/")[0]
    return file if package == "zkkit" else package


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
    """What the walk sends a reader to is what the lock calls."""
    (files,) = [files for title, files in WALKS.items() if "acquire" in title]
    lock = ROOT / next(file for file in files if file.endswith("/reentrant.py"))
    used = set(re.findall(r"(\w+)", lock.read_text("utf-8").partition("class ")[2]))
    for library in ("zkkit/recipes/shared.py", "zkkit/recipes/line.py"):
        named = {name for file, name in NAMED if file == library}
        assert named and named <= used


ACQUIRE = """
import sys, threading, time
passed = set()

def look(frame, event, argument):
    if watched.is_set() and threading.current_thread().name in ("acquires", "zkkit-loop"):
        passed.add(frame.f_code.co_filename)

watched = threading.Event()
threading.setprofile(look)
import zkkit

def acquire(lock):
    thread = threading.Thread(target=lock.acquire, name="acquires")
    thread.start()
    return thread

with zkkit.connect(sys.argv[1]) as one, zkkit.connect(sys.argv[1]) as other:
    first, second = (zkkit.ReentrantLock(session, "/walk") for session in (one, other))
    with first:
        watched.set()
        waits = acquire(second)
        while len(first.participants()) < 2:
            time.sleep(0.01)
    waits.join()
    watched.clear()
print(*sorted(passed), sep="\\n")
"""


def test_an_acquire_passes_the_files_of_its_walk_and_those_it_passes_over(zk_hosts: str) -> None:
    """In a process of its own: only threads that begin after us can be watched. What kazoo's
    threads do meanwhile is not the acquire's."""
    (walk,) = [files for title, files in WALKS.items() if "acquire" in title]
    told = SECTION.partition("Passed over, ")[2].partition("**")[0]
    over = {f"zkkit/{file}" for file in re.findall(r"`([\w/]+\.py)`", told)}
    command = [sys.executable, "-c", ACQUIRE, zk_hosts]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    files = [Path(file) for file in done.stdout.splitlines()]
    passed = {file.relative_to(ROOT).as_posix() for file in files if ROOT / "zkkit" in file.parents}
    assert [file for file in over if not (ROOT / file).is_file()] == []
    assert len(walk) > 10 and not over & {*walk}
    assert sorted({*walk} - passed) == []
    assert sorted(passed - {*walk} - over) == []


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
