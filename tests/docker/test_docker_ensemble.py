"""Servers in containers: what is special to them, and that nothing of them is left behind."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.ensembles import need_engine, traces
from tests.support.processes import alive
from zkkit.ensemble import (
    DockerEnsemble,
    EnsembleError,
    ImageMissing,
    NodeNeverReady,
    NotWhole,
    PortBusy,
    containers,
    engine,
    ports,
)
from zkkit.testing import eventually

pytestmark = pytest.mark.docker


@pytest.fixture(autouse=True)
def _engine() -> None:
    need_engine()


def test_life_of_an_ensemble_on_disk() -> None:
    """Started, stopped twice, started afresh with given ports; after each end nothing remains."""
    ensemble = DockerEnsemble(medium="disk")
    with pytest.raises(EnsembleError, match="not running"):
        _ = ensemble.hosts
    ensemble.start()
    try:
        assert ensemble.describe()["medium"] == "disk"
        assert len(traces(ensemble.project)) == 3 + 2 + 6  # containers, networks, volumes
        ports = list(ensemble.ports.values())
    finally:
        ensemble.stop()
        ensemble.stop()
    assert traces(ensemble.project) == []
    with DockerEnsemble(client_ports=ports) as again:
        assert list(again.ports.values()) == ports
        with pytest.raises(PortBusy):
            DockerEnsemble(client_ports=ports).start()
    assert traces(again.project) == []


def test_port_taken_in_the_last_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a chosen port is taken before the engine binds it, other ports are chosen."""
    with socket.create_server(("127.0.0.1", 0)) as thief:
        taken = thief.getsockname()[1]
        real = ports.Reservation.for_clients
        choices = iter([{1: taken, 2: taken + 1, 3: taken + 2}])
        monkeypatch.setattr(
            ports.Reservation,
            "for_clients",
            lambda *given: next(choices, None) or real(*given),
        )
        with DockerEnsemble() as ensemble:
            assert taken not in ensemble.ports.values()
    assert traces(ensemble.project) == []


def test_network_that_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two ensembles that happen to choose the same network get along: one chooses again."""
    real = containers.some_network
    choices = iter(["198.18.7", "198.18.7"])
    monkeypatch.setattr(containers, "some_network", lambda: next(choices, None) or real())
    with DockerEnsemble() as first, DockerEnsemble() as second:
        assert first.leader() in second.nodes
        assert next(choices, None) is None  # both were chosen, so the second had to choose again
        assert sorted(second.metrics()) == [1, 2, 3]
    assert traces(first.project) + traces(second.project) == []


def test_node_that_never_serves() -> None:
    """A server that ends at once is named with the end of its log; no container remains."""
    ensemble = DockerEnsemble(jvm_flags=["-XX:+UseNoSuchCollector"])
    with pytest.raises(NodeNeverReady, match="UseNoSuchCollector") as caught:
        ensemble.start()
    log = Path(caught.value.log)
    try:
        assert "UseNoSuchCollector" in log.read_text()
    finally:
        for each in log.parent.iterdir():
            each.unlink()
        log.parent.rmdir()
        log.parent.parent.rmdir()
    assert traces(ensemble.project) == []


def test_image_that_cannot_be_had() -> None:
    """An image that no registry has is noticed in seconds, and nothing is started."""
    started = time.monotonic()
    ensemble = DockerEnsemble(image="localhost:1/no-such-image:none")
    with pytest.raises(ImageMissing, match=r"(?s)no-such-image.*docker build"):
        ensemble.start()
    assert time.monotonic() - started < 15
    assert traces(ensemble.project) == []


def test_removed_container_is_noticed() -> None:
    """When somebody removes a container, every question says so."""
    with DockerEnsemble() as ensemble:
        engine.connect().containers.get(ensemble._container(2).id).remove(force=True)
        with pytest.raises(NotWhole, match=r"nodes \[2\]"):
            ensemble.status()
    assert traces(ensemble.project) == []


CHILD = """
import sys
from zkkit.ensemble import DockerEnsemble
ensemble = DockerEnsemble(project=sys.argv[1])
if "early" in sys.argv:
    print("starting", flush=True)
ensemble.start()
print("up", flush=True)
if "leave" not in sys.argv:
    sys.stdin.read()
"""


@pytest.mark.parametrize("how", ["killed", "killed early", "leave"])
def test_nothing_outlives_its_process(how: str) -> None:
    """However the process that started them ends, also while it starts them, nothing is left."""
    project = f"zkkit-test-{how.replace(' ', '-')}"
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, project, *how.split()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        if "early" in how:
            assert eventually(lambda: bool(traces(project)))
        if "killed" in how:
            child.kill()
        child.wait(60)
        assert not alive(child.pid)
    eventually(lambda: not traces(project), 60, otherwise=lambda: traces(project))
