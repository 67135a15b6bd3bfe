"""An ensemble of real ZooKeeper servers as processes on loopback."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from zkkit.ensemble import config, fourletter, install, place, ports
from zkkit.ensemble.errors import EnsembleError, NodeNeverReady, NoLeader
from zkkit.ensemble.guarded import Guarded

T = TypeVar("T")

_DEADLINE = 30.0  # seconds for a node to serve, or for a leader to be elected
_POLL = 0.05
_START_ATTEMPTS = 3
_TAIL = 25  # lines of a log shown in an error
_LEADING = ("leader", "standalone")


class _PortClash(EnsembleError):
    """A port was taken between our letting go of it and its server's binding it."""


class LocalEnsemble:
    """`size` ZooKeeper servers on 127.0.0.1, to be used, broken and thrown away.

        with LocalEnsemble() as ensemble:
            session = zkkit.connect(ensemble.hosts)
            ensemble.kill(ensemble.leader())

    Nodes are numbered from 1. The servers end with this process, even if it is killed, and their
    data is removed. `medium` says where the data lies: "memory" (/dev/shm) or "disk" (the temp
    directory); `directory` puts it below a directory of your own. `jvm_flags` are those of a fast
    start; a benchmark gives others.
    """

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
    ) -> None:
        if size < 1:
            raise ValueError(f"an ensemble has at least one node, not {size}")
        if medium not in ("memory", "disk"):
            raise ValueError(f'medium is "memory" or "disk", not {medium!r}')
        if client_ports is not None and len(client_ports) != size:
            raise ValueError(f"{size} nodes need {size} client_ports, not {len(client_ports)}")
        self.medium = medium
        self.nodes = range(1, size + 1)
        self._directory = directory
        self._client_ports = client_ports
        self._tick_ms = tick_ms
        self._java_wanted = java
        self._zookeeper_wanted = zookeeper_home
        self._jvm_flags = tuple(jvm_flags)
        self._guarded: Guarded | None = None
        self._owner = 0
        self._ports: dict[int, list[int]] = {}
        self._pids: dict[int, int] = {}
        self._paused: set[int] = set()

    # --- life ---------------------------------------------------------------------------

    def start(self) -> None:
        """Start all nodes and return when each serves and one of them leads."""
        if self._guarded is not None:
            raise EnsembleError(
                "this ensemble is already running", hint="stop() it first, or make another one"
            )
        self._java = install.find_java(self._java_wanted)
        self._zookeeper = install.find_zookeeper(self._zookeeper_wanted)
        self._place = place.choose(self.medium, self._directory)
        for last in (False,) * (_START_ATTEMPTS - 1) + (True,):
            try:
                self._attempt()
                return
            except _PortClash:
                self._abandon(keep_logs=last)
                if last:
                    raise
            except EnsembleError:
                self._abandon(keep_logs=True)
                raise
            except BaseException:  # Ctrl-C while it starts
                self._abandon(keep_logs=False)
                raise

    def stop(self) -> None:
        """Kill all nodes and remove all they wrote. Stopping twice is harmless."""
        if self._guarded is not None:
            self._abandon(keep_logs=False)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    # --- where it is --------------------------------------------------------------------

    @property
    def hosts(self) -> str:
        """The connect string: "127.0.0.1:p1,127.0.0.1:p2,..."."""
        return ",".join(f"{fourletter.LOOPBACK}:{port}" for port in self.ports.values())

    @property
    def ports(self) -> dict[int, int]:
        """The client port of each node."""
        self._running()
        return {node: three[0] for node, three in self._ports.items()}

    @property
    def pids(self) -> dict[int, int]:
        """The process id of each node that has not been killed."""
        return dict(self._pids)

    def describe(self) -> dict[str, Any]:
        """What a report says about this ensemble, as plain data."""
        root = self._running().root
        return {
            "backend": "local",
            "size": len(self.nodes),
            "zookeeper": self._zookeeper.version,
            "zookeeper_home": str(self._zookeeper.home),
            "java": self._java.version,
            "jvm_flags": list(self._jvm_flags),
            "tick_ms": self._tick_ms,
            "medium": self.medium,
            "directory": str(root),
            "filesystem": self._place.filesystem,
            "notes": list(self._place.notes),
        }

    # --- breaking and mending -----------------------------------------------------------

    def kill(self, node: int) -> None:
        """End a node at once (SIGKILL), as a power cut would."""
        self._alive(node).end(node, signal.SIGKILL)
        self._forget(node)

    def pause(self, node: int) -> None:
        """Freeze a node (SIGSTOP): its connections stay open and nothing answers."""
        guarded = self._alive(node)
        if node not in self._paused:
            guarded.pause(node)
            self._paused.add(node)

    def resume(self, node: int) -> None:
        """Thaw a paused node and wait until it serves again (if a majority is up)."""
        self._alive(node).resume(node)
        self._paused.discard(node)
        self._await_serving_again(node)

    def restart(self, node: int) -> None:
        """Start a killed node again, or end and start a running one; wait until it serves."""
        guarded = self._running()
        self._check(node)
        if node in self._pids:
            guarded.end(node, signal.SIGKILL if node in self._paused else signal.SIGTERM)
            self._forget(node)
        self._spawn(node)
        self._await_serving_again(node)

    # --- asking -------------------------------------------------------------------------

    def leader(self) -> int:
        """The node that leads; waits until there is exactly one."""
        self._running()
        found = _poll(self._only_leader, _DEADLINE)
        if found is None:
            raise NoLeader(
                f"no leader within {_DEADLINE:g} s; up are nodes {self._up() or 'none'}",
                hint=f"most of the {len(self.nodes)} nodes must be up: restart() or resume() some",
            )
        return found

    def four_letter(self, node: int, word: str) -> str:
        """The answer of a node to a four-letter word such as "srvr", "mntr", "wchs" or "cons"."""
        try:
            return fourletter.ask(self._client_port(node), word)
        except OSError as error:
            raise EnsembleError(
                f"node {node} does not answer {word!r} ({error})",
                hint="it may be killed or paused: restart() or resume() it",
            ) from error

    def metrics(self) -> dict[int, dict[str, float]]:
        """The numbers of `mntr`, for each node that serves."""
        self._running()
        answers = {node: fourletter.metrics(self._client_port(node)) for node in self._up()}
        return {node: numbers for node, numbers in answers.items() if numbers is not None}

    # --- inside: starting ---------------------------------------------------------------

    def _attempt(self) -> None:
        reservation = ports.Reservation()
        try:
            three = ports.reserve(reservation, len(self.nodes), self._client_ports)
            self._ports = dict(zip(self.nodes, three, strict=True))
            root = Path(tempfile.mkdtemp(prefix="zkkit-", dir=self._place.parent))
            try:
                self._write(root)
                self._guarded = Guarded(root, errors=root / "logs" / "guardian.log")
            except BaseException:
                shutil.rmtree(root, ignore_errors=True)
                raise
            self._owner = os.getpid()
            atexit.register(self._stop_at_exit)
        finally:
            reservation.release()
        for node in self.nodes:
            self._spawn(node)
        self._await(self.nodes)

    def _write(self, root: Path) -> None:
        (root / "logs").mkdir()
        for node in self.nodes:
            config.write_node(root / f"node{node}", node, self._ports, self._tick_ms)

    def _spawn(self, node: int) -> None:
        guarded = self._running()
        home = guarded.root / f"node{node}"
        argv = config.command(home, self._java, self._zookeeper, self._jvm_flags)
        self._pids[node] = guarded.spawn(node, argv, cwd=home, log=self._log(node))

    def _abandon(self, *, keep_logs: bool) -> None:
        """Forget the running ensemble first, so that whatever happens it is stopped once."""
        guarded, self._guarded = self._guarded, None
        self._pids.clear()
        self._paused.clear()
        atexit.unregister(self._stop_at_exit)
        if guarded is not None:
            guarded.stop(keep_logs=keep_logs)

    def _stop_at_exit(self) -> None:
        # A forked child inherits this hook, but the ensemble is not its own to stop.
        if os.getpid() == self._owner:
            self.stop()

    # --- inside: waiting ----------------------------------------------------------------

    def _await_serving_again(self, node: int) -> None:
        # Without a majority no node can serve: then there is nothing to wait for yet.
        if len(self._up()) > len(self.nodes) // 2:
            self._await([node])

    def _await(self, nodes: Sequence[int]) -> None:
        """Return when all of `nodes` serve under one leader, or say which one does not, and why."""
        missing: list[int] = []

        def all_serve() -> bool | None:
            self._raise_if_ended(nodes)
            missing[:] = [node for node in nodes if self._mode(node) is None]
            return True if not missing and self._only_leader() is not None else None

        if _poll(all_serve, _DEADLINE) is None:
            node = missing[0] if missing else nodes[0]
            self._raise_on_clash(node)
            raise self._never_ready(node, f"did not serve within {_DEADLINE:g} s")

    def _raise_if_ended(self, nodes: Sequence[int]) -> None:
        ended = self._running().ended()
        for node in nodes:
            if node in ended:
                self._raise_on_clash(node)
                raise self._never_ready(node, f"ended with exit code {ended[node]}")

    def _raise_on_clash(self, node: int) -> None:
        log = self._log(node).read_text(errors="replace")
        if "java.net.BindException" in log:
            raise _PortClash(
                f"node {node} could not bind one of its ports {self._ports[node]}",
                hint=f"another program took it; the log is {self._log(node)}",
            )

    def _never_ready(self, node: int, message: str) -> NodeNeverReady:
        log = self._log(node)
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-_TAIL:])
        return NodeNeverReady(node, message, log=str(log), tail=tail or "(it wrote nothing)")

    def _only_leader(self) -> int | None:
        # A leader that was paused believes in itself for a moment: two leaders are none yet.
        leaders = [node for node in self._up() if self._mode(node) in _LEADING]
        return leaders[0] if len(leaders) == 1 else None

    # --- inside: small things -----------------------------------------------------------

    def _running(self) -> Guarded:
        if self._guarded is None:
            raise EnsembleError("this ensemble is not running", hint="start() it")
        return self._guarded

    def _check(self, node: int) -> None:
        if node not in self.nodes:
            raise ValueError(f"there is no node {node}: nodes are 1 to {len(self.nodes)}")

    def _alive(self, node: int) -> Guarded:
        guarded = self._running()
        self._check(node)
        if node not in self._pids:
            raise EnsembleError(f"node {node} has been killed", hint="restart() it")
        return guarded

    def _forget(self, node: int) -> None:
        self._pids.pop(node, None)
        self._paused.discard(node)

    def _up(self) -> list[int]:
        return [node for node in self.nodes if node in self._pids and node not in self._paused]

    def _client_port(self, node: int) -> int:
        self._running()
        self._check(node)
        return self._ports[node][0]

    def _mode(self, node: int) -> str | None:
        return fourletter.mode(self._client_port(node))

    def _log(self, node: int) -> Path:
        return self._running().root / "logs" / f"node{node}.log"


def _poll(question: Callable[[], T | None], seconds: float) -> T | None:
    """Ask until there is an answer, which is returned, or until the deadline has passed."""
    deadline = time.monotonic() + seconds
    while (answer := question()) is None and time.monotonic() < deadline:
        time.sleep(_POLL)
    return answer
