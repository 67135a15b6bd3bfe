"""The sentence on the card, clause by clause: notebooks and load tests drive a dockerized
three-node ensemble, and designs are compared on it. On a real engine; nothing is left behind."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.ensembles import need_engine
from zkkit.ensemble import engine

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.docker, pytest.mark.slow]


class Desk:
    """Somebody who types commands, in a directory and with a state of their own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._known = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "ZKKIT_STATE": str(directory / "state"),
        }

    def types(self, *words: str, **known: str) -> str:
        """The output of a command that must succeed."""
        done = subprocess.run(
            [sys.executable, *words],
            cwd=self.directory,
            env={**self._known, **known},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, f"{' '.join(words)} gave {done.returncode}:\n{done.stdout}"
        return done.stdout


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    need_engine()
    return Desk(tmp_path_factory.mktemp("desk"))


@pytest.fixture(scope="module")
def hosts(desk: Desk) -> Iterator[str]:
    """The connect string of servers that `zkkit ensemble up` has left running."""
    before = things()
    said = desk.types("-m", "zkkit", "ensemble", "up", "--backend", "docker")
    found = re.search(r"connect to\s+(\S+)", said)
    assert found, said
    assert things() > before
    yield found[1]
    desk.types("-m", "zkkit", "ensemble", "down")
    assert things() == before
    for server in found[1].split(","):
        host, _, port = server.rpartition(":")
        with pytest.raises(OSError), socket.create_connection((host, int(port)), timeout=1):
            pass


def things() -> set[str]:
    """All that the engine has of ours: containers, networks, volumes."""
    client = engine.connect()
    named = [c.name for c in client.containers.list(all=True)]
    named += [n.name for n in client.networks.list()]
    named += [v.name for v in client.volumes.list()]
    return {name for name in named if name.startswith("zkkit")}


def test_designs_are_compared(desk: Desk, hosts: str) -> None:
    """`zkkit compare` on the containers: the law holds, by both witnesses."""
    said = desk.types(
        *("-m", "zkkit", "compare", "--hosts", hosts),
        *("--contenders", "2,6", "--repeats", "1", "--name", "card"),
    )
    assert "The law holds" in said
    assert (desk.directory / "results" / "card" / "latest" / "report.html").is_file()


def test_a_notebook_drives_it(desk: Desk, hosts: str) -> None:
    """Walkthrough 01 executes, in its small mode, on the containers."""
    out = desk.directory / "notebooks"
    build = str(ROOT / "tools" / "build_notebooks.py")
    desk.types(build, "--small", "--out", str(out), ZKKIT_HOSTS=hosts)
    assert list(out.glob("01-*.ipynb"))


def test_a_load_test_drives_it(desk: Desk, hosts: str) -> None:
    """Locust users contend on the containers: no error, no overlap, exit 0."""
    said = desk.types(
        *("-m", "locust", "-f", str(ROOT / "loadtests" / "locks.py"), "--headless"),
        *("--only-summary", "--ensemble", hosts, "--design", "sequential"),
        *("--steps", "10", "-r", "20", "-t", "4"),
    )
    assert "none overlapped" in said


def test_a_load_test_brings_its_own(desk: Desk) -> None:
    """`--ensemble docker` starts containers for the time of the test, and no longer."""
    before = things()
    said = desk.types(
        *("-m", "locust", "-f", str(ROOT / "loadtests" / "locks.py"), "--headless"),
        *("--only-summary", "--ensemble", "docker", "--design", "herd"),
        *("--steps", "5", "-r", "20", "-t", "3"),
    )
    assert "none overlapped" in said
    assert things() == before
