"""environment.yml and pyproject.toml tell conda and pip the same story."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ENVIRONMENT = (ROOT / "environment.yml").read_text(encoding="utf-8")

# conda-forge's name for what PyPI calls otherwise
PYPI_NAME = {"docker-py": "docker"}

# what only conda has to be told; pip finds these in place
CONDA_ONLY = {"python", "pip", "openjdk"}

ENTRY = re.compile(r"^ *- (?P<what>[^#]*?) *(?:# *(?P<comment>.*))?$")
REQUIREMENT = re.compile(r"^(?P<name>[A-Za-z0-9._-]+) *(?P<range>[<>=!~].*)?$")


def entries(text: str) -> list[tuple[str, str]]:
    """Each `- thing  # comment` of the file, as (thing, comment)."""
    matches = (ENTRY.match(line) for line in text.splitlines())
    return [(match["what"], match["comment"] or "") for match in matches if match]


def ranges(requirements: list[str]) -> dict[str, set[str]]:
    """What each package is allowed to be: {"kazoo": {">=2.10", "<2.12"}}."""
    found: dict[str, set[str]] = {}
    for requirement in requirements:
        match = REQUIREMENT.match(requirement)
        assert match, f"cannot read {requirement!r}"
        bounds = set((match["range"] or "").replace(" ", "").split(",")) - {""}
        name = PYPI_NAME.get(match["name"], match["name"]).lower()
        assert found.setdefault(name, bounds) == bounds, f"{name} has two ranges"
    return found


def of_pyproject() -> dict[str, set[str]]:
    """What users install: the dependencies and all extras but `dev` and the sum of the others."""
    extras = PROJECT["optional-dependencies"]
    return ranges(
        PROJECT["dependencies"]
        + [one for name, extra in extras.items() if name not in {"dev", "all"} for one in extra]
    )


def of_environment() -> dict[str, set[str]]:
    below = ENVIRONMENT.split("dependencies:", 1)[1]
    packages = [what for what, _ in entries(below) if not what.startswith("-e") and what != "pip:"]
    return ranges(packages)


def test_conda_gets_what_pip_gets() -> None:
    """Every dependency of zkkit and of its extras is in environment.yml, with the same range."""
    conda = of_environment()
    assert {name: conda.get(name) for name in of_pyproject()} == of_pyproject()


def test_conda_gets_nothing_else() -> None:
    """A line of environment.yml that pyproject.toml does not know is a leftover."""
    assert set(of_environment()) - set(of_pyproject()) == CONDA_ONLY


def test_the_same_python() -> None:
    assert of_environment()["python"] == {PROJECT["requires-python"]}


def test_zkkit_itself_is_installed() -> None:
    assert "-e ." in [what for what, _ in entries(ENVIRONMENT)]


@pytest.mark.parametrize(("what", "comment"), entries(ENVIRONMENT))
def test_every_line_says_what_it_is_for(what: str, comment: str) -> None:
    assert comment, f"{what!r} has no comment"


def test_tools_do_not_widen_or_narrow_a_range() -> None:
    """A package that is in `dev` and in another extra has one range, not two."""
    dev = ranges(PROJECT["optional-dependencies"]["dev"])
    both = dev.keys() & of_pyproject().keys()
    assert both
    assert {name: dev[name] for name in both} == {name: of_pyproject()[name] for name in both}


def test_all_is_the_sum_of_the_others() -> None:
    extras = PROJECT["optional-dependencies"]
    users = ",".join(name for name in extras if name not in {"dev", "all"})
    assert extras["all"] == [f"zkkit[{users}]"]


def test_every_direct_dependency_has_a_tested_version() -> None:
    """constraints.txt pins each of them, and no line of it names a place or a host."""
    lines = [
        line
        for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    ]
    strange = [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+]+", line)]
    assert strange == []
    pinned = {line.split("==")[0].lower().replace("_", "-") for line in lines}
    extras = PROJECT["optional-dependencies"]
    wanted = of_pyproject() | ranges(extras["dev"])
    assert set(wanted) - pinned == set()


def test_the_same_pythons_are_said_to_be_tested_everywhere() -> None:
    """The classifiers and the README name the same ones, and CI looks for each of them."""
    text = "\n".join(PROJECT["classifiers"])
    classified = re.findall(r"^Programming Language :: Python :: (3\.\d+)$", text, re.MULTILINE)
    sentence = re.search(r"\(([^()]*) are tested\)", (ROOT / "README.md").read_text("utf-8"))
    assert sentence and re.findall(r"3\.\d+", sentence[1]) == classified
    tool = (ROOT / "tools" / "pythons.sh").read_text(encoding="utf-8")
    sought = re.search(r"minors=\(([\d ]+)\)", tool)
    assert sought and {f"3.{minor}" for minor in sought[1].split()} >= set(classified)
