"""An ensemble of real ZooKeeper servers as processes on loopback."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from zkkit.ensemble import config, install, place, ports
from zkkit.ensemble.base import Ensemble, PortClash, State
from zkkit.ensemble.errors import EnsembleError


class LocalEnsemble(Ensemble):
    """`size` ZooKeeper servers as processes of this machine.

    `medium` says where the data lies: "memory" (/dev/shm) or "disk" (the temp directory);
    `directory` puts it below a directory of your own. `jvm_flags` are those of a fast start; a
    benchmark gives others.

    All that the servers say to each other goes through relays, so that a node can be cut off its
    peers. That costs a little time; with `relays=False`, for measuring, it costs nothing, and
    nothing can be cut.

    Raises ValueError for a size below 1, another medium, or not one of `client_ports` for each
    node. Beside what every start can raise, this one's raises JavaMissing and ZooKeeperMissing, and
    OSError if it cannot write to `directory`.
    """

    backend = "local"

    def __init__(
        self,
        size: int = 3,
        *,
        medium: place.Medium = "memory",
        directory: str | os.PathLike[str] | None = None,
        client_ports: Sequence[int] | None = None,
        tick_ms: int = 500,
        java: str | os.PathLike[str] | None = None,
        zookeeper_home: str | os.PathLike[str] | None = None,
        jvm_flags: Sequence[str] = config.FAST_START,
        relays: bool = True,
    ) -> None:
        super().__init__(size, medium=medium, client_ports=client_ports, tick_ms=tick_ms)
        self._directory = directory
        self._java_wanted = java
        self._zookeeper_wanted = zookeeper_home
        self._jvm_flags = tuple(jvm_flags)
        self._relays = relays and size > 1
        self._pids: dict[int, int] = {}
        self._paused: set[int] = set()
        self._cut_nodes: set[int] = set()

    # --- where it is --------------------------------------------------------------------

    @property
    def pids(self) -> dict[int, int]:
        """The process id of each node that has not been killed."""
        return dict(self._pids)

    def describe(self) -> dict[str, Any]:
        """What a report says about this ensemble, as plain data. Raises EnsembleError if it is not
        running."""
        self._check_running()
        return {
            "backend": self.backend,
            "size": len(self.nodes),
            "zookeeper": self._zookeeper.version,
            "zookeeper_home": str(self._zookeeper.home),
            "java": self._java.version,
            "jvm_flags": list(self._jvm_flags),
            "tick_ms": self._tick_ms,
            "relays": self._relays,
            "medium": self.medium,
            "directory": str(self._guardian().root),
            "filesystem": self._place.filesystem,
            "notes": list(self._place.notes),
        }

    # --- breaking and mending -----------------------------------------------------------

    def kill(self, node: int) -> None:
        """End a node at once (SIGKILL), as a power cut would. Raises as `Ensemble.kill`."""
        self._check_alive(node)
        self._guardian().end(node, signal.SIGKILL)
        self._forget(node)

    def pause(self, node: int) -> None:
        """Freeze a node (SIGSTOP): its connections stay open and nothing answers. Raises as
        `Ensemble.pause`."""
        self._check_alive(node)
        if node not in self._paused:
            self._guardian().order("pause", node)
            self._paused.add(node)

    def resume(self, node: int) -> None:
        """Thaw a paused node and wait until it serves again (if a majority is up). Raises as
        `Ensemble.resume`."""
        self._check_alive(node)
        self._guardian().order("resume", node)
        self._paused.discard(node)
        self._await_serving_again(node)

    def restart(self, node: int) -> None:
        """Start a killed node again, or end and start a running one; wait until it serves. Raises
        as `Ensemble.restart`."""
        guarded = self._guardian()
        self._check(node)
        if node in self._pids:
            guarded.end(node, signal.SIGKILL if node in self._paused else signal.SIGTERM)
            self._forget(node)
        self._spawn(node)
        self._await_serving_again(node)

    # --- inside: what an ensemble must be able to do ------------------------------------

    def _prepare(self) -> None:
        self._java = install.find_java(self._java_wanted)
        self._zookeeper = install.find_zookeeper(self._zookeeper_wanted)
        self._place = place.choose(self.medium, self._directory)

    def _attempt(self) -> None:
        with ports.Reservation() as reservation:
            self._ports = reservation.for_clients(self.nodes, self._client_ports)
            self._for_peers = {node: reservation.choose(2) for node in self.nodes}
            guarded = self._guard(self._place.parent)
        relayed = guarded.relay(self._for_peers) if self._relays else {}
        for node in self.nodes:
            seen = {**self._for_peers, **relayed.get(node, {})}
            config.write_node(self._home(node), node, self._ports[node], seen, self._tick_ms)
        for node in self.nodes:
            self._spawn(node)

    def _states(self) -> dict[int, State]:
        states: dict[int, State] = dict.fromkeys(self.nodes, "killed")
        for node in self._pids.keys() - self._guardian().ended():  # by themselves too
            states[node] = "paused" if node in self._paused else "running"
        return states

    def _cut(self) -> set[int]:
        return self._cut_nodes

    def _cut_off(self, node: int) -> None:
        if not self._relays:
            raise EnsembleError(
                "this ensemble was started without relays: no node can be cut off",
                hint="leave relays=False out",
            )
        self._guardian().order("cut", node)
        self._cut_nodes.add(node)

    def _put_back(self, node: int) -> None:
        self._guardian().order("heal", node)
        self._cut_nodes.discard(node)

    def _exit_code(self, node: int) -> int | None:
        return self._guardian().ended().get(node)

    def _log(self, node: int) -> Path:
        return self._guardian().root / "logs" / f"node{node}.log"

    def _give_up(self, node: int, message: str) -> NoReturn:
        if "java.net.BindException" in self._log(node).read_text(errors="replace"):
            mine = (self._ports[node], *self._for_peers[node])
            raise PortClash(
                f"node {node} could not bind one of its ports {mine}",
                hint=f"another program took it; the log is {self._log(node)}",
            )
        super()._give_up(node, message)

    def _abandon(self, *, keep_logs: bool) -> bool:
        self._pids.clear()
        self._paused.clear()
        self._cut_nodes.clear()
        return super()._abandon(keep_logs=keep_logs)

    # --- inside: small things -----------------------------------------------------------

    def _home(self, node: int) -> Path:
        return self._guardian().root / f"node{node}"

    def _spawn(self, node: int) -> None:
        home = self._home(node)
        argv = config.command(home, self._java, self._zookeeper, self._jvm_flags)
        self._pids[node] = self._guardian().spawn(node, argv, cwd=home, log=self._log(node))

    def _forget(self, node: int) -> None:
        self._pids.pop(node, None)
        self._paused.discard(node)
