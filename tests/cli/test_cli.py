"""The command line: exit codes, messages, files, and nothing left behind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import zkkit
from tests.support.processes import alive, descendants
from zkkit import cli
from zkkit.bench.designs import DESIGNS, SEQUENTIAL, Design
from zkkit.bench.gate import picture
from zkkit.bench.gate.experiment import GateExperiment
from zkkit.recipes.herd import HerdLock
from zkkit.record import read_parquet
from zkkit.show import canvas
from zkkit.testing import eventually

ROOT = Path(__file__).parents[2]


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "zkkit", *words],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )


def call(*words: str) -> int:
    """The command in this process; usage errors as their exit code."""
    try:
        return cli.main(words)
    except SystemExit as end:
        assert isinstance(end.code, int)
        return end.code


@pytest.mark.parametrize(
    "words", [("--help",), ("demo", "--help"), ("compare", "--help"), ("bench", "recorder", "-h")]
)
def test_help_has_examples(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """Every help ends with examples that can be typed."""
    assert call(*words) == 0
    assert "examples:\n  zkkit " in capsys.readouterr().out


def test_version() -> None:
    """`python -m zkkit --version` tells the version."""
    done = run("--version")
    assert (done.returncode, done.stdout) == (0, f"zkkit {zkkit.__version__}\n")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("", "required: COMMAND"),
        ("compare --contenders 0", "0 contenders are not possible: give 1 to 250"),
        ("compare --contenders a", "'a' is no whole number"),
        ("compare --contenders 2,,3", "'' is no whole number"),
        ("compare --contenders 2,-3", "-3 contenders are not possible"),
        ("compare --contenders 999", "999 contenders are not possible"),
        ("compare --designs hurd", "no design 'hurd': the designs are herd, children-watch,"),
        ("compare --designs herd,rw", "these designs cannot be compared with each other"),
        ("compare --population crowd", "invalid choice: 'crowd'"),
        ("compare --repeats 0", "give 1 or more"),
        ("compare --hold -1", "'-1' is no time from 0 to 10000 milliseconds"),
        ("compare --hold nan", "'nan' is no time"),
        ("compare --name ../up", "'../up' cannot name a directory"),
        ("compare --hosts nowhere:x", "no usable server in 'nowhere:x'"),
        ("compare --hosts a:1 --medium disk", "--medium is for servers of our own"),
        ("compare --medium tape", "invalid choice: 'tape'"),
        ("compare --seed x", "invalid int value: 'x'"),
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
    assert call(*words.split()) == 2
    error = capsys.readouterr().err.replace("\n", " ")
    assert sentence in error
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_results_directory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Results that cannot be written are refused before any server is started."""
    (tmp_path / "file").write_text("")
    assert call("compare", "--results", str(tmp_path / "file" / "x")) == 2
    said = capsys.readouterr().err
    assert said.startswith("zkkit: cannot write results to")
    assert "What to do: give another directory with --results" in said
    assert "Starting" not in said


def test_no_java(tmp_path: Path) -> None:
    """Without Java one sentence says what to install; no traceback, no empty directory."""
    done = run("compare", "--results", str(tmp_path / "r"), PATH="/none", JAVA_HOME="/none")
    assert done.returncode == 2
    assert "no Java that runs was found" in done.stderr and "What to do:" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_unreachable_hosts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Servers that do not answer are named in one message, without kazoo's log lines."""
    connect = zkkit.connect
    monkeypatch.setattr(
        zkkit, "connect", lambda hosts, **more: connect(hosts, **more | {"connect_timeout": 0.5})
    )
    assert call("compare", "--hosts", "127.0.0.1:1", "--results", str(tmp_path / "r")) == 2
    said = capfd.readouterr().err
    assert said.startswith("zkkit: no server of 127.0.0.1:1 gave us a session")
    assert len(said.splitlines()) == 2
    assert list(tmp_path.iterdir()) == []


def test_a_crash_is_unknown_never_broken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A defect of our own ends with 2: Python's 1 would say that the law is broken."""

    def crash(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(GateExperiment, "run", crash)
    assert call("compare", "--hosts", "h:1", "--results", str(tmp_path / "r")) == 2
    assert "defect of zkkit" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_in_this_process_is_130(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C ends with 130 and a sentence."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(GateExperiment, "run", interrupt)
    assert call("compare", "--hosts", "h:1", "--results", str(tmp_path / "r")) == 130
    assert "interrupted" in capsys.readouterr().err


def test_demo_end_to_end(tmp_path: Path) -> None:
    """The demo explains, measures, and leaves all files of the design; the law holds."""
    words = ("demo", "--contenders", "2,3", "--repeats", "1", "--results", str(tmp_path))
    done = run(*words, PYTHONIOENCODING="ascii")  # the poorest of terminals
    assert done.returncode == 0, done.stderr
    assert "How many watches fire?" in done.stdout
    assert "The law holds" in done.stdout
    assert re.search(r"^sequential +3 +3 +3 += 3", done.stdout, re.MULTILINE)
    assert "4/4 runs: " in done.stderr
    home = (tmp_path / "demo" / "latest").resolve()
    assert f"report   {home / 'report.html'}" in done.stdout
    assert {path.name for path in home.iterdir()} == {
        "results.json", "events.parquet", "server-metrics.json", "compare.png", "report.html"
    }  # fmt: skip
    document = json.loads((home / "results.json").read_text())
    assert (document["schema"], document["version"]) == ("zkkit.results", 2)
    assert document["verdict"] is True
    assert document["plan"]["seed"] == 1
    assert document["ensemble"]["medium"] == "memory"
    assert [run["server_fires"] for run in document["runs"] if run["design"] != "herd"] == [2, 3]
    metrics = json.loads((home / "server-metrics.json").read_text())
    assert len(metrics["before"]) == len(metrics["after"]) == 3
    assert len(metrics["fires"]) == 4
    assert sum(hook == "acquired" for hook, _ in read_parquet(home / "events.parquet")) == 14


def test_compare_on_servers_that_are_there(
    zk_hosts: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With --hosts no server is started; without matplotlib it works and says so."""

    def no_picture(document: object) -> bytes:
        raise canvas.NoPicture("no picture: cannot import matplotlib", hint="pip install it")

    monkeypatch.setattr(picture, "compare_png", no_picture)
    words = ("compare", "--hosts", zk_hosts, "--contenders", "2", "--repeats", "1", "--hold", "0")
    assert call(*words, "--name", "ours", "--results", str(tmp_path)) == 0
    said = capsys.readouterr()
    assert "Starting" not in said.err
    assert "no picture: cannot import matplotlib" in said.out and "compare.png" not in said.out
    document = json.loads((tmp_path / "ours" / "latest" / "results.json").read_text())
    assert document["ensemble"]["size"] == 3
    assert document["ensemble"]["zookeeper"][0] == "3"
    assert f"--hosts {zk_hosts}" in document["command"]


def test_a_broken_law_is_exit_1(
    zk_hosts: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A herd that is sold as a queue is reported, in the results too."""
    twin = Design("twin", lambda s, p: HerdLock(s, p), SEQUENTIAL.laws, "a herd in disguise")
    monkeypatch.setitem(DESIGNS, "twin", twin)
    words = ("compare", "--hosts", zk_hosts, "--designs", "twin", "--contenders", "6")
    assert call(*words, "--repeats", "1", "--results", str(tmp_path)) == 1
    assert "The law is broken" in capsys.readouterr().out
    document = json.loads((tmp_path / "compare" / "latest" / "results.json").read_text())
    assert document["verdict"] is False


def test_threads_on_one_lock_object(
    zk_hosts: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """--population shared: three readers and writers in one session, and how to do it again."""
    words = ("compare", "--hosts", zk_hosts, "--designs", "rw", "--population", "shared")
    words += ("--contenders", "3", "--repeats", "1", "--results", str(tmp_path))
    assert call(*words) == 0
    said = capsys.readouterr().out
    assert "With 3 contenders the rw lock wakes 3 actors" in said
    assert "exactly W+1 fires" in said and "exactly W+R wakeups" in said
    document = json.loads((tmp_path / "compare" / "latest" / "results.json").read_text())
    assert "--designs rw --population shared" in document["command"]
    (run,) = document["runs"]
    assert (run["fires"], run["server_fires"], run["wakeups"]) == (2, 2, 3)


@pytest.mark.slow  # warm-up and runs; what an interrupt ends with is shown above
def test_ctrl_c_cleans_up(tmp_path: Path) -> None:
    """Interrupted in the middle of its runs: exit 130, no results, no servers, no traceback."""
    with subprocess.Popen(
        [
            *(sys.executable, "-m", "zkkit", "compare", "--results", str(tmp_path / "r")),
            *("--contenders", "3", "--repeats", "100"),
        ],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("2/"):
                break
        children = descendants(process.pid)
        assert len(children) >= 3
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        assert process.wait(20) == 130
    assert "zkkit: interrupted" in rest and "Traceback" not in rest
    assert list(tmp_path.iterdir()) == []
    eventually(lambda: not any(map(alive, children)), 10)


def test_bench_recorder(zk_hosts: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The cost of an event is told, and beside it its share of an acquire, found in two ways."""
    words = ("bench", "recorder", "--events", "2000", "--blocks", "2", "--hosts", zk_hosts)
    words += ("--results", str(tmp_path))
    assert call(*words) == 0
    said = capsys.readouterr().out
    for part in ("recording one event", "events", "by arithmetic", "recorder on : off"):
        assert part in said
