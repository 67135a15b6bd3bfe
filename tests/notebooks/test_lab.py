"""`make lab`: closed to others, in working copies, with links that lead somewhere."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tools import lab as tool

pytest.importorskip("ipykernel")
jupyter_client: Any = pytest.importorskip("jupyter_client")

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = "01-the-naive-lock-and-its-herd.ipynb"


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The tool, in a repository of its own, which has only what it needs."""
    root = tmp_path / "repository"
    for folder in ("notebooks", "zkkit/recipes/locks"):
        shutil.copytree(ROOT / folder, root / folder)
    shutil.copy(ROOT / ".gitignore", root)
    monkeypatch.setattr(tool, "ROOT", root)
    monkeypatch.setattr(tool, "HOME", root / "notebooks")
    monkeypatch.setattr(tool, "ROOM", root / "lab")
    return tool


def texts(notebook: Path) -> list[str]:
    """The Markdown cells."""
    cells = json.loads(notebook.read_bytes())["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]


def test_the_lab_is_closed_to_others(lab: ModuleType) -> None:
    """JupyterLab listens on loopback, keeps its token, and asks nobody for news or updates."""
    words = lab.command(["--no-browser"])
    assert "--ServerApp.ip=127.0.0.1" in words
    assert "--LabApp.news_url=None" in words
    assert "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate" in words
    assert not [word for word in words if "token" in word or "password" in word]
    known = lab.environment("127.0.0.1:1", "memory")
    assert known["ZKKIT_HOSTS"] == "127.0.0.1:1"
    first = Path(known["JUPYTER_CONFIG_PATH"].split(":")[0])
    assert "announcements" in (first / "labconfig" / "page_config.json").read_text()


def test_it_opens_the_working_copy(lab: ModuleType) -> None:
    """JupyterLab sees the room only, and begins with the first notebook in it."""
    lab.furnish(lab.ROOM)
    words = lab.command([], lab.ROOM)
    assert f"--ServerApp.root_dir={lab.ROOM}" in words
    opens = next(word for word in words if "default_url" in word).partition("/lab/tree/")[2]
    assert opens == f"notebooks/{NOTEBOOK}"
    assert (lab.ROOM / opens).is_file()
    assert (lab.ROOM / "notebooks" / "01-notes.toml").is_file()


def test_every_link_leads_to_a_file_in_the_lab(lab: ModuleType) -> None:
    """A link that leaves the served directory is dead there, even if the file exists."""
    lab.furnish(lab.ROOM)
    copy = lab.ROOM / "notebooks" / NOTEBOOK
    links = [to for text in texts(copy) for to in re.findall(r"\]\((?!\w+:)([^)]+)\)", text)]
    assert links
    for link in links:
        target = (copy.parent / link).resolve()
        assert target.is_file() and target.is_relative_to(lab.ROOM)
        assert target.read_bytes() == (lab.HOME / link).resolve().read_bytes()


def test_a_dead_link_is_noticed(lab: ModuleType) -> None:
    """A notebook that links to what is not there is not given to a learner."""
    (lab.ROOT / "zkkit" / "recipes" / "locks" / "reentrant.py").unlink()
    with pytest.raises(FileNotFoundError, match=r"reentrant\.py"):
        lab.furnish(lab.ROOM)


def test_working_in_the_lab_changes_nothing_for_git(lab: ModuleType) -> None:
    """Not even when all that is in the room has changed."""
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@localhost", "-C", str(lab.ROOT)]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all"]):
        subprocess.run([*git, *words], check=True, env={"PATH": os.environ["PATH"]})
    lab.furnish(lab.ROOM)
    for file in list(lab.ROOM.rglob("*.*")):
        file.unlink()
        file.write_text("changed")
    said = subprocess.run([*git, "status", "--porcelain"], check=True, capture_output=True)
    assert said.stdout == b""


def test_the_kernel_has_nothing_to_add_to_a_copy(lab: ModuleType) -> None:
    """Opening it does not change it: what JupyterLab writes into a notebook when its kernel
    answers stands there already."""
    lab.furnish(lab.ROOM)
    metadata = json.loads((lab.ROOM / "notebooks" / NOTEBOOK).read_bytes())["metadata"]
    manager, client = jupyter_client.manager.start_new_kernel(kernel_name="python3")
    try:
        answer = client.kernel_info(reply=True, timeout=60)["content"]
        spec = manager.kernel_spec
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    assert metadata == {
        "kernelspec": {
            "display_name": spec.display_name,
            "language": spec.language,
            "name": "python3",
        },
        "language_info": answer["language_info"],
    }


def test_a_copy_that_nobody_touched_is_renewed(lab: ModuleType) -> None:
    """After a `git pull` the learner has the new notebook, and the new notes to the new source."""
    lab.furnish(lab.ROOM)
    for name in (NOTEBOOK, "01-notes.toml"):
        original = lab.HOME / name
        original.write_text(original.read_text(encoding="utf-8").replace("watch", "sentry"))
    assert lab.furnish(lab.ROOM) == []
    assert "sentry" in "".join(texts(lab.ROOM / "notebooks" / NOTEBOOK))
    assert "sentry" in (lab.ROOM / "notebooks" / "01-notes.toml").read_text(encoding="utf-8")


def test_a_copy_that_was_touched_stays(lab: ModuleType) -> None:
    """What a learner has made is never written over. They are told once there is a new original,
    how to get it, and get it that way."""
    lab.furnish(lab.ROOM)
    copy, original = (home / NOTEBOOK for home in (lab.ROOM / "notebooks", lab.HOME))
    copy.write_text("mine")
    assert lab.furnish(lab.ROOM) == []
    original.write_text(original.read_text(encoding="utf-8").replace("watch", "sentry"))
    (told,) = lab.furnish(lab.ROOM)
    assert NOTEBOOK in told and "rename yours" in told
    assert copy.read_text() == "mine"
    copy.rename(copy.with_name("mine.ipynb"))
    assert lab.furnish(lab.ROOM) == []
    assert "sentry" in "".join(texts(copy))
