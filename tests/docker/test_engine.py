"""Whatever is wrong with an engine is said in seconds, with the way out. Needs no engine."""

from __future__ import annotations

import json
import shutil
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from zkkit.ensemble import (
    ComposeMissing,
    DockerEnsemble,
    EngineMissing,
    EnsembleError,
    ImageMissing,
    engine,
)
from zkkit.ensemble.backends import choose

SOON = 8.0  # seconds


class FakeEngine(BaseHTTPRequestHandler):
    """Just enough of an engine: it has no image, and its pulls do as the test says."""

    protocol_version = "HTTP/1.1"
    pull: Callable[[FakeEngine], None]

    def do_GET(self) -> None:
        if self.path.endswith("/_ping") or self.path.endswith("/version"):
            self.say(200, {"ApiVersion": "1.41", "Version": "0.0"})
        else:
            self.say(404, {"message": "no such image"})

    def do_HEAD(self) -> None:
        self.say(200, {})

    def do_POST(self) -> None:
        type(self).pull(self)

    def say(self, status: int, about: dict[str, Any]) -> None:
        body = json.dumps(about).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[HTTPServer]:
    """An engine that answers on loopback."""
    with ThreadingHTTPServer(("127.0.0.1", 0), FakeEngine) as server:
        server.daemon_threads = True
        server.block_on_close = False  # a client keeps its connections open
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{server.server_port}")
        monkeypatch.delenv("ZKKIT_IMAGE", raising=False)
        yield server
        server.shutdown()


def test_no_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where nobody listens the error names the place and says how to start one, or do without."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(EngineMissing, match=r"(?s)none\.sock.*systemctl start.*--backend local"):
        DockerEnsemble().start()


def test_socket_without_an_engine_behind_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A socket left behind by an engine that has ended is no engine."""
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(tmp_path / "left.sock"))
    left.close()
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/left.sock")
    with pytest.raises(EngineMissing, match="no engine answers"):
        engine.connect()


def test_no_permission(monkeypatch: pytest.MonkeyPatch) -> None:
    """A socket we may not use is told apart from one that is not there."""

    class Refused(socket.socket):
        def connect(self, address: object) -> None:
            raise PermissionError(13, "Permission denied")

    monkeypatch.setenv("DOCKER_HOST", "unix:///var/run/docker.sock")
    monkeypatch.setattr(socket, "socket", Refused)
    with pytest.raises(EngineMissing, match=r"(?s)no permission.*usermod -aG docker"):
        engine.connect()


def test_engine_that_hangs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An engine that accepts and never answers is given up after seconds."""
    monkeypatch.setattr(engine, "_ANSWER", 0.5)
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(str(tmp_path / "mute.sock"))
        mute.listen()
        monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/mute.sock")
        started = time.monotonic()
        with pytest.raises(EngineMissing, match="does not answer as one"):
            engine.connect()
        assert time.monotonic() - started < SOON


def test_engine_on_another_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ports on another machine's loopback cannot be reached: refused before anything is done."""
    monkeypatch.setenv("DOCKER_HOST", "tcp://engine.example:2375")
    with pytest.raises(EngineMissing, match=r"(?s)another machine.*unset DOCKER_HOST"):
        engine.connect()


def test_package_is_not_installed(fake: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without docker's SDK the error names the extra, even where our own docker/ is on the path."""
    monkeypatch.setitem(sys.modules, "docker", type(sys)("docker"))
    with pytest.raises(EngineMissing, match=r"(?s)not installed.*zkkit\[docker\]"):
        engine.connect()


def test_no_compose(fake: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine without compose is an error that says how to get it."""
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(ComposeMissing, match=r"(?s)docker-compose.*apt-get install"):
        engine.compose()


def refused(request: FakeEngine) -> None:
    """As an engine does that cannot reach its registry."""
    request.say(500, {"message": "lookup registry.example: no such host"})


def broken_off(request: FakeEngine) -> None:
    """As an engine does whose registry goes away in the middle."""
    request.say(200, {"error": "unexpected EOF"})


def silent(request: FakeEngine) -> None:
    """As an engine does that waits for a registry which never answers."""
    threading.Event().wait(1)
    request.close_connection = True


@pytest.mark.parametrize("pull", [refused, broken_off, silent])
def test_image_cannot_be_had(
    pull: Callable[[FakeEngine], None], fake: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An image that is not there and cannot be pulled is noticed soon; the way out is a build."""
    monkeypatch.setattr(engine, "_PULL", 0.5)
    monkeypatch.setattr(FakeEngine, "pull", pull, raising=False)
    started = time.monotonic()
    with pytest.raises(ImageMissing, match=r"(?s)zookeeper:3\.9.*docker build.*docker-engine\.sh"):
        engine.image(engine.connect())
    assert time.monotonic() - started < SOON


def test_auto_falls_back_and_says_why(fake: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an image `auto` takes processes, and tells the reason."""
    monkeypatch.setattr(FakeEngine, "pull", refused, raising=False)
    monkeypatch.setattr(engine, "compose", lambda: ["docker-compose"])
    choice = choose()
    assert choice.backend == "local"
    assert "no such host" in choice.why


def test_what_was_asked_for_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A backend that was named is not replaced by another one, even if it cannot work."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    assert choose("docker").backend == "docker"
    assert choose("local").backend == "local"
    assert choose("auto").backend == "local"


def test_nothing_is_left_of_a_start_that_failed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """After a start without an engine the ensemble is not running and has no directory."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ensemble = DockerEnsemble()
    with pytest.raises(EngineMissing):
        ensemble.start()
    with pytest.raises(EnsembleError, match="not running"):
        _ = ensemble.hosts
    assert list(tmp_path.iterdir()) == []
