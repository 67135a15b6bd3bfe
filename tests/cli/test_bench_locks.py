"""`zkkit bench locks`: options, files, and what it says without Java."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from zkkit import cli
from zkkit.bench.locks import experiment
from zkkit.bench.locks.judge import LockCell, LockSpeeds
from zkkit.bench.locks.layers import LayerShares
from zkkit.bench.locks.plan import LockRow
from zkkit.bench.locks.run import LockBench
from zkkit.bench.peers import libraries
from zkkit.bench.peers.cells import PeerTurn
from zkkit.bench.peers.curator_jars import CuratorMissing
from zkkit.bench.peers.layers import LAYERS


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--sessions 1,10", "one session does not contend: give 2 or more"),
        ("--sessions 999", "give 1 to 250"),
        ("--sessions x", "'x' is no whole number"),
        ("--seconds 0", "'0' is no time from 0.05 to 60 seconds"),
        ("--seconds nan", "'nan' is no time"),
        ("--repeats 0", "give 1 or more"),
        ("--hosts a:1 --medium disk", "--medium is for servers of our own"),
        ("--name ../up", "cannot name a directory"),
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
        cli.main(["bench", "locks", *words.split()])
    assert end.value.code == 2
    assert sentence in capsys.readouterr().err.replace("\n", " ")
    assert list(tmp_path.iterdir()) == []


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["bench", "locks", "--help"])
    assert "examples:\n  zkkit bench locks" in capsys.readouterr().out


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*given: object) -> None:
        raise CuratorMissing("no Java Curator here", hint="apt-get install it")

    monkeypatch.setattr(libraries, "JavaPeer", missing)


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Instead of measuring for minutes, make up figures: zkkit 300 a second, the others 200."""

    def measure(bench, on_cell):  # type: ignore[no-untyped-def]
        plan = bench.plan
        speeds = LockSpeeds(plan, {name: "1.0" for name in plan.peers}, warmed={"zkkit": 7})
        for turn in plan.turns():
            speeds.cells.append(_made_up(turn))
            on_cell(speeds.cells[-1])
        return speeds

    def layers(hosts, modules, sessions, seconds):  # type: ignore[no-untyped-def]
        used = {layer: 0.1 for layer in LAYERS} | {"engine": 0.5}
        return tuple(
            LayerShares(name, number, 100, used) for name in modules for number in (1, *sessions)
        )

    monkeypatch.setattr(LockBench, "measure", measure)
    monkeypatch.setattr(experiment, "layer_shares", layers)


def _made_up(turn: PeerTurn[LockRow]) -> LockCell:
    rate = {"zkkit": 300.0, "zkkit on asyncio": 500.0}.get(turn.peer, 200.0)
    stalled = (turn.row.name, turn.peer, turn.repeat) == ("lock, 1 session", "kazoo", 1)
    longest = 7.9 if stalled else 0.9
    return LockCell(
        turn=turn,
        acquisitions=200,
        value=rate,
        settled=0.01,
        seconds=1.0,
        client_cpu=0.95,
        server_cpu={"node1": 0.1},
        longest_acquire=longest,
    )


def test_without_java(
    zk_hosts: str,
    tmp_path: Path,
    no_java: None,
    quickly: None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Java's column is left out, with the command that would bring it; all else is there."""
    words = ("--hosts", zk_hosts, "--sessions", "2,3", "--repeats", "2", "--results", str(tmp_path))
    assert cli.main(["bench", "locks", *words]) == 0
    said = capsys.readouterr()
    assert "Java Curator is left out: no Java Curator here" in said.err
    assert "apt-get install it" in said.err
    assert "zkkit : kazoo" in said.out and "zkkit : Curator" not in said.out
    assert "1.50 (1.50..1.50)" in said.out
    assert "300*" in said.out and "* the client used over 90 % of one core" in said.out
    assert said.out.count("stood still") == 1
    assert "kazoo stood still for 7.9 s at lock, repeat 2: see ZOOKEEPER-4537" in said.out
    assert (
        "With 3 sessions on one mutex zkkit acquires about 1.50 times as often as kazoo."
        in said.out
    )
    home = tmp_path / "bench-locks" / "latest"
    assert {path.name for path in home.iterdir()} == {
        "results.json", "report.html", "ratios.png", "layers.png", "figures.md"
    }  # fmt: skip
    document = json.loads((home / "results.json").read_text())
    assert (document["schema"], document["experiment"]) == ("zkkit.results", "locks")
    assert document["verdict"] is True
    assert document["plan"]["seed"] == 1
    assert len(document["runs"]) == (7 * 2 + 3) * 2  # on asyncio the mutex only
    assert "warm-up    acquisitions before anything counts: zkkit 7" in said.out
    assert (
        "zkkit, 3 sessions: the largest part of the CPU time is engine, 50%"
        in (home / "report.html").read_text()
    )
    assert (
        f"zkkit bench locks --sessions 2,3 --repeats 2 --seconds 1 --seed 1 --name bench-locks \
--hosts {zk_hosts}"
        in document["command"]
    )
    assert (
        "| mutex, 3 sessions | 300\\* | 200\\* | 1.50 (1.50..1.50) |"
        in (home / "figures.md").read_text()
    )
    table = (home / "figures.md").read_text()
    assert "| mutex on asyncio, 3 sessions | 500\\* | 200\\* | 2.50 (2.50..2.50) |" in table
    assert "| engine | 2,375 (50%) | 2,375 (50%) |" in table
    page = (home / "report.html").read_text()
    assert "How fast locks are" in page and "1.50 (1.50..1.50)" in page


def test_an_overlap_is_exit_1(
    zk_hosts: str, tmp_path: Path, no_java: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lock that lets two in is told by the exit code, whatever its speed."""

    def measure(bench, on_cell):  # type: ignore[no-untyped-def]
        broken = replace(_made_up(PeerTurn(bench.plan.rows[0], "kazoo", 0)), broken="a and b")
        return LockSpeeds(bench.plan, cells=[broken])

    monkeypatch.setattr(LockBench, "measure", measure)
    monkeypatch.setattr(experiment, "layer_shares", lambda *given: ())
    words = ("--hosts", zk_hosts, "--results", str(tmp_path))
    assert cli.main(["bench", "locks", *words]) == 1
    document = json.loads((tmp_path / "bench-locks" / "latest" / "results.json").read_text())
    assert document["verdict"] is False
