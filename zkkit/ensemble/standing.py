"""An ensemble that stays up between two commands, and the note by which it is found again.

The note lies in $ZKKIT_STATE, else in $XDG_STATE_HOME/zkkit, else in ~/.local/state/zkkit. There is
one such ensemble per state directory. A note that tells of servers which are gone is removed, with
whatever is left of them, by the first command that comes across it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from zkkit.ensemble import engine
from zkkit.ensemble.backends import Backend, choose
from zkkit.ensemble.base import NodeStatus
from zkkit.ensemble.containers import DockerEnsemble
from zkkit.ensemble.errors import EnsembleError, NotWhole
from zkkit.ensemble.place import Medium
from zkkit.ensemble.supervisor import Supervised, SupervisorGone

SCHEMA = 1


class NothingUp(EnsembleError):
    """There is no standing ensemble."""

    def __init__(self, message: str = "no ensemble is up") -> None:
        super().__init__(message, hint="start one: zkkit ensemble up")


class UpOtherwise(EnsembleError):
    """An ensemble is up, but not the one that was asked for."""

    def __init__(self, differences: Sequence[str]) -> None:
        super().__init__(
            f"another ensemble is up: {'; '.join(differences)}",
            hint="end it first: zkkit ensemble down; or leave these options out to keep it",
        )


class Servers(Protocol):
    """What can be asked of a standing ensemble, whatever it runs in."""

    def order(self, verb: str, node: int) -> None: ...
    def leader(self) -> int: ...
    def status(self) -> list[NodeStatus]: ...
    def stop(self) -> None: ...


class InContainers:
    """Containers need no supervisor: the engine keeps them."""

    def __init__(self, ensemble: DockerEnsemble) -> None:
        self._ensemble = ensemble

    def order(self, verb: str, node: int) -> None:
        """Have the ensemble do something to a node."""
        try:
            getattr(self._ensemble, verb)(node)
        except ValueError as error:
            raise EnsembleError(str(error)) from error

    def leader(self) -> int:
        """The node that leads."""
        return self._ensemble.leader()

    def status(self) -> list[NodeStatus]:
        """How each node is."""
        return self._ensemble.status()

    def stop(self) -> None:
        """Remove containers, networks and volumes."""
        self._ensemble.stop()


@dataclass(frozen=True)
class Standing:
    """A standing ensemble: what its note says, and a way to reach it."""

    backend: str
    hosts: str
    medium: Medium
    servers: Servers


def directory() -> Path:
    """Where the note lies."""
    if named := os.environ.get("ZKKIT_STATE"):
        return Path(named).expanduser().absolute()
    base = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(base).expanduser().absolute() / "zkkit"


@contextlib.contextmanager
def _locked() -> Iterator[Path]:
    """Nobody else starts or ends the ensemble meanwhile. Gives the note's path."""
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
) -> tuple[Standing, str]:
    """The standing ensemble, started if there is none. Gives it, and why it is the one it is.

    What is not given may be anything: "auto", None. If one is up that is not as wanted, that is
    UpOtherwise. `on_start` is called before servers are started.
    """
    with _locked() as note:
        there = _find(note)
        if there is not None:
            if differences := list(_differences(there, backend, medium, client_ports)):
                raise UpOtherwise(differences)
            return there, "it was up already"
        on_start()
        choice = choose(backend)
        start = _start_docker if choice.backend == "docker" else _start_local
        start(note, medium or "memory", client_ports)
        return _open(json.loads(note.read_text())), choice.why


def _differences(
    there: Standing, backend: Backend, medium: Medium | None, client_ports: Sequence[int] | None
) -> Iterator[str]:
    if backend not in ("auto", there.backend):
        yield f"its backend is {there.backend}, not {backend}"
    if medium not in (None, there.medium):
        yield f"its medium is {there.medium}, not {medium}"
    ports = [int(host.rpartition(":")[2]) for host in there.hosts.split(",")]
    if client_ports is not None and list(client_ports) != ports:
        yield f"its ports are {_listed(ports)}, not {_listed(client_ports)}"


def _listed(ports: Sequence[int]) -> str:
    return ",".join(map(str, ports))


def find() -> Standing:
    """The standing ensemble, or NothingUp."""
    if not directory().is_dir():
        raise NothingUp
    with _locked() as note:
        had = note.exists()
        there = _find(note)
    if there is not None:
        return there
    if had:
        raise NothingUp("the ensemble that was up has ended; what was left of it is removed")
    raise NothingUp


def down(*, purge: bool = False) -> list[str]:
    """End the standing ensemble, if there is one. Says what was removed."""
    removed = []
    if directory().is_dir():
        with _locked() as note:
            there = _find(note)
            if there is not None:
                there.servers.stop()
                note.unlink(missing_ok=True)
                removed.append(f"the ensemble ({there.backend})")
    if purge:
        removed += _purge()
    return removed


def _purge() -> list[str]:
    removed = []
    try:
        client = engine.connect()
    except EnsembleError:  # without an engine there is nothing of ours in it
        client = None
    if client is not None:
        if DockerEnsemble.remove(_project()):
            removed.append("what was left in the engine")
        for image in engine.built_images(client):
            removed.append(f"the image {', '.join(image.tags) or image.short_id}")
            client.images.remove(image.id, force=True)
    if directory().is_dir():
        shutil.rmtree(directory())
        removed.append(f"the state in {directory()}")
    return removed


def _find(note: Path) -> Standing | None:
    """As the note says, if it is true; else remove note and remains."""
    try:
        there = _open(json.loads(note.read_text()))
        # A supervisor is only known to be there when it answers.
        there.servers.status()
        return there
    except FileNotFoundError:
        return None
    except (SupervisorGone, KeyError, ValueError):
        pass
    except NotWhole:
        DockerEnsemble.remove(_project())
    note.unlink(missing_ok=True)
    return None


def _open(said: dict[str, Any]) -> Standing:
    if said["schema"] != SCHEMA:
        raise ValueError("the note was written by another version")
    servers: Servers
    if said["backend"] == "docker":
        servers = InContainers(DockerEnsemble.attach(said["project"], medium=said["medium"]))
    else:
        servers = Supervised(said["pid"], said["port"], said["key"])
    return Standing(said["backend"], said["hosts"], said["medium"], servers)


def _start_local(note: Path, medium: Medium, client_ports: Sequence[int] | None) -> None:
    log = note.parent / "supervisor.log"
    servers, known = Supervised.start(medium=medium, client_ports=client_ports, log=log)
    try:
        _write(note, {"backend": "local", "medium": medium, **known})
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
    """All or nothing, and for our eyes only: it holds a key."""
    new = note.with_suffix(".new")
    new.touch(mode=0o600)
    new.write_text(json.dumps({"schema": SCHEMA, **said}, indent=2) + "\n")
    new.replace(note)
