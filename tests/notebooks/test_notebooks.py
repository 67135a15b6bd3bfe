"""The notebooks: committed outputs belong to their sources, are clean, and can be made again."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

for needed in ("jupytext", "nbclient", "ipykernel"):
    pytest.importorskip(needed)
nbformat: Any = pytest.importorskip("nbformat")

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "build_notebooks.py"


BUILD = importlib.import_module("tools.build_notebooks")  # after what it needs
SOURCES = BUILD.sources()
each = pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)


def committed(source: Path) -> Any:
    return nbformat.read(source.with_suffix(".ipynb"), as_version=4)


def test_there_are_notebooks() -> None:
    """The first walkthrough is there: an empty list would pass every other test."""
    assert "01-the-naive-lock-and-its-herd" in [source.stem for source in SOURCES]


@each
def test_the_committed_cells_are_those_of_the_source(source: Path) -> None:
    """Nobody has changed a source without building it, or an .ipynb without its source."""
    assert BUILD.drift(source) == ""


@each
def test_the_committed_outputs_are_clean(source: Path) -> None:
    """Every cell was executed; no error, no log, no path and no name of a machine is shown."""
    assert list(BUILD.faults(committed(source))) == []


@each
def test_the_committed_outputs_are_of_the_full_mode(source: Path) -> None:
    """What readers see was measured with all contenders, and says on what."""
    text = source.with_suffix(".ipynb").read_text(encoding="utf-8")
    assert "small (ZKKIT_SMALL)" not in text
    for fact in ("CPython", "cores", "ZooKeeper", "in memory"):
        assert fact in text


@each
def test_every_picture_is_told_in_words(source: Path) -> None:
    """An image has an alt text of its own that says more than a word."""
    pictures = [
        output
        for cell in committed(source).cells
        for output in cell.get("outputs", ())
        if "image/png" in output.get("data", {})
    ]
    assert pictures
    for picture in pictures:
        assert len(picture["metadata"]["image/png"]["alt"].split()) > 4


@each
def test_every_question_has_a_folded_answer(source: Path) -> None:
    """Five questions, each followed by an answer that is closed until it is opened."""
    text = "\n".join(cell.source for cell in committed(source).cells)
    questions = re.findall(r"^\*\*\d\.\*\*", text, re.MULTILINE)
    assert len(questions) == 5
    assert text.count("<details><summary>Answer</summary>\n\n") == text.count("</details>") == 5


def test_the_first_walkthrough_shows_what_it_says() -> None:
    """In the committed outputs of 01 the shop oversells, both locks do not, and the law holds."""
    text = str(committed(SOURCES[0]))
    assert "No lock oversells" in text
    assert "HerdLock and ReentrantLock sell exactly 10" in text
    assert "The law holds" in text
    assert "One release woke 10 of 10 waiters: 1 got the lock, 9 woke for nothing" in text
    assert "One release woke 1 of 10 waiters: 1 got the lock" in text


@each
def test_cells_are_short(source: Path) -> None:
    """A reader can take in a code cell at a glance."""
    code = [cell.source for cell in committed(source).cells if cell.cell_type == "code"]
    assert max(len(cell.splitlines()) for cell in code) <= 15


@each
def test_what_the_text_names_can_be_found(source: Path) -> None:
    """Nobody counts cells: the text names sections, each of which has a heading."""
    text = "\n".join(c.source for c in committed(source).cells if c.cell_type == "markdown")
    assert not re.search(r"\bcell \d", text)
    headings = set(re.findall(r"^## (\d+)\. ", text, re.MULTILINE))
    assert set(re.findall(r"\bsection (\d+)", text)) <= headings


def test_the_hold_to_be_changed_is_in_its_section() -> None:
    """01 asks to change the hold in section 5: its line is there, once, and short enough to be
    seen in a narrow window."""
    section, found = "", []
    for cell in committed(SOURCES[0]).cells:
        section = (re.findall(r"^## (\d+)\.", cell.source, re.MULTILINE) or [section])[-1]
        if cell.cell_type == "code":
            found += [section for line in cell.source.splitlines() if line[:11] == "hold = 0.05"]
        elif "Change something" in cell.source:
            asked = re.search(r"in section (\d), .*`hold = 0.05`", cell.source, re.DOTALL)
            assert asked is not None
    assert found == [asked[1]]


def test_a_changed_cell_is_noticed(tmp_path: Path) -> None:
    """The drift check tells a changed, an added and a missing cell, and a missing notebook."""
    source = tmp_path / "99-probe.py"
    source.write_text("# %% [markdown]\n# # Probe\n\n# %%\nprint(1)\n")
    assert "missing" in BUILD.drift(source)
    nbformat.write(BUILD.read(source), source.with_suffix(".ipynb"))
    assert BUILD.drift(source) == ""
    source.write_text("# %% [markdown]\n# # Probe\n\n# %%\nprint(2)\n")
    assert "cell 2" in BUILD.drift(source)
    source.write_text("# %% [markdown]\n# # Probe\n")
    assert "has 2 cells, its source 1" in BUILD.drift(source)


def test_faults_are_noticed() -> None:
    """An output with a path, with an address, on stderr, or none at all is a fault each."""
    notebook = nbformat.v4.new_notebook()
    shown = ("/home/ann/x.log", "at 10.1.2.3:2181", "at 127.0.0.1:2181, N(N+1)/2, 3.11.7")
    for text in shown:
        output = nbformat.v4.new_output("stream", name="stdout", text=text)
        notebook.cells.append(nbformat.v4.new_code_cell("x", outputs=[output], execution_count=1))
    log = nbformat.v4.new_output("stream", name="stderr", text="warning")
    notebook.cells.append(nbformat.v4.new_code_cell("x", outputs=[log], execution_count=1))
    notebook.cells.append(nbformat.v4.new_code_cell("x"))
    assert [fault.split()[1] for fault in BUILD.faults(notebook)] == ["1", "2", "4", "5"]


@each
@pytest.mark.slow
@pytest.mark.timeout(180)
def test_it_runs_in_small_mode(source: Path, tmp_path: Path, zk_hosts: str) -> None:
    """All cells run, in a process of their own and on running servers, and leave no fault."""
    done = subprocess.run(
        [sys.executable, str(TOOL), "--small", "--out", str(tmp_path), source.stem],
        env={**os.environ, "ZKKIT_HOSTS": zk_hosts},
        capture_output=True,
        text=True,
        timeout=170,
    )
    assert done.returncode == 0, done.stderr
    executed = nbformat.read(tmp_path / f"{source.stem}.ipynb", as_version=4)
    assert BUILD.cells(executed) == BUILD.cells(BUILD.read(source))
    assert "small (ZKKIT_SMALL)" in str(executed)
