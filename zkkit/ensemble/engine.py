"""The container engine: finding it, its compose, and the image to run."""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from zkkit.ensemble.errors import ComposeMissing, EngineMissing, ImageMissing

OFFICIAL = "zookeeper:3.9"
OWN = "zkkit-zookeeper"
"""The image that docker/Dockerfile builds."""
BUILT = "zkkit.built"
"""The label of the images that docker/Dockerfile and tools/docker-engine.sh have made."""

_DEFAULT = "unix:///var/run/docker.sock"
_ANSWER = 5.0  # seconds for an engine to answer at all
_WORK = 60.0  # seconds for it to do what it was asked
_PULL = 10.0  # seconds without any news from a pull
_LOCAL = ("127.0.0.1", "localhost", "::1")
_ELSE_LOCAL = "or do without containers: --backend local, LocalEnsemble"


def endpoint() -> str:
    """Where the engine listens: $DOCKER_HOST, else as docker's own context says."""
    if named := os.environ.get("DOCKER_HOST"):
        return named
    docker = shutil.which("docker")
    if docker is not None and not Path(urlsplit(_DEFAULT).path).exists():
        # Desktop engines put their socket somewhere else and say so in a context.
        asked = [docker, "context", "inspect", "--format", "{{.Endpoints.docker.Host}}"]
        answer = _run(asked)
        if answer is not None and answer.startswith(("unix://", "tcp://")):
            return answer
    return _DEFAULT


def connect() -> Any:
    """A client of the engine (docker's SDK). Raises EngineMissing, with what to do about it."""
    where = endpoint()
    _knock(where)
    try:
        sdk = _sdk()
    except ImportError as error:
        raise EngineMissing(
            f"an engine listens at {where}, but the Python package `docker` is not installed",
            hint=f"pip install 'zkkit[docker]', {_ELSE_LOCAL}",
        ) from error
    try:
        client = sdk.DockerClient(base_url=where, version="auto", timeout=_ANSWER)
        client.ping()
        client.api.timeout = _WORK
    except Exception as error:  # the SDK lets requests' and urllib3's errors through as well
        raise EngineMissing(
            f"the engine at {where} does not answer as one ({error})",
            hint=f"restart it (systemctl restart docker), {_ELSE_LOCAL}",
        ) from error
    return client


def compose() -> list[str]:
    """The command that runs compose files: the plugin, or the older program of its own. Raises
    ComposeMissing if there is neither."""
    tried = (["docker", "compose"], ["docker-compose"])
    for command in tried:
        if shutil.which(command[0]) is not None and _run([*command, "version"]) is not None:
            return command
    raise ComposeMissing(
        "neither `docker compose` nor `docker-compose` is installed",
        hint="install one (Debian, Ubuntu: apt-get install docker-compose; else docker's compose "
        f"plugin), {_ELSE_LOCAL}",
    )


def image(client: Any, wanted: str | None = None) -> str:
    """The name of an image that is there: the wanted one (or $ZKKIT_IMAGE), the official, ours.

    If none is there it is pulled. Raises ImageMissing, within seconds, if that is not possible.
    """
    named = wanted or os.environ.get("ZKKIT_IMAGE")
    for name in [named] if named else [OFFICIAL, OWN]:
        with contextlib.suppress(_sdk().errors.ImageNotFound):
            client.images.get(name)
            return name
    return _pull(client, named or OFFICIAL)


def _knock(where: str) -> None:
    """Check that an engine listens; the SDK's own error would not say why it does not."""
    parts = urlsplit(where)
    try:
        if parts.scheme == "unix":
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(_ANSWER)
                connection.connect(parts.path)
        elif parts.scheme in ("tcp", "http", "https") and parts.hostname in _LOCAL:
            address = (parts.hostname, parts.port or 2375)
            socket.create_connection(address, timeout=_ANSWER).close()
        else:
            raise EngineMissing(
                f"the engine at {where} is on another machine: its servers would listen on that "
                "machine's loopback, where we cannot reach them",
                hint="run zkkit there, or unset DOCKER_HOST to use an engine of this machine",
            )
    except PermissionError as error:
        raise EngineMissing(
            f"no permission to use the engine at {where}",
            hint="join the group docker (sudo usermod -aG docker $USER, then log in again), "
            f"{_ELSE_LOCAL}",
        ) from error
    except OSError as error:
        raise EngineMissing(
            f"no engine answers at {where} ({error.strerror or error})",
            hint="start it (systemctl start docker, or Docker Desktop), set DOCKER_HOST if it "
            f"listens elsewhere, {_ELSE_LOCAL}",
        ) from error


def _pull(client: Any, name: str) -> str:
    sdk = _sdk()
    repository, tag = sdk.utils.parse_repository_tag(name)
    # A registry that cannot be reached is noticed when there has been no news for a while.
    client.api.timeout = _PULL
    try:
        news: dict[str, Any]
        for news in client.api.pull(repository, tag=tag or "latest", stream=True, decode=True):
            if "error" in news:
                raise sdk.errors.APIError(news["error"])
    except Exception as error:  # as above: those of three libraries
        why = getattr(error, "explanation", None) or error
        raise ImageMissing(
            f"the image {name} is not here and cannot be pulled ({why})",
            hint=f"without a network: build one from Debian's packages (docker build -t {OWN} "
            "docker; where no base image can be pulled either, as root: tools/docker-engine.sh "
            f"image), name one that is here by ZKKIT_IMAGE, {_ELSE_LOCAL}",
        ) from error
    finally:
        client.api.timeout = _WORK
    return name


def _sdk() -> Any:
    """docker's SDK, imported only when it is needed."""
    sdk = importlib.import_module("docker")
    # Without it, in a checkout of zkkit, our own directory docker/ passes for an empty package.
    if not hasattr(sdk, "DockerClient"):
        raise ImportError("no module named docker")
    return sdk


def _run(command: list[str]) -> str | None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_ANSWER * 2, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
