"""Sessions on servers without a majority, which answer reads all the same.

Nobody asks for that by `zkkit.connect`; `session.kazoo.read_only` is the way to it.
"""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from kazoo.exceptions import NotReadOnlyCallError
from kazoo.protocol.states import KeeperState

import zkkit
from tests.support.fixtures import nothing_new
from zkkit.ensemble import LocalEnsemble, config
from zkkit.errors import NotReadOnly
from zkkit.testing import eventually, throughout

LEFT = 3
"""The server that is left without the others."""


class ReadOnlyServers(LocalEnsemble):
    """Servers that can be read without a majority."""

    def __init__(self) -> None:
        super().__init__(jvm_flags=(*config.FAST_START, "-Dreadonlymode.enabled=true"))

    def _spawn(self, node: int) -> None:
        settings = self._home(node) / "zoo.cfg"
        if "localSessions" not in settings.read_text():
            # A server without a majority cannot give a session that all servers know, and takes
            # none that they do know.
            with open(settings, "a") as file:
                file.write("localSessionsEnabled=true\nlocalSessionsUpgradingEnabled=true\n")
        super()._spawn(node)

    def leave_one(self) -> None:
        """Kill all but one."""
        for node in self.pids.keys() - {LEFT}:
            self.kill(node)

    def mend(self) -> None:
        """Let all of them take writes again."""
        for node in self.nodes:
            if node not in self.pids:
                self.restart(node)
        self.heal(LEFT)
        eventually(lambda: all(self.four_letter(node, "isro") == "rw" for node in self.nodes))


@pytest.fixture(scope="module")
def running() -> Iterator[ReadOnlyServers]:
    with ReadOnlyServers() as servers:
        yield servers


@pytest.fixture
def servers(running: ReadOnlyServers) -> Iterator[ReadOnlyServers]:
    """All of them take writes."""
    running.mend()
    yield running


@pytest.fixture
def read_only(servers: ReadOnlyServers, zk_path: str) -> Iterator[Callable[[str], zkkit.Session]]:
    """`read_only(hosts)` is a session that is connected to the one server that is left. There is a
    node at `zk_path`. In the end nothing of the session is left."""
    before = set(threading.enumerate())
    opened: list[zkkit.Session] = []

    def open_one(hosts: str) -> zkkit.Session:
        session = zkkit.connect(hosts, timeout=4.0)
        opened.append(session)
        session.create(zk_path, b"here")
        _seen_by(servers, LEFT, zk_path)
        session.kazoo.read_only = True
        servers.leave_one()
        eventually(lambda: session.kazoo.client_state == KeeperState.CONNECTED_RO, 30.0)
        return session

    yield open_one
    for session in opened:
        session.close()
    nothing_new(before, 3.0)


def _seen_by(servers: LocalEnsemble, node: int, path: str) -> None:
    """Wait until this server has the node."""
    with zkkit.connect(f"127.0.0.1:{servers.ports[node]}") as session:
        eventually(lambda: session.exists(path))


@pytest.mark.slow  # servers of its own, one of them cut off
def test_a_session_leaves_for_the_majority_that_the_others_have(
    servers: ReadOnlyServers, read_only: Any, zk_path: str
) -> None:
    """Its server goes on being read-only, cut off the others, and never hangs up. It knows one of
    them only: having heard there that its session is unknown it must not go back."""
    session = read_only(f"127.0.0.1:{servers.ports[1]},127.0.0.1:{servers.ports[LEFT]}")
    assert session.get(zk_path).data == session.kazoo.get(zk_path)[0] == b"here"
    with pytest.raises(NotReadOnly, match="read-only"):
        session.create(f"{zk_path}/no")
    with pytest.raises(NotReadOnlyCallError):
        session.kazoo.create(f"{zk_path}/no")
    with pytest.raises(NotReadOnly):
        zkkit.ReentrantLock(session, zk_path).acquire(timeout=20.0)

    states: list[str] = []
    session.kazoo.add_listener(states.append)
    servers.cut(LEFT)
    for node in servers.nodes:
        if node != LEFT:
            servers.restart(node)
    eventually(lambda: session.kazoo.client_state == KeeperState.CONNECTED, 30.0)
    assert servers.four_letter(LEFT, "isro") == "ro"
    session.kazoo.create(f"{zk_path}/kazoo")
    session.create(f"{zk_path}/zkkit")
    assert states[0] == "SUSPENDED"
    assert states[-1] == "CONNECTED"
    assert session.state == "connected"


@pytest.mark.slow  # the servers are killed and start again
def test_a_read_only_session_is_quiet(servers: ReadOnlyServers, read_only: Any) -> None:
    """The server refuses the beats that are to prove that the session lives. It must not be asked
    the faster for that."""
    session = read_only(servers.hosts)

    def received() -> int:
        return int(re.findall(r"Received: (\d+)", servers.four_letter(LEFT, "srvr"))[0])

    known, before = session.session_id, received()
    throughout(lambda: session.session_id == known, 1.5 * session.timeout)
    assert session.kazoo.client_state == KeeperState.CONNECTED_RO
    assert received() - before < 50


@pytest.mark.slow
def test_closing_while_a_server_is_asked_that_does_not_answer(
    servers: ReadOnlyServers, read_only: Any
) -> None:
    """The question ends soon, and with it the last thread."""
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        silent.settimeout(20.0)
        session = read_only(f"{servers.hosts},127.0.0.1:{silent.getsockname()[1]}")
        while True:  # connecting, the session may have come here as well
            asked, _ = silent.accept()
            with closing(asked):
                asked.settimeout(20.0)
                if asked.recv(4) == b"isro":
                    session.close()
                    break
