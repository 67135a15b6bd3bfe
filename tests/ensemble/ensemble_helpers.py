"""What the tests of ensembles share."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from zkkit.ensemble import EnsembleError, engine

PATIENCE = 15.0

#: Both backends; the second only where an engine answers.
BACKENDS = ["local", pytest.param("docker", marks=pytest.mark.docker)]


def need_engine() -> None:
    """Skip the test, with the reason, if no engine or image is there; in CI that is a failure."""
    try:
        client = engine.connect()
        engine.compose()
        engine.image(client)
    except EnsembleError as error:
        if os.environ.get("ZKKIT_NEED_DOCKER"):
            raise
        pytest.skip(error.message)


def eventually(what: Callable[[], bool], patience: float = PATIENCE) -> bool:
    """Whether it becomes true in time."""
    deadline = time.monotonic() + patience
    while not what():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def free_port() -> int:
    """A port nobody listens on at the moment."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def answers(port: int) -> bool:
    """Whether anybody listens there."""
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0


def processes_with(name: str, value: str) -> list[int]:
    """The processes that were started with this in their environment, and run."""
    wanted = f"{name}={value}".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
        except OSError:  # it has ended
            continue
    return found


def listeners() -> Iterator[tuple[str, int]]:
    """All listening TCP sockets of this machine, as (address in hex, port)."""
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        for line in table.read_text().splitlines()[1:] if table.exists() else ():
            _, local_end, _, state, *_ = line.split()
            if state == "0A":
                address, _, port = local_end.partition(":")
                yield address, int(port, 16)


def traces(project: str) -> list[str]:
    """The containers, networks and volumes an engine has of a project."""
    client = engine.connect()
    wanted = {"label": f"com.docker.compose.project={project}"}
    containers = client.containers.list(all=True, ignore_removed=True, filters=wanted)
    others = client.networks.list(filters=wanted) + client.volumes.list(filters=wanted)
    return [each.name for each in containers + others]
