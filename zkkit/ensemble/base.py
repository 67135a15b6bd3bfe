"""What all ensembles have in common, whatever their servers run in."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, NoReturn, Self, TypeVar

from zkkit.ensemble import fourletter
from zkkit.ensemble.errors import EnsembleError, NodeNeverReady, NoLeader
from zkkit.ensemble.guarded import Guarded
from zkkit.ensemble.place import Medium
from zkkit.retry import Deadline

T = TypeVar("T")

State = Literal["running", "paused", "killed"]

DEADLINE = 30.0  # seconds for a node to serve, or for a leader to be elected
TAIL = 25  # lines of a log shown in an error
_POLL = 0.05
_START_ATTEMPTS = 3
_LEADING = ("leader", "standalone")
ORDERS = ("kill", "restart", "pause", "resume", "cut", "heal")
"""What can be done to a node, by the names of the methods."""


class PortClash(EnsembleError):
    """Another program took a port after we had released it and before its server bound it."""


@dataclass(frozen=True)
class NodeStatus:
    """One node, as a table shows it. What a node cannot tell because it does not serve is None."""

    node: int
    port: int
    state: State
    cut: bool
    role: str | None = None
    latency_ms: float | None = None
    sessions: int | None = None


class Ensemble(ABC):
    """ZooKeeper servers on 127.0.0.1, to be used, broken and thrown away.

        with LocalEnsemble() as ensemble:
            session = zkkit.connect(ensemble.hosts)
            ensemble.kill(ensemble.leader())

    Nodes are numbered from 1. The servers end with this process, even if it is killed, and their
    data is removed.

    Raises ValueError for a size below 1, another medium, or not one of `client_ports` for each
    node. What cannot be done later is an EnsembleError.
    """

    backend: ClassVar[str]

    def __init__(
        self, size: int, *, medium: Medium, client_ports: Sequence[int] | None, tick_ms: int
    ) -> None:
        if size < 1:
            raise ValueError(f"an ensemble has at least one node, not {size}")
        if medium not in ("memory", "disk"):
            raise ValueError(f'medium is "memory" or "disk", not {medium!r}')
        if client_ports is not None and len(client_ports) != size:
            raise ValueError(f"{size} nodes need {size} client_ports, not {len(client_ports)}")
        wrong = [port for port in client_ports or () if not 0 < port < 65536]
        if wrong:
            raise ValueError(f"{wrong[0]} is no port: they go from 1 to 65535")
        self.medium = medium
        self.nodes = range(1, size + 1)
        self._client_ports = client_ports
        self._tick_ms = tick_ms
        self._guarded: Guarded | None = None
        self._owner = 0
        self._ports: dict[int, int] = {}

    # --- life ---------------------------------------------------------------------------

    def start(self) -> None:
        """Start all nodes and return when each serves and one of them leads.

        Raises:
            EnsembleError: it is running already, or the servers cannot be started; its subclasses
                tell what is missing (see the backend's class).
            PortBusy: another program has one of the `client_ports`.
            NodeNeverReady: a node ended, or does not serve; it has the end of the node's log.
        """
        if self._is_running:
            raise EnsembleError(
                "this ensemble is already running", hint="stop() it first, or make another one"
            )
        self._prepare()
        for last in (False,) * (_START_ATTEMPTS - 1) + (True,):
            try:
                self._attempt()
                self._await(self.nodes)
                return
            except BaseException as error:  # also Ctrl-C while it starts
                again = isinstance(error, PortClash) and not last
                self._abandon(keep_logs=isinstance(error, EnsembleError) and not again)
                if not again:
                    raise

    def stop(self) -> None:
        """Kill all nodes and remove all they wrote. Stopping twice is harmless.

        Raises EnsembleError if compose cannot remove containers that have no guardian (`attach`).
        """
        if self._is_running:
            self._abandon(keep_logs=False)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    # --- where it is --------------------------------------------------------------------

    @property
    def hosts(self) -> str:
        """The connect string: "127.0.0.1:p1,127.0.0.1:p2,...". Raises EnsembleError if the ensemble
        is not running."""
        return ",".join(f"{fourletter.LOOPBACK}:{port}" for port in self.ports.values())

    @property
    def ports(self) -> dict[int, int]:
        """The client port of each node. Raises EnsembleError if the ensemble is not running."""
        self._check_running()
        return dict(self._ports)

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """What a report says about this ensemble, as plain data. Raises EnsembleError if it is not
        running."""

    # --- breaking and mending -----------------------------------------------------------

    @abstractmethod
    def kill(self, node: int) -> None:
        """End a node at once (SIGKILL), as a power cut would.

        Raises ValueError if there is no such node, EnsembleError if it has been killed already or
        the ensemble is not running.
        """

    @abstractmethod
    def pause(self, node: int) -> None:
        """Freeze a node: its connections stay open and nothing answers. Pausing twice is harmless.

        Raises as `kill`.
        """

    @abstractmethod
    def resume(self, node: int) -> None:
        """Thaw a paused node and wait until it serves again (if a majority is up).

        Raises as `kill`, and NodeNeverReady if it does not serve in time.
        """

    @abstractmethod
    def restart(self, node: int) -> None:
        """Start a killed node again, or end and start a running one; wait until it serves (if a
        majority is up).

        Raises ValueError if there is no such node, NodeNeverReady if it does not serve in time,
        EnsembleError if the ensemble is not running.
        """

    def cut(self, node: int) -> None:
        """Cut a node off its peers, silently, as if its cable were pulled; its clients stay.

        The node finds out within the sync limit (ten ticks) and then serves nobody. If it led, the
        others elect another leader at about the same time.

        Raises ValueError if there is no such node, EnsembleError if it has no peers, if the
        ensemble was made without relays (`relays=False`), or if it is not running.
        """
        self._check(node)
        if len(self.nodes) == 1:
            raise EnsembleError("a single node has no peers to be cut off")
        if node not in self._cut():
            self._cut_off(node)

    def heal(self, node: int) -> None:
        """Put a node back among its peers and wait until it serves (if a majority is up).

        Raises as `restart`.
        """
        self._check(node)
        if node in self._cut():
            self._put_back(node)
            self._await_serving_again(node)

    def order(self, verb: str, node: int) -> None:
        """Break or mend a node by the name of the method. Raises what the method raises, but
        EnsembleError if there is no such node or method: whoever types them may be wrong."""
        if verb not in ORDERS:
            raise EnsembleError(f"nobody can {verb!r} a node: there are {', '.join(ORDERS)}")
        try:
            getattr(self, verb)(node)
        except ValueError as error:
            raise EnsembleError(str(error)) from error

    # --- asking -------------------------------------------------------------------------

    def leader(self) -> int:
        """The node that leads a majority; waits until there is exactly one.

        Raises NoLeader: at once if no majority is up and connected, else when the wait is over; and
        EnsembleError if the ensemble is not running.
        """
        self._check_running()
        found = poll(self._elected, DEADLINE)
        if found is None:
            raise NoLeader(
                f"no leader within {DEADLINE:g} s, though nodes {self._connected()} are up and "
                "connected",
                hint="an election may take longer on a busy machine: ask again",
            )
        return found

    def four_letter(self, node: int, word: str) -> str:
        """The answer of a node to a four-letter word such as "srvr", "mntr", "wchs" or "cons".

        Raises EnsembleError if it does not answer or the ensemble is not running, ValueError if
        there is no such node.
        """
        try:
            return fourletter.ask(self._client_port(node), word)
        except OSError as error:
            raise EnsembleError(
                f"node {node} does not answer {word!r} ({error})",
                hint=f"it may be killed or paused: restart({node}) or resume({node})",
            ) from error

    def metrics(self) -> dict[int, dict[str, float]]:
        """The numbers of `mntr`, for each node that serves. Raises EnsembleError if the ensemble is
        not running."""
        self._check_running()
        answers = {node: fourletter.metrics(self._client_port(node)) for node in self._up()}
        return {node: numbers for node, numbers in answers.items() if numbers is not None}

    def status(self) -> list[NodeStatus]:
        """The state of each node, as far as it answers. Raises EnsembleError if the ensemble is not
        running."""
        self._check_running()
        states, cut = self._states(), self._cut()
        return [self._status(node, states[node], node in cut) for node in self.nodes]

    # --- for the backends to fill in ----------------------------------------------------

    @abstractmethod
    def _prepare(self) -> None:
        """Look for all that is needed to start; the first thing a start does."""

    @abstractmethod
    def _attempt(self) -> None:
        """Start the nodes. A port taken by others is a PortClash: then all is tried again."""

    @abstractmethod
    def _states(self) -> Mapping[int, State]:
        """The state of each node, as seen from outside."""

    @abstractmethod
    def _cut(self) -> set[int]:
        """The nodes that are cut off."""

    @abstractmethod
    def _cut_off(self, node: int) -> None:
        """Take a connected node away from its peers."""

    @abstractmethod
    def _put_back(self, node: int) -> None:
        """Bring a node that is cut off back to its peers."""

    @abstractmethod
    def _exit_code(self, node: int) -> int | None:
        """The exit code of a node that has ended by itself."""

    @abstractmethod
    def _log(self, node: int) -> Path:
        """The file with all that a node has written."""

    # --- inside: a guarded directory ----------------------------------------------------

    def _guard(self, parent: Path) -> Guarded:
        """Make a directory with a guardian."""
        root = Path(tempfile.mkdtemp(prefix="zkkit-", dir=parent))
        try:
            (root / "logs").mkdir()
            self._guarded = Guarded(root, errors=root / "logs" / "guardian.log")
        except BaseException:
            shutil.rmtree(root, ignore_errors=True)
            raise
        self._owner = os.getpid()
        atexit.register(self._stop_at_exit)
        return self._guarded

    def _guardian(self) -> Guarded:
        self._check_running()
        assert self._guarded is not None
        return self._guarded

    def _abandon(self, *, keep_logs: bool) -> bool:
        """Forget the running ensemble first, so that whatever happens it is stopped once. False if
        its guardian was gone, and so could not clean up."""
        guarded, self._guarded = self._guarded, None
        atexit.unregister(self._stop_at_exit)
        return guarded is None or guarded.stop(keep_logs=keep_logs)

    def _stop_at_exit(self) -> None:
        # A forked child inherits this hook, but the ensemble is not its own to stop.
        if os.getpid() == self._owner:
            self.stop()

    @property
    def _is_running(self) -> bool:
        return self._guarded is not None

    def _check_running(self) -> None:
        if not self._is_running:
            raise EnsembleError("this ensemble is not running", hint="start() it")

    # --- inside: waiting ----------------------------------------------------------------

    def _await_serving_again(self, node: int) -> None:
        # Without a majority no node can serve: then there is nothing to wait for yet.
        connected = self._connected()
        if node in connected and len(connected) >= majority(len(self.nodes)):
            self._await([node])

    def _await(self, nodes: Sequence[int]) -> None:
        """Return when all of `nodes` serve under one leader, or say which one does not, and why."""
        missing: list[int] = []

        def all_serve() -> bool | None:
            for node in nodes:
                code = self._exit_code(node)
                if code is not None:
                    self._give_up(node, f"ended with exit code {code}")
            missing[:] = [node for node in nodes if self._mode(node) is None]
            return True if not missing and self._only_leader() is not None else None

        if poll(all_serve, DEADLINE) is None:
            self._give_up(
                missing[0] if missing else nodes[0], f"did not serve within {DEADLINE:g} s"
            )

    def _give_up(self, node: int, message: str) -> NoReturn:
        log = self._log(node)
        raise NodeNeverReady(node, message, log=str(log), tail=tail(log) or "(it wrote nothing)")

    def _only_leader(self) -> int | None:
        roles = {node: self._mode(node) for node in self._connected()}
        return only_leader(roles, len(self.nodes))

    def _elected(self) -> int | None:
        """The leader, None while there may be an election; NoLeader where there can be none."""
        connected, wanted = self._connected(), majority(len(self.nodes))
        if len(connected) < wanted:
            states, cut = self._states(), self._cut()
            ways = (mending(node, states[node], node in cut) for node in self.nodes)
            raise NoLeader(
                f"no leader: {len(connected)} of {len(self.nodes)} nodes are up and connected, "
                f"and {wanted} must be",
                hint=", ".join(way for each in ways for way in each),
            )
        return self._only_leader()

    # --- inside: small things -----------------------------------------------------------

    def _check(self, node: int) -> None:
        self._check_running()
        if node not in self.nodes:
            raise ValueError(f"there is no node {node}: nodes are 1 to {len(self.nodes)}")

    def _check_alive(self, node: int) -> None:
        self._check(node)
        if self._states()[node] == "killed":
            raise EnsembleError(f"node {node} has been killed", hint=f"restart({node})")

    def _up(self) -> list[int]:
        return [node for node, state in self._states().items() if state == "running"]

    def _connected(self) -> list[int]:
        cut = self._cut()
        return [node for node in self._up() if node not in cut]

    def _client_port(self, node: int) -> int:
        self._check(node)
        return self._ports[node]

    def _mode(self, node: int) -> str | None:
        return fourletter.mode(self._client_port(node))

    def _status(self, node: int, state: State, cut: bool) -> NodeStatus:
        port = self._client_port(node)
        known = fourletter.metrics(port) if state == "running" else None
        if known is None:
            return NodeStatus(node, port, state, cut)
        role, sessions = fourletter.mode(port), fourletter.sessions(port)
        return NodeStatus(node, port, state, cut, role, known.get("zk_avg_latency"), sessions)


def majority(size: int) -> int:
    """How many of `size` nodes can elect a leader."""
    return size // 2 + 1


def only_leader(roles: Mapping[int, str | None], size: int) -> int | None:
    """The one that leads a majority of `size` nodes, by what those that are up and connected say of
    themselves; None of one that does not serve."""
    # A leader that was paused believes in itself for a moment: two leaders are none yet. One
    # that is cut off does so for the sync limit, and leads nobody: it is not asked here. Nor does
    # it lead anybody when it is put back within that time, while the others still elect.
    if sum(role is not None for role in roles.values()) < majority(size):
        return None
    leaders = [node for node, role in roles.items() if role in _LEADING]
    return leaders[0] if len(leaders) == 1 else None


def mending(node: int, state: State, cut: bool) -> list[str]:
    """The calls that bring a node back among its peers, in their order."""
    ways = {"killed": [f"restart({node})"], "paused": [f"resume({node})"], "running": []}[state]
    return [*ways, f"heal({node})"] if cut else ways


def poll(question: Callable[[], T | None], seconds: float) -> T | None:
    """Ask until there is an answer, which is returned, or until the deadline has passed."""
    deadline = Deadline.after(seconds, time.monotonic())
    while (answer := question()) is None and not deadline.over(time.monotonic()):
        time.sleep(_POLL)
    return answer


def tail(log: Path) -> str:
    """The last lines of a log."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-TAIL:])
