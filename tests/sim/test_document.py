"""docs/simulator.md says what is so: its listings print what it shows, its tables are complete."""

from __future__ import annotations

import inspect
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from types import FunctionType
from typing import Any, ForwardRef, TypeVar, get_args

import pytest

from zkkit import cli, sim, steps
from zkkit.sim import FAMILIES, Goal, properties
from zkkit.sim.faults import KINDS
from zkkit.sim.properties import SomebodySays

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "simulator.md").read_text("utf-8")
MODELS = (ROOT / "docs" / "simulator-models.md").read_text("utf-8")
LISTING = re.compile(
    r"^```python\n(?P<code># (?P<name>\w+\.py)\n.*?)^```\n(?:\n```text\n(?P<shown>.*?)^```\n)?",
    re.DOTALL | re.MULTILINE,
)
ARGUMENTS = {"count": 2, "path": "/n"}


# --- listings -------------------------------------------------------------------------------


def listings(text: str) -> dict[str, str]:
    """The listings by the file name in their first line."""
    return {each["name"]: each["code"] for each in LISTING.finditer(text)}


def shown(text: str) -> dict[str, str]:
    """What is shown below each listing; "" where nothing is."""
    return {each["name"]: each["shown"] or "" for each in LISTING.finditer(text)}


def commands(text: str) -> list[str]:
    """The commands of its listings."""
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [line for block in blocks for line in block.splitlines()]


def fits(expected: str, printed: str) -> bool:
    """Whether this was printed; … stands for a number."""
    return bool(re.fullmatch(re.escape(expected).replace("…", r"[\d,.]+"), printed))


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each listing prints, run in the order of the page in a directory that has them all; then
    what the replay of their story prints."""
    directory = tmp_path_factory.mktemp("listings")
    files = listings(TEXT)
    for name, code in files.items():
        (directory / name).write_text(code, encoding="utf-8")

    def run(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, *words], cwd=directory, capture_output=True, encoding="utf-8"
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    said = {name: run(name) for name in files}
    (replay,) = [line for line in commands(TEXT) if " replay " in line]
    said["replay"] = run("-m", *shlex.split(replay, comments=True))
    assert {path.name for path in directory.glob("story.*")} == {
        "story.json", "story.svg", "story.png",
    }  # fmt: skip
    return said


def test_nothing_is_shown_that_is_not_run() -> None:
    """Every listing begins with a file name of its own; all that is shown stands below one."""
    assert len(listings(TEXT)) == TEXT.count("\n```python\n")
    assert sum(map(bool, shown(TEXT).values())) == TEXT.count("\n```text\n")


@pytest.mark.slow  # a process for each listing, with pictures
@pytest.mark.parametrize("name", listings(TEXT))
def test_a_listing_prints_what_is_shown(name: str, printed: dict[str, str]) -> None:
    """Line for line, but for the numbers that depend on the version and on the machine."""
    assert fits(shown(TEXT)[name], printed[name]), printed[name]


@pytest.mark.slow  # needs all listings run
def test_the_story_is_replayed_by_the_command(printed: dict[str, str]) -> None:
    """It comes to the same end in the world that the command names."""
    assert "The same end: B waits for ever" in printed["replay"]


@pytest.mark.parametrize("line", commands(TEXT + MODELS))
def test_a_command_is_understood(line: str) -> None:
    """Its words are a command's, with options that there are."""
    program, *words = shlex.split(line, comments=True)
    assert program == "zkkit"
    cli.parser().parse_args(words)


def test_what_is_not_printed_is_noticed() -> None:
    """A wrong word and a missing line do not fit; another number does."""
    verdict = "holds: … states in … s\nasked: this\n"
    assert fits(verdict, "holds: 1,520 states in 0.10 s\nasked: this\n")
    assert not fits(verdict, "broken: 1,520 states in 0.10 s\nasked: this\n")
    assert not fits(verdict, "holds: 1,520 states in 0.10 s\n")


# --- tables ---------------------------------------------------------------------------------


def table(text: str, head: str) -> list[list[str]]:
    """The cells of the table with this head, row by row."""
    lines = text.splitlines()
    first = lines.index(head) + 2
    last = next(n for n in range(first, len(lines)) if not lines[n].startswith("|"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[first:last]]


def signature(function: Callable[..., Any]) -> str:
    """How it is called, with the values that need not be given; but `fails`, which all families
    have."""
    written = []
    for each in inspect.signature(function).parameters.values():
        star = "*" * (each.kind is each.VAR_POSITIONAL)
        default = "" if each.default is each.empty else f"={_written(each.default)}"
        written += [f"{star}{each.name}{default}"] * (each.name != "fails")
    return f"{function.__name__}({', '.join(written)})"


def _written(value: object) -> str:
    if isinstance(value, FunctionType):
        return value.__name__
    return str(value) if isinstance(value, Enum) else repr(value).replace("'", '"')


def all_steps() -> list[type]:
    """Every step there is, and Check; those of the simulator at the end."""
    abstract = (steps.Step, steps.Request)
    found = [
        each
        for each in vars(steps).values()
        if isinstance(each, type)
        and (issubclass(each, steps.Step) or each is steps.Check)
        and each not in abstract
    ]
    return [*found, sim.Work, sim.Say]


def given(step: type) -> str:
    """What a script is sent, as the table writes it."""
    if not issubclass(step, steps.Step):
        return "-"
    (kind,) = get_args(vars(step)["__orig_bases__"][0])
    if isinstance(kind, TypeVar):
        return {"Together": "a tuple", "Within": "what its body gives"}[step.__name__]
    if isinstance(kind, ForwardRef):
        kind = kind.__forward_arg__
    name = kind.__name__ if isinstance(kind, type) and not get_args(kind) else str(kind)
    name = name.replace("'", "").replace("typing.", "").replace("zkkit.steps.", "")
    name = name.replace("NoneType", "None")
    return "-" if name == "None" else f"`{name}`".replace(" | ", " or ")


def _needed(family: Callable[..., Any]) -> dict[str, Any]:
    parameters = inspect.signature(family).parameters
    return {name: ARGUMENTS[name] for name, p in parameters.items() if p.default is p.empty}


def asked_by(family: Callable[..., Any]) -> tuple[list[str], list[str]]:
    """The names of its properties and of its goals; where they name an argument, that one. What all
    families ask for is left out."""
    needed = _needed(family)
    asked: tuple[list[str], list[str]] = ([], [])
    for each in family(**needed):
        name = each.name
        for argument, value in needed.items():
            name = name.replace(str(value), f"`{argument}`")
        if name != "nobody fails":
            asked[isinstance(each, Goal)].append(name)
    return asked


def told(asks: list[str], of_a_lock: list[str]) -> str:
    """The properties of a family as the table tells them: those of a lock in three words, where it
    has almost all of them."""
    missing = [name for name in of_a_lock if name not in asks]
    if asks == of_a_lock or len(missing) > 2:
        return "; ".join(asks)
    but = f", but not {' and '.join(missing)}" if missing else ""
    return "; ".join([f"as of a lock{but}", *[name for name in asks if name not in of_a_lock]])


STEPS = "| step | gives | what it does |"
FAMILY_HEAD = "| family | asks | goals | what scripts say |"
PROPERTIES = "| about | in `zkkit.sim.properties` |"


def test_the_table_of_steps_is_that_of_the_code() -> None:
    """Every step, in order, with its signature and what it gives."""
    rows = [(how.strip("`"), gives) for how, gives, _ in table(TEXT, STEPS)]
    assert rows == [(signature(step), given(step)) for step in all_steps()]


def test_the_table_of_faults_is_that_of_the_code() -> None:
    """Every kind, in order."""
    assert [kind for kind, _ in table(TEXT, "| fault | what happens |")] == list(KINDS)


def test_the_table_of_families_is_that_of_the_code() -> None:
    """Every family, in order, with its signature, its properties and its goals."""
    rows = table(TEXT, FAMILY_HEAD)
    assert [how.strip("`") for how, *_ in rows] == [*map(signature, FAMILIES.values())]
    of_a_lock, _ = asked_by(FAMILIES["of_a_lock"])
    for family, (_, asks, goals, _) in zip(FAMILIES.values(), rows, strict=True):
        properties, reached = asked_by(family)
        expected = told(properties, of_a_lock), "; ".join(reached)
        assert (asks, goals) == expected, family.__name__


def test_the_words_that_scripts_say_are_those_that_are_heard() -> None:
    """A word in the table is one of the properties' own, and each word that is a goal is there."""
    heard = "".join(inspect.getsource(each) for each in _modules(properties))
    said: dict[str, set[str]] = {}
    rows = table(TEXT, FAMILY_HEAD)
    for name, (*_, text) in zip(FAMILIES, rows, strict=True):
        said[name] = {*re.findall(r'`Say\("(\w+)"', text)}
        assert all(f'"{word}"' in heard for word in said[name]), name
        marks = {*re.findall(r'`Mark\("(\w+)"', text)}
        assert marks <= {*get_args(steps.Word)}, name
        said[name] |= marks
    said["of_a_double_barrier"] |= said["of_a_barrier"]
    for name, family in FAMILIES.items():
        asked = family(**_needed(family))
        goals = {each.word for each in asked if isinstance(each, SomebodySays)}
        assert goals <= said[name], name


def _modules(package: Any) -> list[Any]:
    return [each for each in vars(package).values() if inspect.ismodule(each)]


def test_the_table_of_properties_is_that_of_the_code() -> None:
    """Every property and goal that can be imported, with arguments that it takes."""
    cells = " ".join(names for _, names in table(TEXT, PROPERTIES))
    calls = dict(re.findall(r"`(\w+)\(([^)]*)\)`", cells))
    others = {*FAMILIES, "FAMILIES", "EXPLAINED", "Property", "Goal", "View"}
    assert {*calls} == {*properties.__all__} - others
    for name, arguments in calls.items():
        takes = inspect.signature(getattr(properties, name)).parameters
        given = {each.strip(" *") for each in arguments.split(",")} - {""}
        variable = (inspect.Parameter.VAR_POSITIONAL,)
        needs = {
            word
            for word, each in takes.items()
            if each.default is each.empty and each.kind not in variable
        }
        assert needs <= given <= {*takes}, name
