"""The results directory: complete or not there at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from zkkit.bench.kit.results import ResultsDirectory, ResultsUnwritable
from zkkit.hooks import Event
from zkkit.record import export, read_jsonl


def test_published_results_are_latest(tmp_path: Path) -> None:
    """After publishing, `latest` leads to the newest directory and nothing hidden is left."""
    for text in ("one", "two"):
        with ResultsDirectory(tmp_path, "compare") as directory:
            directory.write("results.json", text)
            home = directory.publish()
        assert (home / "results.json").read_text() == text
        assert (tmp_path / "compare" / "latest" / "results.json").read_text() == text
    names = sorted(path.name for path in (tmp_path / "compare").iterdir())
    assert len(names) == 3 and not [name for name in names if name.startswith(".")]


def test_a_crash_leaves_nothing(tmp_path: Path) -> None:
    """What is not published is removed, with the directories made for it."""
    with pytest.raises(RuntimeError), ResultsDirectory(tmp_path / "a" / "b", "x") as directory:
        directory.write("results.json", "half")
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_a_crash_keeps_the_latest(tmp_path: Path) -> None:
    """A run that fails does not touch the results before it."""
    with ResultsDirectory(tmp_path, "x") as directory:
        directory.write("a", "good")
        directory.publish()
    with pytest.raises(RuntimeError), ResultsDirectory(tmp_path, "x") as directory:
        raise RuntimeError
    assert (tmp_path / "x" / "latest" / "a").read_text() == "good"


def test_an_unwritable_place_is_said_at_once(tmp_path: Path) -> None:
    """A file where the directory should be is refused before anything is measured."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultsUnwritable, match="--results"):
        ResultsDirectory(tmp_path / "file" / "deep", "x")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_without_links_a_text_file_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where symbolic links do not work `latest.txt` names the newest directory."""

    def refuse(self: Path, target: str, target_is_directory: bool = False) -> None:
        raise OSError("no links here")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    with ResultsDirectory(tmp_path, "x") as directory:
        home = directory.publish()
    assert (tmp_path / "x" / "latest.txt").read_text() == f"{home.name}\n"


def test_without_pyarrow_events_are_json_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bare install keeps the events too."""

    def missing(*_: object) -> None:
        raise export.MissingExtra("cannot import pyarrow")

    monkeypatch.setattr(export, "to_parquet", missing)
    rows = [("woke", Event(1, 2, "a", "Lock", "/x"))]
    with ResultsDirectory(tmp_path, "x") as directory:
        directory.write_events(rows)
        home = directory.publish()
    assert read_jsonl(home / "events.jsonl") == rows
