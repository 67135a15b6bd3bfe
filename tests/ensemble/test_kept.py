"""`zkkit ensemble`: servers stay up between commands, and their end leaves nothing."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import zkkit
from tests.support.ensembles import BACKENDS, need_engine, traces
from tests.support.processes import alive, answers, free_port, processes_with
from zkkit.cli import main
from zkkit.ensemble import engine, kept
from zkkit.testing import eventually


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest, state_directory: Path) -> Iterator[str]:
    """Each backend in turn, with a state directory of its own; ended whatever happens."""
    if request.param == "docker":
        need_engine()
    yield request.param
    kept.down()


def run(*words: str) -> int:
    """What the command line's exit code is."""
    return main(["ensemble", *words])


def note(state: Path) -> dict[str, object]:
    """What is written down about the ensemble that is up."""
    found: dict[str, object] = json.loads((state / "ensemble.json").read_text())
    return found


def test_up_break_mend_down(
    backend: str, state_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Servers serve between commands; each order is carried out; down ends everything."""
    assert run("up", "--backend", backend) == 0
    said = capsys.readouterr().out
    hosts = str(note(state_directory)["hosts"])
    assert hosts in said
    assert "zkkit ensemble down" in said
    with zkkit.connect(hosts) as session:
        session.create("/kept", b"between commands")
        assert run("status") == 0
    assert capsys.readouterr().out.count("follower") == 2

    assert run("kill", "leader") == 0
    assert "killed" in capsys.readouterr().out
    assert run("restart") == 0  # what was killed, whoever leads by now
    assert "killed" not in capsys.readouterr().out
    assert run("pause", "1") == 0
    assert "paused" in capsys.readouterr().out
    assert run("resume", "1") == 0
    assert run("cut", "2") == 0
    assert "cut off" in capsys.readouterr().out
    assert run("heal") == 0
    assert "cut off" not in capsys.readouterr().out
    assert run("kill", "4") == 2
    assert "no node 4" in capsys.readouterr().err

    assert run("up", "--backend", backend) == 0  # a second up finds the first
    assert "up already" in capsys.readouterr().out
    assert str(note(state_directory)["hosts"]) == hosts

    ports = [int(host.rpartition(":")[2]) for host in hosts.split(",")]
    assert run("down") == 0
    assert not any(map(answers, ports))
    assert not (state_directory / "ensemble.json").exists()
    assert run("status") == 1
    assert "no ensemble is up" in capsys.readouterr().out
    assert run("down") == 0


@pytest.mark.slow  # the ports themselves are shown by test_local_ensemble.py
def test_given_ports(backend: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Servers take the ports they are given; a busy one is named, and nothing is started."""
    wanted = [free_port() for _ in range(3)]
    text = ",".join(map(str, wanted))
    with socket.create_server(("127.0.0.1", wanted[1])):
        assert run("up", "--backend", backend, "--ports", text) == 2
        assert f"port {wanted[1]}" in capsys.readouterr().err
        assert run("status") == 1
    assert run("up", "--backend", backend, "--ports", text) == 0
    assert [each.port for each in kept.find().servers.status()] == wanted


def test_killed_supervisor_is_noticed(
    state_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """kill -9 of the supervisor ends the servers; the next command says so and cleans up."""
    assert run("up", "--backend", "local") == 0
    there = kept.find()
    ports = [each.port for each in there.servers.status()]
    pid = int(str(note(state_directory)["pid"]))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert not alive(pid)
    capsys.readouterr()
    assert run("status") == 1
    assert "has ended" in capsys.readouterr().out
    assert not (state_directory / "ensemble.json").exists()
    assert eventually(lambda: not any(map(answers, ports)))


@pytest.mark.slow  # another end than that of the supervisor, above
def test_interrupted_up_leaves_nothing(state_directory: Path) -> None:
    """If `up` is killed while its servers start, they and their supervisor end as well."""
    command = [sys.executable, "-m", "zkkit", "ensemble", "up", "--backend", "local"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as starting:
        assert eventually(lambda: len(of_state(state_directory)) >= 4)  # a server among them
        starting.kill()
    eventually(
        lambda: not of_state(state_directory), 30, otherwise=lambda: of_state(state_directory)
    )
    assert not (state_directory / "ensemble.json").exists()


def of_state(state: Path) -> list[int]:
    """The processes that were started with this state directory."""
    return processes_with("ZKKIT_STATE", str(state))


@pytest.mark.slow  # the rude one is shown above
def test_polite_signal_ends_the_supervisor(state_directory: Path) -> None:
    """SIGTERM to the supervisor, as at a shutdown, ends the servers too."""
    assert run("up", "--backend", "local") == 0
    ports = [each.port for each in kept.find().servers.status()]
    pid = int(str(note(state_directory)["pid"]))
    os.kill(pid, signal.SIGTERM)
    os.waitpid(pid, 0)
    assert not any(map(answers, ports))


def test_control_needs_the_key(state_directory: Path) -> None:
    """Who does not know the key gets no answer, and does not harm the supervisor."""
    from zkkit.ensemble.supervisor import Supervised, SupervisorGone

    assert run("up", "--backend", "local") == 0
    try:
        about = note(state_directory)
        assert (state_directory / "ensemble.json").stat().st_mode & 0o077 == 0
        stranger = Supervised(int(str(about["pid"])), int(str(about["port"])), "00" * 16)
        with pytest.raises(SupervisorGone):
            stranger.status()
        with socket.create_connection(("127.0.0.1", int(str(about["port"])))) as noise:
            noise.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert run("status") == 0
    finally:
        assert run("down") == 0


@pytest.mark.parametrize("text", ["", "{}", '{"schema": 99}', "not JSON"])
def test_spoilt_note_is_removed(
    text: str, state_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A note that cannot be understood is removed, and is no reason to fail."""
    state_directory.mkdir()
    (state_directory / "ensemble.json").write_text(text)
    assert run("status") == 1
    assert "has ended" in capsys.readouterr().out
    assert run("status") == 1
    assert "no ensemble is up" in capsys.readouterr().out


@pytest.mark.slow  # a second pair of up and down
def test_purge_removes_the_state(
    state_directory: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`down --purge` leaves no state directory; without an engine too."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    assert run("up", "--backend", "local") == 0
    assert run("down", "--purge") == 0
    assert not state_directory.exists()


@pytest.mark.docker
def test_removed_container_is_noticed(
    state_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """If a container is removed by others, the next command removes the rest and says so."""
    need_engine()
    assert run("up", "--backend", "docker") == 0
    project = str(note(state_directory)["project"])
    found = engine.connect().containers.list(
        filters={
            "label": [
                f"com.docker.compose.project={project}",
                "com.docker.compose.service=zoo2",
            ]
        }
    )
    found[0].remove(force=True)
    capsys.readouterr()
    assert run("status") == 1
    assert "has ended" in capsys.readouterr().out
    assert traces(project) == []


@pytest.mark.docker
def test_lost_note_loses_no_container(state_directory: Path) -> None:
    """Containers whose note was lost are found again by the next `up`, and by `down --purge`."""
    need_engine()
    assert run("up", "--backend", "docker", "--medium", "disk") == 0
    project = str(note(state_directory)["project"])
    (state_directory / "ensemble.json").unlink()
    assert run("up", "--backend", "docker") == 0
    assert kept.find().medium == "memory"
    assert run("down") == 0
    assert traces(project) == []
