"""Real servers are started, broken, mended, and never left behind."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from zkkit.ensemble import (
    EnsembleError,
    JavaMissing,
    LocalEnsemble,
    NodeNeverReady,
    PortBusy,
    ZooKeeperMissing,
    local,
    ports,
)

PATIENCE = 15.0


@pytest.fixture(scope="module")
def single() -> Iterator[LocalEnsemble]:
    """One server, for tests that need no others and do it no harm."""
    with LocalEnsemble(1) as ensemble:
        yield ensemble


@pytest.fixture(scope="module")
def breakable() -> Iterator[LocalEnsemble]:
    """Three servers that the tests of this file may break, if they mend them."""
    with LocalEnsemble() as ensemble:
        yield ensemble


def alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def eventually(what: Callable[[], bool]) -> bool:
    """Whether it becomes true in time."""
    deadline = time.monotonic() + PATIENCE
    while not what():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def free_port() -> int:
    """A port nobody listens on at the moment."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def listeners() -> Iterator[tuple[str, int]]:
    """All listening TCP sockets of this machine, as (address in hex, port)."""
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        for line in table.read_text().splitlines()[1:] if table.exists() else ():
            _, local_end, _, state, *_ = line.split()
            if state == "0A":
                address, _, port = local_end.partition(":")
                yield address, int(port, 16)


# --- a running ensemble -------------------------------------------------------------------


def test_serves_clients(zk_ensemble: LocalEnsemble, zk_path: str) -> None:
    """A client that knows all hosts writes through one node and reads through each of them."""
    hosts = [f"127.0.0.1:{port}" for port in zk_ensemble.ports.values()]
    assert zk_ensemble.hosts == ",".join(hosts)
    for number, host in enumerate((zk_ensemble.hosts, *hosts)):
        client = KazooClient(host)
        client.start()
        try:
            if number == 0:
                client.create(zk_path, b"hello")
            client.sync("/")
            assert client.get(zk_path)[0] == b"hello"
        finally:
            client.stop()
            client.close()


def test_metrics_of_every_node(zk_ensemble: LocalEnsemble) -> None:
    """Each node gives its numbers, those of the two-witness rule among them."""
    metrics = zk_ensemble.metrics()
    assert sorted(metrics) == [1, 2, 3] == list(zk_ensemble.nodes)
    for numbers in metrics.values():
        assert numbers["zk_znode_count"] >= 4
        assert "zk_sum_node_deleted_watch_count" in numbers


def test_one_leads_and_the_others_follow(zk_ensemble: LocalEnsemble) -> None:
    """leader() is the node that says so itself."""
    leader = zk_ensemble.leader()
    for node in zk_ensemble.nodes:
        expected = "leader" if node == leader else "follower"
        assert f"Mode: {expected}" in zk_ensemble.four_letter(node, "srvr")


def test_lab_settings(zk_ensemble: LocalEnsemble) -> None:
    """The servers run with the settings a lab needs and answer every four-letter word."""
    assert {
        "maxClientCnxns=0",
        "tickTime=500",
        "minSessionTimeout=1000",
        "maxSessionTimeout=60000",
        "initLimit=20",
        "syncLimit=10",
    } <= set(zk_ensemble.four_letter(1, "conf").splitlines())
    assert "Total watches:" in zk_ensemble.four_letter(1, "wchs")


def test_listens_on_loopback_only(zk_ensemble: LocalEnsemble) -> None:
    """Client, quorum and election ports are bound to 127.0.0.1 and to no other address."""
    conf = zk_ensemble.four_letter(1, "conf")
    pairs = re.findall(r"127\.0\.0\.1:(\d+):(\d+)", conf)
    ours = {int(port) for pair in pairs for port in pair} | set(zk_ensemble.ports.values())
    assert len(ours) == 9
    listening = [(address, port) for address, port in listeners() if port in ours]
    # Only a leader listens on its quorum port.
    assert len(listening) == 7
    assert {address for address, _ in listening} == {"0100007F"}


def test_description_is_plain_data(zk_ensemble: LocalEnsemble) -> None:
    """describe() goes into a report as JSON and names versions, medium and filesystem."""
    about = json.loads(json.dumps(zk_ensemble.describe()))
    assert about["backend"] == "local"
    assert about["size"] == 3
    assert about["zookeeper"][0].isdigit()
    assert about["java"][0].isdigit()
    assert about["medium"] == "memory"
    assert Path(about["directory"]).is_dir()
    assert about["filesystem"] == "tmpfs" or about["notes"]


def test_extended_node_types_are_on(single: LocalEnsemble) -> None:
    """The server keeps the setting that TTL nodes need."""
    arguments = Path(f"/proc/{single.pids[1]}/cmdline").read_text().split("\0")
    assert "-Dzookeeper.extendedTypesEnabled=true" in arguments
    assert single.leader() == 1


def test_unknown_node_is_refused(single: LocalEnsemble) -> None:
    """A node that does not exist is named, with those that do."""
    for order in (single.kill, single.pause, single.resume, single.restart):
        with pytest.raises(ValueError, match="no node 2"):
            order(2)


# --- breaking and mending -----------------------------------------------------------------


def test_killed_leader_is_replaced_and_comes_back(breakable: LocalEnsemble) -> None:
    """After SIGKILL of the leader another one leads; restarted, the old one serves again."""
    old = breakable.leader()
    pid = breakable.pids[old]
    breakable.kill(old)
    assert not alive(pid)
    assert old not in breakable.pids
    new = breakable.leader()
    assert new != old
    assert sorted(breakable.metrics()) == sorted(set(breakable.nodes) - {old})
    with pytest.raises(EnsembleError, match=f"node {old} has been killed"):
        breakable.pause(old)
    with pytest.raises(EnsembleError, match=f"node {old} does not answer"):
        breakable.four_letter(old, "ruok")
    breakable.restart(old)
    assert sorted(breakable.metrics()) == [1, 2, 3]
    assert breakable.pids[old] != pid


def test_paused_node_is_silent_and_resumed_serves(breakable: LocalEnsemble) -> None:
    """A paused follower keeps its process and answers nothing until it is resumed."""
    node = next(each for each in breakable.nodes if each != breakable.leader())
    pid = breakable.pids[node]
    breakable.pause(node)
    with socket.create_connection(("127.0.0.1", breakable.ports[node]), timeout=0.3) as asking:
        asking.sendall(b"ruok")
        with pytest.raises(TimeoutError):
            asking.recv(4)
    assert node not in breakable.metrics()
    breakable.resume(node)
    assert breakable.four_letter(node, "ruok") == "imok"
    assert breakable.pids[node] == pid


def test_data_survives_a_restart(breakable: LocalEnsemble, zk_path: str) -> None:
    """What was written before a node is ended and started is there afterwards."""
    client = KazooClient(breakable.hosts)
    client.start()
    client.create(zk_path, b"kept")
    client.stop()
    client.close()
    node = next(each for each in breakable.nodes if each != breakable.leader())
    breakable.restart(node)
    client = KazooClient(f"127.0.0.1:{breakable.ports[node]}")
    client.start()
    client.sync("/")
    assert client.get(zk_path)[0] == b"kept"
    client.stop()
    client.close()


def test_without_a_majority_there_is_no_leader(
    breakable: LocalEnsemble, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With two of three nodes killed leader() says so, and restarting them mends it."""
    first, second = 1, 2
    breakable.kill(first)
    breakable.kill(second)
    with monkeypatch.context() as patch:
        patch.setattr(local, "_DEADLINE", 0.5)
        assert eventually(lambda: "Mode" not in breakable.four_letter(3, "srvr"))
        with pytest.raises(EnsembleError, match="no leader"):
            breakable.leader()
    breakable.restart(first)
    breakable.restart(second)
    assert breakable.leader() in breakable.nodes
    assert sorted(breakable.metrics()) == [1, 2, 3]


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
        choices = iter([[[taken, free_port(), free_port()]]])
        real = ports.reserve
        monkeypatch.setattr(ports, "reserve", lambda *given: next(choices, None) or real(*given))
        with LocalEnsemble(1) as ensemble:
            assert ensemble.ports[1] != taken
            assert ensemble.leader() == 1


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"size": 0}, "at least one"),
        ({"medium": "paper"}, "paper"),
        ({"size": 3, "client_ports": [2181]}, "3 client_ports"),
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


@pytest.mark.parametrize("how", [(), ("pause",), ("fork",)], ids=["plain", "paused", "forked"])
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
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert gone(pids, tmp_path)


def test_interrupt_in_the_terminal_does_not_reach_the_servers(tmp_path: Path) -> None:
    """Ctrl-C goes to the parent's process group; the parent, not the signal, ends the servers."""
    process, pids = child(tmp_path)
    guardians = {os.getpgid(pid) for pid in pids}
    assert os.getpgid(process.pid) not in guardians
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=PATIENCE)
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
