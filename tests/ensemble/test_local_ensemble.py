"""Servers as processes: what is special to them, and that they are never left behind."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.processes import alive, free_port, listeners
from zkkit.ensemble import (
    EnsembleError,
    JavaMissing,
    LocalEnsemble,
    NodeNeverReady,
    PortBusy,
    ZooKeeperMissing,
    ports,
)
from zkkit.testing import eventually


@pytest.fixture(scope="module")
def single() -> Iterator[LocalEnsemble]:
    """One server, for tests that need no others and do it no harm."""
    with LocalEnsemble(1) as ensemble:
        yield ensemble


# --- a running ensemble -------------------------------------------------------------------


def test_listens_on_loopback_only(zk_ensemble: LocalEnsemble) -> None:
    """Clients', quorum, election and relays' ports are bound to 127.0.0.1 and to nothing else."""
    ours = set(zk_ensemble.ports.values())
    for node in zk_ensemble.nodes:
        conf = zk_ensemble.four_letter(node, "conf")
        pairs = re.findall(r"127\.0\.0\.1:(\d+):(\d+)", _servers(conf))
        ours |= {int(port) for pair in pairs for port in pair}
    # Of each node: for clients, for a quorum, for an election, and two relays to each peer.
    assert len(ours) == 3 * (3 + 2 * 2)
    listening = [(address, port) for address, port in listeners() if port in ours]
    # Only a leader listens on its quorum port.
    assert len(listening) == 3 * (2 + 2 * 2) + 1
    assert {address for address, _ in listening} == {"0100007F"}


def test_description_names_java_and_directory(zk_ensemble: LocalEnsemble) -> None:
    """describe() says which Java runs, where the data lies, and that there are relays."""
    about = json.loads(json.dumps(zk_ensemble.describe()))
    assert about["java"][0].isdigit()
    assert Path(about["directory"]).is_dir()
    assert about["relays"] is True


def test_what_an_ensemble_that_was_not_started_is_asked_for() -> None:
    """It has nothing to describe, and nobody can be told to fly."""
    ensemble = LocalEnsemble(1)
    with pytest.raises(EnsembleError, match="not running"):
        ensemble.describe()
    with pytest.raises(EnsembleError, match="nobody can 'fly' a node: there are kill"):
        ensemble.order("fly", 1)


def test_kill_ends_the_process_and_pause_keeps_it() -> None:
    """A killed node has no process and gets another; a paused one keeps its own."""
    with LocalEnsemble(1) as ensemble:
        pid = ensemble.pids[1]
        ensemble.pause(1)
        ensemble.resume(1)
        assert ensemble.pids == {1: pid}
        ensemble.kill(1)
        assert not alive(pid)
        assert ensemble.pids == {}
        ensemble.restart(1)
        assert ensemble.pids[1] != pid
        os.kill(ensemble.pids[1], signal.SIGKILL)  # not by us: noticed all the same
        assert eventually(lambda: ensemble.status()[0].state == "killed")


@pytest.mark.slow  # servers of another kind, for one refusal
def test_without_relays_nothing_can_be_cut() -> None:
    """For measuring, servers may talk to each other directly; then a cut is refused."""
    with LocalEnsemble(relays=False) as ensemble:
        servers = {_servers(ensemble.four_letter(node, "conf")) for node in ensemble.nodes}
        assert len(servers) == 1  # all are told the same: each other's own ports
        with pytest.raises(EnsembleError, match="without relays"):
            ensemble.cut(1)
        assert not ensemble.status()[0].cut


def test_single_node_has_no_peers(single: LocalEnsemble) -> None:
    """The only node of an ensemble cannot be cut off anything."""
    with pytest.raises(EnsembleError, match="no peers"):
        single.cut(1)


def _servers(conf: str) -> str:
    """The lines about servers."""
    return "\n".join(line for line in conf.splitlines() if line.startswith("server."))


def test_extended_node_types_are_on(single: LocalEnsemble) -> None:
    """The server keeps the setting that TTL nodes need."""
    arguments = Path(f"/proc/{single.pids[1]}/cmdline").read_text().split("\0")
    assert "-Dzookeeper.extendedTypesEnabled=true" in arguments
    assert single.leader() == 1


# --- starting and stopping ----------------------------------------------------------------


def test_life_of_an_ensemble(tmp_path: Path) -> None:
    """Started once, stopped as often as one likes, started afresh; nothing remains."""
    ensemble = LocalEnsemble(1, medium="disk", directory=tmp_path)
    with pytest.raises(EnsembleError, match="not running"):
        _ = ensemble.hosts
    ensemble.stop()
    for _ in range(2):
        ensemble.start()
        pid = ensemble.pids[1]
        with pytest.raises(EnsembleError, match="already running"):
            ensemble.start()
        assert alive(pid)
        assert list(tmp_path.iterdir()) == [Path(ensemble.describe()["directory"])]
        ensemble.stop()
        ensemble.stop()
        assert not alive(pid)
        assert list(tmp_path.iterdir()) == []
    with pytest.raises(EnsembleError, match="not running"):
        ensemble.metrics()


def test_given_ports_are_used_and_a_busy_one_is_named() -> None:
    """A free port that was asked for is used; while it is, another ensemble is told it is busy."""
    port = free_port()
    with LocalEnsemble(1, client_ports=[port]) as ensemble:
        assert ensemble.hosts == f"127.0.0.1:{port}"
        with pytest.raises(PortBusy, match=rf"(?s)port {port} .*client_ports") as caught:
            LocalEnsemble(1, client_ports=[port]).start()
        assert caught.value.port == port


def test_lost_race_for_a_port_is_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a chosen port is taken before the server binds it, other ports are chosen."""
    with socket.create_server(("127.0.0.1", 0)) as thief:
        taken = thief.getsockname()[1]
        choices = iter([{1: taken}])
        real = ports.Reservation.for_clients
        monkeypatch.setattr(
            ports.Reservation,
            "for_clients",
            lambda *given: next(choices, None) or real(*given),
        )
        with LocalEnsemble(1) as ensemble:
            assert ensemble.ports[1] != taken
            assert ensemble.leader() == 1


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"size": 0}, "at least one"),
        ({"medium": "paper"}, "paper"),
        ({"size": 3, "client_ports": [2181]}, "3 client_ports"),
        ({"size": 1, "client_ports": [70000]}, "70000 is no port"),
    ],
)
def test_nonsense_is_refused_at_once(wrong: dict[str, object], says: str) -> None:
    """Arguments that cannot work are refused before anything is started."""
    with pytest.raises(ValueError, match=says):
        LocalEnsemble(**wrong)  # type: ignore[arg-type]


def test_java_that_does_not_exist() -> None:
    """A Java that is named but not there is an error that names it and says what to do."""
    with pytest.raises(JavaMissing, match=r"(?s)/nonexistent/java.*apt-get install"):
        LocalEnsemble(1, java="/nonexistent/java").start()


def test_no_java_at_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without JAVA_HOME and with nothing on PATH the error says how to get one."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(JavaMissing, match=r"(?s)PATH.*brew install"):
        LocalEnsemble(1).start()


def test_java_that_only_pretends(tmp_path: Path) -> None:
    """A `java` that fails, as the one macOS comes with, is not taken for one."""
    stub = tmp_path / "java"
    stub.write_text("#!/bin/sh\necho 'Unable to locate a Java Runtime.' >&2\nexit 1\n")
    stub.chmod(0o755)
    with pytest.raises(JavaMissing, match="java"):
        LocalEnsemble(1, java=stub).start()


@pytest.mark.parametrize("by_environment", [False, True])
def test_home_without_zookeeper(
    by_environment: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A home that holds no ZooKeeper is an error, whichever way it was named."""
    if by_environment:
        monkeypatch.setenv("ZOOKEEPER_HOME", str(tmp_path))
    with pytest.raises(
        ZooKeeperMissing, match=r"(?is)zookeeper_home names.*apt-get install zookeeper"
    ):
        LocalEnsemble(1, zookeeper_home=None if by_environment else tmp_path).start()


def test_failed_start_keeps_the_logs_only(tmp_path: Path) -> None:
    """A server that cannot start is named with the end of its log; only logs are left behind."""
    with pytest.raises(NodeNeverReady, match="UseNoSuchCollector") as caught:
        LocalEnsemble(1, directory=tmp_path, jvm_flags=["-XX:+UseNoSuchCollector"]).start()
    assert caught.value.node == 1
    log = Path(caught.value.log)
    assert "UseNoSuchCollector" in log.read_text()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert sorted(path.name for path in files) == ["guardian.log", "node1.log"]
    assert log in files


# --- never an orphan ----------------------------------------------------------------------

CHILD = """
import json, os, sys, time
from zkkit.ensemble import LocalEnsemble
ensemble = LocalEnsemble(1, directory=sys.argv[1])
ensemble.start()
if "pause" in sys.argv:
    ensemble.pause(1)
if "fork" in sys.argv and os.fork() == 0:
    time.sleep(60)
print(json.dumps({"pids": list(ensemble.pids.values()), "me": os.getpid()}), flush=True)
if "leave" not in sys.argv:
    sys.stdin.read()
"""


def child(directory: Path, *how: str) -> tuple[subprocess.Popen[str], list[int]]:
    """A python that started an ensemble, and the ids of its servers."""
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(directory), *how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a terminal's process group of its own
    )
    assert process.stdout is not None
    return process, json.loads(process.stdout.readline())["pids"]


def gone(pids: list[int], directory: Path) -> bool:
    """Whether the servers have ended and their files are removed."""
    return not any(map(alive, pids)) and not list(directory.iterdir())


@pytest.mark.parametrize(
    "how",
    [
        pytest.param((), marks=pytest.mark.slow),
        ("pause",),
        pytest.param(("fork",), marks=pytest.mark.slow),
    ],
    ids=["plain", "paused", "forked"],
)
def test_nothing_outlives_a_killed_parent(how: tuple[str, ...], tmp_path: Path) -> None:
    """kill -9 of the parent ends its servers, paused ones too, and removes their data."""
    process, pids = child(tmp_path, *how)
    assert all(map(alive, pids))
    assert list(tmp_path.iterdir())
    process.kill()
    try:
        assert eventually(lambda: gone(pids, tmp_path))
    finally:
        if "fork" in how:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def test_leaving_without_stop_stops(tmp_path: Path) -> None:
    """A script that ends without stop() has its servers gone when it is gone itself."""
    process, pids = child(tmp_path, "leave")
    process.communicate(timeout=15)
    assert process.returncode == 0
    assert gone(pids, tmp_path)


def test_interrupt_in_the_terminal_does_not_reach_the_servers(tmp_path: Path) -> None:
    """Ctrl-C goes to the parent's process group; the parent, not the signal, ends the servers."""
    process, pids = child(tmp_path)
    guardians = {os.getpgid(pid) for pid in pids}
    assert os.getpgid(process.pid) not in guardians
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=15)
    assert gone(pids, tmp_path)


def test_killed_guardian_leaves_nothing_after_stop(tmp_path: Path) -> None:
    """Even if the guardian itself was killed, stop() ends the servers and removes their data."""
    ensemble = LocalEnsemble(1, directory=tmp_path)
    ensemble.start()
    pids = list(ensemble.pids.values())
    os.kill(os.getpgid(pids[0]), signal.SIGKILL)
    ensemble.stop()
    assert eventually(lambda: gone(pids, tmp_path))


def test_nothing_in_the_temp_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The disk medium puts all it writes below the temp directory and takes it away again."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with LocalEnsemble(1, medium="disk") as ensemble:
        assert Path(ensemble.describe()["directory"]).parent == tmp_path
        assert list(tmp_path.glob("*/node1/data/myid"))
    assert list(tmp_path.iterdir()) == []
