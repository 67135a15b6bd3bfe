"""An ensemble of real ZooKeeper servers in containers, as docker/compose.yml describes them.

Compose starts and removes them; in between the engine is asked directly: to kill and to freeze a
container, and to take it out of the network of the servers, which leaves it in the clients' one.
"""

from __future__ import annotations

import os
import random
import subprocess
import tempfile
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from zkkit.ensemble import config, engine, ports
from zkkit.ensemble.base import Ensemble, PortClash, State, poll, tail
from zkkit.ensemble.errors import EnsembleError, NotWhole
from zkkit.ensemble.place import Medium

SIZE = 3  # as many as there are in compose.yml
COMPOSE_FILE, MEMORY_FILE = "compose.yml", "compose.memory.yml"

#: Beside those of every lab server. Nobody answers at the address of a container that is gone; an
#: election waits for that.
PROPERTIES = ("-Dzookeeper.cnxTimeout=500",)  # ms

_PROJECT = "com.docker.compose.project"
_SERVICE = "com.docker.compose.service"
_STARTING = 60.0  # seconds for compose to make the containers
_TAKEN = (
    "port is already allocated",
    "address already in use",
    "ports are not available",
    "overlaps with other one on this address space",  # the servers' own network
)
_STATES: dict[str, State] = {"running": "running", "restarting": "running", "paused": "paused"}
_COMPOSE = 0  # the guardian's number for compose itself


def files() -> Path:
    """The directory with the compose files and the Dockerfile: installed with us, or beside us."""
    here = Path(__file__).parent
    installed = here / "docker_files"
    return installed if installed.is_dir() else here.parents[1] / "docker"


def some_network() -> str:
    """The first three numbers of addresses from a range reserved for tests of networks."""
    return f"198.{random.randint(18, 19)}.{random.randrange(256)}"


class DockerEnsemble(Ensemble):
    """Three ZooKeeper servers in containers.

    `medium` says where the data lies: "memory" or "disk" (a volume of the engine). `image` is what
    they run: the official one, or ours if only that one is there ($ZKKIT_IMAGE decides otherwise).
    A `project` is what compose calls one set of containers; leave it out to have your own.

    Raises ValueError for another medium, or not three `client_ports`. Beside what every start can
    raise, this one's raises EngineMissing, ComposeMissing and ImageMissing. Whatever is asked of a
    running one raises NotWhole if somebody has removed a container; other refusals of the engine
    pass as they are (docker.errors.DockerException).
    """

    backend = "docker"

    def __init__(
        self,
        *,
        medium: Medium = "memory",
        client_ports: Sequence[int] | None = None,
        tick_ms: int = 500,
        image: str | None = None,
        jvm_flags: Sequence[str] = config.FAST_START,
        project: str | None = None,
    ) -> None:
        super().__init__(SIZE, medium=medium, client_ports=client_ports, tick_ms=tick_ms)
        self.project = project or f"zkkit-{uuid.uuid4().hex[:8]}"
        self._image_wanted = image
        self._image = ""
        self._jvm_flags = tuple(jvm_flags)
        self._client: Any = None
        self._command: list[str] = []
        self._peers = "198.18.18"
        self._attached = False

    @classmethod
    def attach(cls, project: str, *, medium: Medium, tick_ms: int = 500) -> Self:
        """An ensemble that was started before and left alone.

        Raises NotWhole if a part is gone, EngineMissing or ComposeMissing if nobody can be asked.
        """
        self = cls(project=project, medium=medium, tick_ms=tick_ms)
        self._client = engine.connect()
        self._command = engine.compose()
        self._attached = True
        self._check_memory()
        for node, container in self._containers().items():
            bound = container.attrs["HostConfig"]["PortBindings"]["2181/tcp"]
            self._ports[node] = int(bound[0]["HostPort"])
            self._image = container.attrs["Config"]["Image"]
        return self

    @classmethod
    def remove(cls, project: str) -> bool:
        """Remove whatever is left of a project; True if there was anything.

        Raises EngineMissing or ComposeMissing if nobody can be asked, EnsembleError if compose
        cannot remove it.
        """
        client = engine.connect()
        wanted = {"label": f"{_PROJECT}={project}"}
        kinds = (client.networks, client.volumes)
        found = client.containers.list(all=True, ignore_removed=True, filters=wanted)
        if not found and not any(kind.list(filters=wanted) for kind in kinds):
            return False
        self = cls(project=project)
        self._client, self._command = client, engine.compose()
        self._down()
        return True

    def leave_alone(self) -> None:
        """Let the containers outlive this object and this process; attach() finds them again.
        Raises EnsembleError if they are not running."""
        self._guardian().at_end([], {})
        super()._abandon(keep_logs=False)  # ours would remove them if the guardian were gone

    # --- where it is --------------------------------------------------------------------

    def describe(self) -> dict[str, Any]:
        """What a report says about this ensemble, as plain data. Raises EnsembleError if it is not
        running."""
        self._check_running()
        version = self._client.version().get("Version", "unknown")
        filesystem = "tmpfs"
        if self.medium == "disk":
            filesystem = f"a volume ({self._client.info().get('Driver', 'unknown')})"
        # "Zookeeper version: 3.9.2-e454e8c7283100c7caec6dcae2bc82aaecb63023, built on ..."
        said = self.four_letter(self._up()[0], "srvr").splitlines()[0] if self._up() else ""
        return {
            "backend": self.backend,
            "size": len(self.nodes),
            "zookeeper": said.partition(": ")[2].partition("-")[0] or "unknown",
            "image": self._image,
            "engine": version,
            "project": self.project,
            "jvm_flags": list(self._jvm_flags),
            "tick_ms": self._tick_ms,
            "medium": self.medium,
            "filesystem": filesystem,
            "notes": [],
        }

    # --- breaking and mending -----------------------------------------------------------

    def kill(self, node: int) -> None:
        """End a node at once (SIGKILL), as a power cut would. Raises as `Ensemble.kill`."""
        self._check_alive(node)
        container = self._container(node)
        container.kill()
        container.wait()

    def pause(self, node: int) -> None:
        """Freeze a node: its connections stay open and nothing answers. Raises as
        `Ensemble.pause`."""
        self._check_alive(node)
        if self._states()[node] != "paused":
            self._container(node).pause()

    def resume(self, node: int) -> None:
        """Thaw a paused node and wait until it serves again (if a majority is up). Raises as
        `Ensemble.resume`."""
        self._check_alive(node)
        if self._states()[node] == "paused":
            self._container(node).unpause()
        self._await_serving_again(node)

    def restart(self, node: int) -> None:
        """Start a killed node again, or end and start a running one; wait until it serves. Raises
        as `Ensemble.restart`."""
        self._check(node)
        container = self._container(node)
        state = self._states()[node]
        if state == "paused":
            container.kill()
            container.wait()
        elif state == "running":
            container.stop(timeout=5)
        container.start()
        self._await_serving_again(node)

    # --- inside: what an ensemble must be able to do ------------------------------------

    def _prepare(self) -> None:
        self._client = engine.connect()
        self._command = engine.compose()
        self._image = engine.image(self._client, self._image_wanted)

    def _attempt(self) -> None:
        with ports.Reservation() as reservation:
            self._ports = reservation.for_clients(self.nodes, self._client_ports)
            guarded = self._guard(Path(tempfile.gettempdir()))
        self._peers = some_network()
        guarded.at_end(self._compose("down", "-v", "-t", "0"), self._environment())
        log = guarded.root / "logs" / "compose.log"
        up = self._compose("up", "-d", "--no-build")
        guarded.spawn(_COMPOSE, up, cwd=guarded.root, log=log, env=self._environment())
        code = poll(lambda: guarded.ended().get(_COMPOSE), _STARTING)
        if code != 0:
            said = tail(log)
            if any(words in said for words in _TAKEN):
                clients = list(self._ports.values())
                raise PortClash(
                    f"one of the ports {clients}, or the network {self._peers}.0/28, was taken by "
                    "another program",
                    hint="give other client_ports, or leave them out to have free ones chosen",
                )
            how = "was not done in time" if code is None else f"ended with exit code {code}"
            raise EnsembleError(
                f"compose {how}\n--- end of {log} ---\n{said}\n---",
                hint=f"the whole log is in {log}",
            )

    def _states(self) -> dict[int, State]:
        found = self._containers().items()
        return {node: _STATES.get(container.status, "killed") for node, container in found}

    def _cut(self) -> set[int]:
        peers = self._network()
        return {
            node
            for node, container in self._containers().items()
            if peers not in container.attrs["NetworkSettings"]["Networks"]
        }

    def _cut_off(self, node: int) -> None:
        self._client.networks.get(self._network()).disconnect(self._container(node))

    def _put_back(self, node: int) -> None:
        peers = self._client.networks.get(self._network())
        subnet = str(peers.attrs["IPAM"]["Config"][0]["Subnet"])
        # The address it had, which the others know.
        address = f"{subnet.rpartition('.')[0]}.{10 + node}"
        peers.connect(self._container(node), ipv4_address=address)

    def _exit_code(self, node: int) -> int | None:
        state = self._container(node).attrs["State"]
        return int(state["ExitCode"]) if state["Status"] in ("exited", "dead") else None

    def _log(self, node: int) -> Path:
        """What the engine keeps of it, put where a reader finds it after the container is gone."""
        if self._guarded is not None:
            log = self._guarded.root / "logs" / f"node{node}.log"
        else:
            log = Path(tempfile.mkdtemp(prefix="zkkit-")) / f"node{node}.log"
        log.write_bytes(self._container(node).logs())
        return log

    def _abandon(self, *, keep_logs: bool) -> bool:
        attached, self._attached = self._attached, False
        obeyed = super()._abandon(keep_logs=keep_logs)
        if attached or not obeyed:
            self._down()
        return True

    @property
    def _is_running(self) -> bool:
        return self._attached or super()._is_running

    # --- inside: compose and the engine -------------------------------------------------

    def _compose(self, *arguments: str) -> list[str]:
        where = files()
        named = ["-f", str(where / COMPOSE_FILE)]
        if self.medium == "memory":
            named += ["-f", str(where / MEMORY_FILE)]
        return [*self._command, "-p", self.project, *named, *arguments]

    def _environment(self) -> dict[str, str]:
        flags = (*self._jvm_flags, *config.PROPERTIES, *PROPERTIES)
        return {
            **os.environ,
            "DOCKER_HOST": engine.endpoint(),
            "ZKKIT_IMAGE": self._image or engine.OFFICIAL,
            "ZKKIT_PEERS": self._peers,
            "ZKKIT_TICK_MS": str(self._tick_ms),
            "ZKKIT_JVMFLAGS": " ".join(flags),
            **{f"ZKKIT_PORT_{node}": str(port) for node, port in self._ports.items()},
        }

    def _down(self) -> None:
        done = subprocess.run(
            self._compose("down", "-v", "-t", "0", "--remove-orphans"),
            env=self._environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise EnsembleError(
                f"compose could not remove the project {self.project}: {done.stderr.strip()}",
                hint=f"docker ps -a --filter label={_PROJECT}={self.project} shows what is left",
            )

    def _containers(self) -> dict[int, Any]:
        wanted = {"label": f"{_PROJECT}={self.project}"}
        # ignore_removed: one may vanish between the listing and the look at it.
        found = self._client.containers.list(all=True, ignore_removed=True, filters=wanted)
        by_service = {each.labels[_SERVICE]: each for each in found}
        missing = [node for node in self.nodes if f"zoo{node}" not in by_service]
        if missing:
            raise NotWhole(
                f"the containers of nodes {missing} of project {self.project} are gone",
                hint="somebody removed them; stop the rest and start afresh",
            )
        return {node: by_service[f"zoo{node}"] for node in self.nodes}

    def _check_memory(self) -> None:
        """Data in memory is gone when its keeper is, as after a restart of the engine."""
        wanted = {"label": [f"{_PROJECT}={self.project}", f"{_SERVICE}=keeper"]}
        if self.medium == "memory" and not self._client.containers.list(filters=wanted):
            raise NotWhole(
                f"the data of project {self.project} was in memory and is gone",
                hint="the engine was restarted; stop the rest and start afresh",
            )

    def _container(self, node: int) -> Any:
        return self._containers()[node]

    def _network(self) -> str:
        return f"{self.project}_peers"
