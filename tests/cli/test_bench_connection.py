"""`zkkit bench connection`: options, files, and the verdict over what was asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from zkkit import cli
from zkkit.bench.connection import experiment
from zkkit.bench.connection.cells import ConnectionCell, ConnectionSpeeds
from zkkit.bench.connection.idle import IdleFootprint
from zkkit.bench.connection.run import ConnectionBench
from zkkit.bench.kit.machine import Footprint


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--idle 0", "'0' is no number of idle sessions: give 1 to 2000"),
        ("--idle many", "'many' is no number of idle sessions"),
        ("--sessions 999", "give 1 to 250"),
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
        cli.main(["bench", "connection", *words.split()])
    assert end.value.code == 2
    assert sentence in capsys.readouterr().err.replace("\n", " ")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """Instead of measuring for minutes, make up figures: 100 of kazoo's, and of each of the others
    so many times as fast as is said here."""
    faster = {"zkkit": 3.0, "session.kazoo": 2.0, "zkkit on asyncio": 4.0, "kazoo": 1.0}

    def measure(bench, on_cell):  # type: ignore[no-untyped-def]
        plan = bench.plan
        speeds = ConnectionSpeeds(plan, {name: "1.0" for name in plan.peers})
        for turn in plan.turns():
            factor = faster[turn.peer]
            value = 100 * factor if turn.row.is_rate else 100 / factor
            speeds.cells.append(
                ConnectionCell(
                    turn=turn, value=value, operations=1000, seconds=1.0, client_cpu=0.95
                )
            )
            on_cell(speeds.cells[-1])
        return speeds

    def idle(hosts, modules, sessions):  # type: ignore[no-untyped-def]
        took = Footprint(4 * sessions, 3 * sessions, 50_000 * sessions)
        return tuple(IdleFootprint(name, sessions, took) for name in modules)

    monkeypatch.setattr(ConnectionBench, "measure", measure)
    monkeypatch.setattr(experiment, "idle_footprints", idle)
    return faster


def words_for(hosts: str, results: Path) -> list[str]:
    words = ("--hosts", hosts, "--repeats", "2", "--sessions", "1,3", "--idle", "40")
    return ["bench", "connection", *words, "--results", str(results)]


def test_as_fast_as_asked(
    zk_hosts: str,
    tmp_path: Path,
    quickly: dict[str, float],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Everything is said, and written."""
    assert cli.main(words_for(zk_hosts, tmp_path)) == 0
    said = capsys.readouterr().out
    assert "zkkit does about 3.00 times as many pipelined operations as kazoo" in said
    assert "exists, pipelined, 3.00 (3.00..3.00) times as fast as kazoo, 2.00 asked" in said
    assert "300* /s" in said and "* the client used over 90 % of one core" in said
    home = tmp_path / "bench-connection" / "latest"
    assert {path.name for path in home.iterdir()} == {
        "results.json", "report.html", "ratios.png", "figures.md"
    }  # fmt: skip
    document = json.loads((home / "results.json").read_text())
    assert (document["experiment"], document["verdict"]) == ("connection", True)
    assert len(document["runs"]) == 5 * 4 * 2
    table = (home / "figures.md").read_text()
    assert "| exists, round trip | 33\\* us | 25\\* us | 50\\* us | 100\\* us | 3.00" in table
    assert "| 40 sessions, kazoo | 160 | 120 | 2.0 | 50 |" in table
    assert "How fast the connection is" in (home / "report.html").read_text()


def test_slower_than_asked_is_exit_1(
    zk_hosts: str,
    tmp_path: Path,
    quickly: dict[str, float],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The others' figures do not help."""
    quickly["zkkit"] = 1.9
    assert cli.main(words_for(zk_hosts, tmp_path)) == 1
    said = capsys.readouterr().out
    assert "zkkit is not as fast as asked: exists, pipelined, 1.90" in said
    assert "round trip, 1.90" not in said
