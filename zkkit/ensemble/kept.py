"""An ensemble that stays up between two commands, and the note by which it is found again.

The note lies in $ZKKIT_STATE, else in $XDG_STATE_HOME/zkkit, else in ~/.local/state/zkkit. There is
one such ensemble per state directory. If the servers of a note are gone, the first command that
finds the note removes it, and whatever is left of them.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from zkkit.ensemble import engine
from zkkit.ensemble.backends import Backend, choose
from zkkit.ensemble.containers import DockerEnsemble
from zkkit.ensemble.errors import EnsembleError, NotWhole
from zkkit.ensemble.place import Medium
from zkkit.ensemble.supervisor import Supervised, SupervisorGone
from zkkit.hosts import parse_hosts

SCHEMA = 1


class NothingUp(EnsembleError):
    """No ensemble is up."""

    def __init__(self, message: str = "no ensemble is up") -> None:
        super().__init__(message, hint="start one: zkkit ensemble up")


class UpOtherwise(EnsembleError):
    """An ensemble is up, but not the one that was asked for."""

    def __init__(self, differences: Sequence[str]) -> None:
        super().__init__(
            f"another ensemble is up: {'; '.join(differences)}",
            hint="end it first: zkkit ensemble down; or leave these options out to keep it",
        )


KeptServers = DockerEnsemble | Supervised
"""What a kept ensemble can be asked for order, leader, status and stop. Containers need no
supervisor: the engine keeps them."""


@dataclass(frozen=True)
class KeptEnsemble:
    """An ensemble that is up: what its note says, and a way to reach it."""

    backend: str
    hosts: str
    medium: Medium
    servers: KeptServers


def directory() -> Path:
    """Where the note lies."""
    if named := os.environ.get("ZKKIT_STATE"):
        return Path(named).expanduser().absolute()
    base = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(base).expanduser().absolute() / "zkkit"


@contextlib.contextmanager
def _locked() -> Iterator[Path]:
    """Keep others from starting or ending the ensemble. Yields the note's path."""
    home = directory()
    home.mkdir(parents=True, exist_ok=True)
    with open(home / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield home / "ensemble.json"


def up(
    backend: Backend,
    *,
    medium: Medium | None = None,
    client_ports: Sequence[int] | None = None,
    on_start: Callable[[], None] = lambda: None,
) -> tuple[KeptEnsemble, str]:
    """Return the ensemble that is up, or start one; and say why it is that one.

    An option that is left out ("auto", None) matches any ensemble. `on_start` is called before
    servers are started.

    Raises UpOtherwise if the one that is up was started with other options, EnsembleError if none
    can be started.
    """
    with _locked() as note:
        ensemble = _find(note)
        if ensemble is not None:
            if differences := list(_differences(ensemble, backend, medium, client_ports)):
                raise UpOtherwise(differences)
            return ensemble, "it was up already"
        on_start()
        choice = choose(backend)
        start = _start_docker if choice.backend == "docker" else _start_local
        start(note, medium or "memory", client_ports)
        return _open(json.loads(note.read_text())), choice.why


def _differences(
    ensemble: KeptEnsemble,
    backend: Backend,
    medium: Medium | None,
    client_ports: Sequence[int] | None,
) -> Iterator[str]:
    if backend not in ("auto", ensemble.backend):
        yield f"its backend is {ensemble.backend}, not {backend}"
    if medium not in (None, ensemble.medium):
        yield f"its medium is {ensemble.medium}, not {medium}"
    ports = [server.port for server in parse_hosts(ensemble.hosts).servers]
    if client_ports is not None and list(client_ports) != ports:
        yield f"its ports are {_listed(ports)}, not {_listed(client_ports)}"


def _listed(ports: Sequence[int]) -> str:
    return ",".join(map(str, ports))


def find() -> KeptEnsemble:
    """The ensemble that is up. Raises NothingUp if there is none."""
    if not directory().is_dir():
        raise NothingUp
    with _locked() as note:
        had = note.exists()
        if ensemble := _find(note):
            return ensemble
    if had:
        raise NothingUp("the ensemble that was up has ended; what was left of it is removed")
    raise NothingUp


def down(*, purge: bool = False) -> list[str]:
    """End the ensemble that is up, if there is one. Returns what was removed, in words. Raises
    EnsembleError if it does not end."""
    removed = []
    if directory().is_dir():
        with _locked() as note:
            ensemble = _find(note)
            if ensemble is not None:
                ensemble.servers.stop()
                note.unlink(missing_ok=True)
                removed.append(f"the ensemble ({ensemble.backend})")
    if purge:
        removed += _purge()
    return removed


def _purge() -> list[str]:
    removed = []
    try:
        client = engine.connect()
    except EnsembleError:  # without an engine there is nothing of ours in it
        pass
    else:
        if DockerEnsemble.remove(_project()):
            removed.append("what was left in the engine")
        for image in client.images.list(filters={"label": engine.BUILT}):
            removed.append(f"the image {', '.join(image.tags) or image.short_id}")
            client.images.remove(image.id, force=True)
    if directory().is_dir():
        shutil.rmtree(directory())
        removed.append(f"the state in {directory()}")
    return removed


def _find(note: Path) -> KeptEnsemble | None:
    """The ensemble that the note describes. If it is gone, remove note and remains: None."""
    try:
        ensemble = _open(json.loads(note.read_text()))
        # A supervisor is only known to be there when it answers.
        ensemble.servers.status()
        return ensemble
    except FileNotFoundError:
        return None
    except (SupervisorGone, KeyError, ValueError):
        pass
    except NotWhole:
        DockerEnsemble.remove(_project())
    note.unlink(missing_ok=True)
    return None


def _open(said: dict[str, Any]) -> KeptEnsemble:
    if said["schema"] != SCHEMA:
        raise ValueError("the note was written by another version")
    servers: KeptServers
    if said["backend"] == "docker":
        servers = DockerEnsemble.attach(said["project"], medium=said["medium"])
    else:
        servers = Supervised(said["pid"], said["port"], said["key"])
    return KeptEnsemble(said["backend"], said["hosts"], said["medium"], servers)


def _start_local(note: Path, medium: Medium, client_ports: Sequence[int] | None) -> None:
    log = note.parent / "supervisor.log"
    servers, hosts = Supervised.start(medium=medium, client_ports=client_ports, log=log)
    try:
        _write(note, {"backend": "local", "medium": medium, "hosts": hosts, **asdict(servers)})
    except BaseException:
        servers.stop()
        raise


def _start_docker(note: Path, medium: Medium, client_ports: Sequence[int] | None) -> None:
    DockerEnsemble.remove(_project())  # of a run whose note is lost
    with DockerEnsemble(project=_project(), medium=medium, client_ports=client_ports) as ensemble:
        known = {"project": ensemble.project, "hosts": ensemble.hosts}
        _write(note, {"backend": "docker", "medium": medium, **known})
        ensemble.leave_alone()


def _project() -> str:
    """The name of our containers: the same for the same state directory, so none gets lost."""
    return f"zkkit-up-{hashlib.sha256(str(directory()).encode()).hexdigest()[:8]}"


def _write(note: Path, said: dict[str, Any]) -> None:
    """Write the note in one step, and readable by us only: it holds a key."""
    new = note.with_suffix(".new")
    new.touch(mode=0o600)
    new.write_text(json.dumps({"schema": SCHEMA, **said}, indent=2) + "\n")
    new.replace(note)
