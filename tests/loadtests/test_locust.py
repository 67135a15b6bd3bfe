"""The load test itself: locust as a process of its own, against real servers."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient

from zkkit.bench.designs import EXCLUSIVE

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ROOT / "loadtests" / "locks.py"

pytestmark = pytest.mark.skipif(find_spec("locust") is None, reason="needs zkkit[load]")

LOCAL = """
import gevent
from loadtests import locks
from loadtests.locks import HeldSteps


class Held:
    valid = True
"""
BROKEN = f"""{LOCAL}
class NoLock:
    def acquire(self):
        return Held()

    def release(self):
        pass


class BrokenUser(locks.LockUser):
    def make_lock(self, session, path):
        return NoLock()
"""
LATE = f"""{LOCAL}
class LateUser(locks.LockUser):
    def on_start(self):
        gevent.sleep(3)
        super().on_start()
"""
STRICKEN = f"""{LOCAL}
class StrickenUser(locks.LockUser):
    def _release(self):
        raise gevent.Timeout(0.0)
"""


class Locust:
    """locust with our locustfile, or one of the test's own."""

    def __init__(self, directory: Path) -> None:
        self.results = directory / "results"
        self._directory = directory
        self._processes: list[subprocess.Popen[str]] = []

    def start(self, *arguments: str, locustfile: str | None = None) -> subprocess.Popen[str]:
        file = LOCKS
        if locustfile is not None:
            file = self._directory / "locustfile.py"
            file.write_text(locustfile)
        command = [sys.executable, "-m", "locust", "-f", str(file), "--headless", "--only-summary"]
        process = subprocess.Popen(
            [*command, "--results", str(self.results), *arguments],
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
            cwd=self._directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._processes.append(process)
        return process

    def run(self, *arguments: str, locustfile: str | None = None) -> tuple[int, str]:
        process = self.start(*arguments, locustfile=locustfile)
        said, _ = process.communicate(timeout=100)
        print(said)
        return process.returncode, said

    def document(self, name: str) -> dict[str, Any]:
        text = (self.results / name / "latest" / "results.json").read_text()
        found: dict[str, Any] = json.loads(text)
        return found

    def close(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()


@pytest.fixture
def locust(tmp_path: Path) -> Iterator[Locust]:
    runner = Locust(tmp_path)
    yield runner
    runner.close()


@pytest.fixture
def children(zk_hosts: str) -> Iterator[Callable[[str], list[str]]]:
    """The children of a node, asked by a client that has nothing to do with us."""
    client = KazooClient(zk_hosts)
    client.start()

    def ask(path: str) -> list[str]:
        client.sync(path)
        found: list[str] = client.get_children(path)
        return found

    yield ask
    client.stop()
    client.close()


def read_until(process: subprocess.Popen[str], text: str) -> str:
    """What the process says, up to a line with `text` in it."""
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        if text in line:
            return said
    raise AssertionError(f"it ended without saying {text!r}:\n{said}")


@pytest.mark.parametrize(
    "design",
    # Seen from here the two that wake a crowd differ in nothing but their name.
    [
        pytest.param(name, marks=[pytest.mark.slow] if name == "children-watch" else [])
        for name in EXCLUSIVE
    ],
)
def test_a_run_measures_and_holds(
    locust: Locust, zk_hosts: str, zk_path: str, children: Any, design: str
) -> None:
    """A short run ends with 0, a table of microseconds, full results, and no contender left."""
    code, said = locust.run(
        *("--design", design, "--ensemble", zk_hosts, "--path", zk_path),
        *("-u", "5", "-r", "50", "-t", "2", "--hold-ms", "2"),
    )
    assert code == 0
    assert "lock.wait" in said and "lock.hold" in said and "lock.release" in said
    assert re.search(rf"{design} +5 +handoff +\d+\.\d{{3}}", said)
    assert "Traceback" not in said
    document = locust.document(f"load-{design}")
    (run,) = document["runs"]
    assert document["verdict"] is True and document["failures"] == {}
    assert run["users"] == run["served"] == 5
    assert run["hold_ms"]["p50"] >= 2.0
    assert run["server_fires"] == pytest.approx(run["fires"], rel=0.1, abs=10)
    home = locust.results / f"load-{design}" / "latest"
    assert {"report.html", "load.png", "server-metrics.json"} <= set(os.listdir(home))
    assert children(zk_path) == []


@pytest.mark.parametrize(
    "strike",
    # Both lead to the same shutdown of locust.
    [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)],
    ids=["ctrl-c", "sigterm"],
)
def test_an_interrupt_leaves_no_contender_and_still_prints_the_table(
    locust: Locust, zk_hosts: str, zk_path: str, children: Any, strike: signal.Signals
) -> None:
    """Struck in the middle of a step, it closes all sessions, says what it measured and ends."""
    process = locust.start(
        *("--design", "sequential", "--ensemble", zk_hosts, "--path", zk_path),
        *("-u", "20", "-r", "50", "--hold-ms", "2"),
    )
    read_until(process, "step begins: 20 users")
    time.sleep(1.5)
    assert len(children(zk_path)) >= 15, "the users do not contend"
    process.send_signal(strike)
    said, _ = process.communicate(timeout=30)
    assert children(zk_path) == []
    assert process.returncode == 0, said
    assert re.search(r"sequential +20 +wait +\d+\.\d{3}", said), said
    assert "none overlapped" in said and "Traceback" not in said


def test_an_interrupt_while_users_come_leaves_no_contender(
    locust: Locust, zk_hosts: str, zk_path: str, children: Any
) -> None:
    """Before any step has begun there is nothing to say (exit 2), but everything to clean up."""
    process = locust.start(
        *("--ensemble", zk_hosts, "--path", zk_path, "-u", "500", "-r", "10"),
    )
    read_until(process, "Ramping to 500 users")
    time.sleep(1.5)
    assert children(zk_path) != []
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=30)
    assert children(zk_path) == []
    assert process.returncode == 2, said
    assert "no step was held" in said and "Traceback" not in said


def test_a_broken_lock_is_caught(locust: Locust, zk_hosts: str) -> None:
    """A lock that lets everybody in ends the process with 1 and one line that names two users."""
    code, said = locust.run(
        *("--ensemble", zk_hosts, "-u", "4", "-r", "50", "-t", "2", "--hold-ms", "3"),
        locustfile=BROKEN,
    )
    assert code == 1
    lines = [line for line in said.splitlines() if "both held" in line]
    assert len(lines) == 1
    assert re.search(
        r"Not exclusive: user-\d and user-\d both held /zkkit-load/\S+ for \d+\.\d{3} ms", lines[0]
    )
    assert locust.document("load-sequential")["verdict"] is False


@pytest.mark.slow
def test_a_step_begins_when_the_sessions_are_there(locust: Locust, zk_hosts: str) -> None:
    """Users that run but connect late start the step's clock late, and it is held in full."""
    code, said = locust.run(
        *("--ensemble", zk_hosts, "-u", "3", "-r", "50", "-t", "2"), locustfile=LATE
    )
    assert code == 0
    spawned, began, ended = (
        _clock(said, text) for text in ("All users spawned", "step begins", "step ends")
    )
    assert began - spawned >= 3.0
    assert ended - began >= 2.0


@pytest.mark.slow
def test_steps_are_measured_apart(locust: Locust, zk_hosts: str) -> None:
    """Two steps give two lines, each with its own number of users."""
    code, _ = locust.run("--ensemble", zk_hosts, "--steps", "2,4", "-r", "50", "-t", "2")
    assert code == 0
    document = locust.document("load-sequential")
    assert [(run["users"], run["served"]) for run in document["runs"]] == [(2, 2), (4, 4)]


@pytest.mark.slow
def test_a_user_struck_by_a_timeout_keeps_no_contender(
    locust: Locust, zk_hosts: str, zk_path: str, children: Any
) -> None:
    """gevent.Timeout ends a user at once, without on_stop; its session is closed all the same."""
    process = locust.start(
        *("--ensemble", zk_hosts, "--path", zk_path, "-u", "3", "-r", "50"), locustfile=STRICKEN
    )
    read_until(process, "failed with Timeout")
    assert len(children(zk_path)) == 3, "the dead user's node should be there, and two waiting"
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert children(zk_path) == []


def test_servers_that_are_not_there_are_one_sentence(locust: Locust) -> None:
    """Unreachable hosts end the test with 2 and a sentence, before any user has started."""
    code, said = locust.run("--ensemble", "127.0.0.1:1", "-u", "20", "-r", "50", "-t", "5")
    assert code == 2
    assert said.count("no server of 127.0.0.1:1 gave us a session") == 1
    assert "Traceback" not in said and "All users spawned" not in said


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--design", "fair"), "herd"),
        (("--ensemble", "dokker"), "dokker"),
        (("--hold-ms", "-3"), "0 to 10000 milliseconds"),
        (("--steps", "3,many"), "3,many"),
        (("--processes", "2"), "one process only"),
    ],
)
def test_a_wrong_flag_is_a_sentence(locust: Locust, arguments: tuple[str, str], word: str) -> None:
    """A flag that cannot be meant ends with 2 and says what is wrong or what would be right."""
    code, said = locust.run(*arguments)
    assert code == 2
    assert word in said and "Traceback" not in said


@pytest.mark.slow
def test_two_hundred_users_on_one_lock(
    locust: Locust, zk_hosts: str, zk_path: str, children: Any
) -> None:
    """Two hundred users share one sequential lock without an error and without an overlap."""
    code, _ = locust.run(
        *("--design", "sequential", "--ensemble", zk_hosts, "--path", zk_path),
        *("-u", "200", "-r", "100", "-t", "15", "--hold-ms", "1"),
    )
    document = locust.document("load-sequential")
    (run,) = document["runs"]
    assert code == 0 and document["failures"] == {} and document["verdict"] is True
    assert run["users"] == 200 and run["acquisitions"] >= 200
    assert run["fires_each"] == pytest.approx(1.0, abs=0.05)
    assert children(zk_path) == []


@pytest.mark.slow
def test_the_comparison_shows_the_herd(zk_hosts: str, tmp_path: Path) -> None:
    """`python -m loadtests` runs both designs, and the herd fires more than the queue does."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "loadtests", "--ensemble", zk_hosts),
            *("--users", "12", "--seconds", "3", "--repeats", "1", "--results", str(tmp_path)),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=110,
    )
    print(done.stdout, done.stderr)
    assert done.returncode == 0
    document = json.loads((tmp_path / "load" / "latest" / "results.json").read_text())
    fires = {line["design"]: line["server_fires_each"]["median"] for line in document["figures"]}
    assert fires["herd"] > 2 * fires["sequential"]
    assert (tmp_path / "load" / "latest" / "report.html").exists()


@pytest.mark.slow
def test_a_comparison_without_servers_is_one_sentence(tmp_path: Path) -> None:
    """`python -m loadtests` on hosts that are not there ends with 2 and says why, in one line."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "loadtests", "--ensemble", "127.0.0.1:1"),
            *("--seconds", "1", "--results", str(tmp_path)),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    print(done.stdout, done.stderr)
    assert done.returncode == 2
    assert "Traceback" not in done.stdout + done.stderr
    (line,) = (line for line in done.stdout.splitlines() if "Nobody knows" in line)
    assert "0 of 4 runs" in line and "no server of 127.0.0.1:1 gave us a session" in line


def _clock(said: str, text: str) -> float:
    """When locust said that, in seconds of its log's clock."""
    line = next(line for line in said.splitlines() if text in line)
    found = re.search(r"(\d\d):(\d\d):(\d\d),(\d{3})", line)
    assert found, line
    hours, minutes, seconds, ms = map(int, found.groups())
    return hours * 3600 + minutes * 60 + seconds + ms / 1000
