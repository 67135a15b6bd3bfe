"""`zkkit bench recipes`: options, files, and what it says without Java."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from zkkit import cli
from zkkit.bench.peers import libraries
from zkkit.bench.peers.curator_jars import CuratorMissing
from zkkit.bench.recipes.judge import RecipeCell, RecipeSpeeds
from zkkit.bench.recipes.run import RecipeBench


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--nodes 0", "'0' is no number of nodes: give 1 to 10000"),
        ("--nodes many", "'many' is no number of nodes"),
        ("--seconds 0", "'0' is no time from 0.05 to 60 seconds"),
        ("--repeats 0", "give 1 or more"),
    ],
)
def test_bad_input(
    words: str,
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What is wrong is named, with what would be right; exit 2, and nothing is left behind."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        cli.main(["bench", "recipes", *words.split()])
    assert end.value.code == 2
    assert sentence in capsys.readouterr().err.replace("\n", " ")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """No Java; and instead of measuring for minutes, make up figures: zkkit 3, kazoo 2, and it is
    always busy."""

    def missing(*given: object) -> None:
        raise CuratorMissing("no Java Curator here", hint="apt-get install it")

    def measure(bench, on_cell):  # type: ignore[no-untyped-def]
        plan = bench.plan
        speeds = RecipeSpeeds(plan, {name: "1.0" for name in plan.peers})
        for turn in plan.turns():
            value = 3.0 if turn.peer == "zkkit" else 2.0
            speeds.cells.append(
                RecipeCell(turn=turn, value=value, samples=5, seconds=1.0, client_cpu=0.95)
            )
            on_cell(speeds.cells[-1])
        return speeds

    monkeypatch.setattr(libraries, "JavaPeer", missing)
    monkeypatch.setattr(RecipeBench, "measure", measure)


def test_without_java(
    zk_hosts: str, tmp_path: Path, quickly: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Java's column is left out, with the command that would bring it; all else is there."""
    words = ("--hosts", zk_hosts, "--repeats", "2", "--nodes", "50", "--results", str(tmp_path))
    assert cli.main(["bench", "recipes", *words]) == 0
    said = capsys.readouterr()
    assert "Java Curator is left out: no Java Curator here" in said.err
    assert "zkkit : kazoo" in said.out and "zkkit : Curator" not in said.out
    assert "zkkit tells the next leader about 0.67 times as fast as kazoo." in said.out
    assert "3* /s" in said.out and "* the client used over 90 % of one core" in said.out
    home = tmp_path / "bench-recipes" / "latest"
    assert {path.name for path in home.iterdir()} == {
        "results.json", "report.html", "ratios.png", "figures.md"
    }  # fmt: skip
    document = json.loads((home / "results.json").read_text())
    assert (document["experiment"], document["verdict"]) == ("recipes", True)
    assert len(document["runs"]) == 6 * 2 * 2
    table = (home / "figures.md").read_text()
    assert "| cache load, 50 nodes | 3.00\\* ms | 2.00\\* ms | 0.67 (0.67..0.67) |" in table
    assert "| increments | 3\\* /s | 2\\* /s | 1.50 (1.50..1.50) |" in table
    assert "How fast recipes are" in (home / "report.html").read_text()
