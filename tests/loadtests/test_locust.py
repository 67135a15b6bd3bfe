"""The load test itself: locust as a process of its own, against real servers."""

from __future__ import annotations

import html
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
from kazoo.client import KazooClient

from tests.support.processes import answers, free_port, processes_with
from zkkit.bench.designs import EXCLUSIVE
from zkkit.testing import eventually

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ROOT / "loadtests" / "locks.py"
MARK = "ZKKIT_TEST_OF_LOCUST"

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
NO_FORK = f"""{LOCAL}
import os
os.register_at_fork(before=lambda: print("forked", flush=True))
"""
SLOW_TO_LOAD = f"""{LOCAL}
print("loading", flush=True)
for _ in range(6000):
    gevent.sleep(0.01)  # Python looks for signals between two sleeps, gevent not always in one
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
        command = [sys.executable, "-m", "locust", "-f", str(file), "--only-summary"]
        process = subprocess.Popen(
            [*command, "--results", str(self.results), *arguments],
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "PYTHONUNBUFFERED": "1",
                MARK: str(self._directory),
            },
            cwd=self._directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._processes.append(process)
        return process

    def run(self, *arguments: str, locustfile: str | None = None) -> tuple[int, str]:
        process = self.start("--headless", *arguments, locustfile=locustfile)
        said, _ = process.communicate(timeout=100)
        print(said)
        return process.returncode, said

    def document(self, name: str) -> dict[str, Any]:
        text = (self.results / name / "latest" / "results.json").read_text()
        found: dict[str, Any] = json.loads(text)
        return found

    def left(self) -> list[int]:
        """The processes, locust's or its children's, that are there."""
        return processes_with(MARK, str(self._directory))

    def close(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()


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
    # Seen from here they differ in nothing but their name.
    [
        pytest.param(name, marks=[] if name == "sequential" else [pytest.mark.slow])
        for name in EXCLUSIVE
    ],
)
def test_a_run_measures_and_holds(
    locust: Locust, zk_hosts: str, zk_path: str, children: Any, design: str
) -> None:
    """A short run ends with 0, a table of microseconds, full results, and no contender left."""
    code, said = locust.run(
        *("--design", design, "-H", zk_hosts, "--path", zk_path),
        *("-u", "5", "-r", "50", "-t", "2", "--hold-ms", "2"),
    )
    assert code == 0
    assert "lock.wait" in said and "lock.hold" in said and "lock.release" in said
    assert re.search(rf"{design} +5 +handoff +\d", said)
    assert "Traceback" not in said
    document = locust.document(f"load-{design}")
    (run,) = document["runs"]
    assert document["verdict"] is True and document["failures"] == {}
    assert run["users"] == run["served"] == 5
    assert run["hold_ms"]["p50"] >= 2.0
    assert run["server_fires"] == pytest.approx(run["fires"], rel=0.1, abs=10)
    home = locust.results / f"load-{design}" / "latest"
    assert {"report.html", "load.png", "server-metrics.json"} <= set(os.listdir(home))
    metrics = json.loads((home / "server-metrics.json").read_text())
    assert len(metrics["before"]) == len(metrics["after"]) == 3
    assert children(zk_path) == []


@pytest.mark.slow  # users that come, work and are ended
@pytest.mark.parametrize(
    "strike",
    [signal.SIGINT, signal.SIGTERM],
    ids=["ctrl-c", "sigterm"],
)
def test_an_interrupted_run_is_unknown_leaves_no_contender_and_prints_the_table(
    locust: Locust, zk_hosts: str, zk_path: str, children: Any, strike: signal.Signals
) -> None:
    """Struck in the middle of a step, it closes all sessions, says what it measured, and exits 2.

    Struck again at once, as by a terminal and by `make load`, it says that it is stopping.
    """
    process = locust.start(
        *("--headless", "--design", "sequential", "-H", zk_hosts, "--path", zk_path),
        *("-u", "20", "-r", "50", "-t", "60", "--hold-ms", "2"),
    )
    read_until(process, "step begins: 20 users")
    eventually(lambda: len(children(zk_path)) >= 15, otherwise=lambda: "the users do not contend")
    process.send_signal(strike)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert children(zk_path) == [] and locust.left() == []
    assert process.returncode == 2, said
    assert re.search(r"sequential +20 +wait ", said), said
    assert "Unknown: the test was interrupted" in said and "Traceback" not in said
    assert locust.document("load-sequential")["verdict"] == "unknown"


@pytest.mark.slow  # another moment of the interrupt above
def test_an_interrupt_while_users_come_leaves_no_contender(
    locust: Locust, zk_hosts: str, zk_path: str, children: Any
) -> None:
    """Before any step has begun there is nothing to say (exit 2), but everything to clean up."""
    process = locust.start(
        *("--headless", "-H", zk_hosts, "--path", zk_path, "-u", "500", "-r", "10"),
    )
    read_until(process, "Ramping to 500 users")
    assert eventually(lambda: children(zk_path) != [])
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert children(zk_path) == []
    assert process.returncode == 2, said
    assert "Unknown: the test was interrupted" in said and "Traceback" not in said


@pytest.mark.slow  # another moment, with servers of its own
@pytest.mark.parametrize("mode", ["--headless", "--autostart"])
def test_an_interrupt_while_its_servers_start_leaves_no_process(locust: Locust, mode: str) -> None:
    """Whether they are up by then or not: unknown, exit 2, and they are ended."""
    process = locust.start(
        *(mode, "--web-port", str(free_port()), "-H", "local", "-u", "3", "-t", "60")
    )
    read_until(process, "Starting three ZooKeeper servers")
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 2, said
    assert re.search("Unknown: (no test was made|the test was interrupted)", said), said
    assert "Traceback" not in said
    assert eventually(lambda: locust.left() == [], 60), locust.left()


@pytest.mark.slow  # another moment, before anything is there
def test_an_interrupt_before_the_start_is_a_sentence(locust: Locust) -> None:
    """Ctrl-C before locust has anything to stop says unknown too, without a traceback."""
    process = locust.start("--headless", locustfile=SLOW_TO_LOAD)
    read_until(process, "loading")
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "the verdict is unknown" in said and "Traceback" not in said


@pytest.mark.slow  # the page is locust's own; what it starts and ends is tested headless
def test_the_page_takes_a_connect_string_and_its_stop_button_ends_a_test(
    locust: Locust, zk_hosts: str, zk_path: str, children: Any
) -> None:
    """The field Host names the servers. A test without an end that is stopped there can hold; the
    next one, interrupted, makes the whole unknown."""
    port = free_port()
    process = locust.start(
        *("--web-port", str(port), "--ensemble", "local", "--path", zk_path, "--hold-ms", "1")
    )
    read_until(process, "Starting web interface")

    def post(where: str, **form: str) -> bytes:
        data = urlencode(form).encode() if form else b""
        with urlopen(f"http://127.0.0.1:{port}/{where}", data, timeout=30) as answer:
            found: bytes = answer.read()
        return found

    assert eventually(lambda: answers(port))
    with urlopen(f"http://127.0.0.1:{port}/", timeout=30) as page:
        assert '"host": "local"' in html.unescape(page.read().decode())

    def begin() -> None:
        assert b"true" in post("swarm", user_count="3", spawn_rate="50", host=zk_hosts)
        said = read_until(process, "step begins: 3 users")
        assert "Starting three ZooKeeper servers" not in said
        assert eventually(lambda: children(zk_path) != [])

    begin()
    post("stop")
    read_until(process, "The lock was exclusive")
    begin()
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 2, said
    assert "Unknown: the test was interrupted" in said and "Traceback" not in said
    assert children(zk_path) == [] and locust.left() == []


def test_a_broken_lock_is_caught(locust: Locust, zk_hosts: str) -> None:
    """A lock that lets everybody in ends the process with 1 and one line that names two users."""
    code, said = locust.run(
        *("-H", zk_hosts, "-u", "4", "-r", "50", "-t", "2", "--hold-ms", "3"),
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
    code, said = locust.run(*("-H", zk_hosts, "-u", "3", "-r", "50", "-t", "2"), locustfile=LATE)
    assert code == 0
    spawned, began, ended = (
        _clock(said, text) for text in ("All users spawned", "step begins", "step ends")
    )
    # A line may be written a little after what it tells of.
    assert began - spawned >= 2.5
    assert ended - began >= 1.5


@pytest.mark.slow
def test_steps_are_measured_apart(locust: Locust, zk_hosts: str) -> None:
    """Two steps give two lines, each with its own number of users."""
    code, _ = locust.run("-H", zk_hosts, "--steps", "2,4", "-r", "50", "-t", "2")
    assert code == 0
    document = locust.document("load-sequential")
    assert [(run["users"], run["served"]) for run in document["runs"]] == [(2, 2), (4, 4)]


@pytest.mark.slow
def test_a_user_struck_by_a_timeout_keeps_no_contender(
    locust: Locust, zk_hosts: str, zk_path: str, children: Any
) -> None:
    """gevent.Timeout ends a user at once, without on_stop; its session is closed all the same."""
    process = locust.start(
        *("--headless", "-H", zk_hosts, "--path", zk_path, "-u", "3", "-r", "50"),
        locustfile=STRICKEN,
    )
    read_until(process, "failed with Timeout")
    assert len(children(zk_path)) == 3, "the dead user's node should be there, and two waiting"
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert children(zk_path) == []


@pytest.mark.slow  # a connect's whole patience; tests/cli shows the sentence
def test_servers_that_are_not_there_are_one_sentence(locust: Locust) -> None:
    """Unreachable hosts end the test with 2 and a sentence, before any user has started."""
    code, said = locust.run("-H", "127.0.0.1:1", "-u", "20", "-r", "50", "-t", "5")
    assert code == 2
    assert said.count("no server of 127.0.0.1:1 gave us a session") == 1
    assert "Traceback" not in said and "All users spawned" not in said


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--design", "fair"), "herd"),
        # Each takes a process; test_options.py has them all in this one.
        pytest.param(("--ensemble", "dokker"), "dokker", marks=pytest.mark.slow),
        pytest.param(("--hold-ms", "-3"), "0 to 10000 milliseconds", marks=pytest.mark.slow),
        pytest.param(("--steps", "3,many"), "3,many", marks=pytest.mark.slow),
        pytest.param(("-H", "dokker"), "dokker", marks=pytest.mark.slow),
        pytest.param(
            ("-H", "local", "--ensemble", "local"), "give one of them", marks=pytest.mark.slow
        ),
    ],
)
def test_a_wrong_flag_is_a_sentence(locust: Locust, arguments: tuple[str, ...], word: str) -> None:
    """A flag that cannot be meant ends with 2 and says what is wrong or what would be right."""
    code, said = locust.run(*arguments)
    assert code == 2
    assert word in said and "Traceback" not in said


@pytest.mark.parametrize(
    "arguments",
    [
        ("--processes", "2"),
        *(
            pytest.param(words, marks=pytest.mark.slow)
            for words in (("--processes", "-1"), ("--master",), ("--worker",))
        ),
    ],
)
def test_several_processes_are_refused_before_there_are_any(
    locust: Locust, arguments: tuple[str, ...]
) -> None:
    """Refused when the flags are read, so nothing has been forked that could stay behind."""
    code, said = locust.run(*arguments, locustfile=NO_FORK)
    assert code == 2
    assert "one process only" in said and "Traceback" not in said
    assert "forked" not in said and locust.left() == []


def test_help_has_our_options_beside_locusts() -> None:
    """locust's own --help ends before it has loaded a locustfile; ours knows the options first."""
    done = subprocess.run(
        [sys.executable, "-m", "loadtests.locks", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0
    options = ("--design", "--ensemble", "--hold-ms", "--steps", "--path", "--results", "--users")
    assert [option for option in options if option not in done.stdout] == []


@pytest.mark.slow
def test_two_hundred_users_on_one_lock(
    locust: Locust, zk_hosts: str, zk_path: str, children: Any
) -> None:
    """Two hundred users share one sequential lock without an error and without an overlap."""
    code, _ = locust.run(
        *("--design", "sequential", "-H", zk_hosts, "--path", zk_path),
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
            *(sys.executable, "-m", "loadtests", "-H", zk_hosts),
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
            *(sys.executable, "-m", "loadtests", "-H", "127.0.0.1:1"),
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
    (line,) = (line for line in done.stdout.splitlines() if "Unknown:" in line)
    assert "0 of 4 runs" in line and "no server of 127.0.0.1:1 gave us a session" in line


def _clock(said: str, text: str) -> float:
    """When locust said that, in seconds of its log's clock."""
    line = next(line for line in said.splitlines() if text in line)
    found = re.search(r"(\d\d):(\d\d):(\d\d),(\d{3})", line)
    assert found, line
    hours, minutes, seconds, ms = map(int, found.groups())
    return hours * 3600 + minutes * 60 + seconds + ms / 1000
