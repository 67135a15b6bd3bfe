"""A session is ended from outside, for real."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest
from kazoo.client import KazooClient, KazooState

from zkkit.hosts import parse_hosts
from zkkit.testing import NotExpired, expire, expire_session

TIMEOUT = 10.0


@pytest.fixture
def client(zk_hosts: str) -> Iterator[KazooClient]:
    """The client whose session is to be ended."""
    client = KazooClient(zk_hosts, timeout=TIMEOUT)
    client.start()
    yield client
    client.stop()
    client.close()


@pytest.fixture
def other(zk_hosts: str) -> Iterator[KazooClient]:
    """A client that looks on."""
    client = KazooClient(zk_hosts, timeout=TIMEOUT)
    client.start()
    yield client
    client.stop()
    client.close()


def test_expired_session_is_told_so_and_loses_its_nodes(
    client: KazooClient, other: KazooClient, zk_hosts: str, zk_path: str
) -> None:
    """The ephemeral node is gone at once, and the client is told LOST long before its timeout."""
    lost = threading.Event()
    client.add_listener(lambda state: lost.set() if state == KazooState.LOST else None)
    client.create(zk_path, ephemeral=True)
    expire(zk_hosts, *client.client_id)
    other.sync("/")
    assert other.exists(zk_path) is None
    assert lost.wait(TIMEOUT / 2)


def test_other_sessions_live_on(
    client: KazooClient, other: KazooClient, zk_hosts: str, zk_path: str
) -> None:
    """Only the named session ends."""
    other.create(zk_path, ephemeral=True)
    session = other.client_id
    expire(zk_hosts, *client.client_id)
    assert other.exists(zk_path).ephemeralOwner == session[0]
    assert other.client_id == session


def test_any_server_that_is_up_will_do(
    client: KazooClient, other: KazooClient, zk_hosts: str, zk_path: str
) -> None:
    """A server that does not answer is passed over."""
    client.create(zk_path, ephemeral=True)
    expire(f"127.0.0.1:1,{zk_hosts}", *client.client_id)
    other.sync("/")
    assert other.exists(zk_path) is None


@pytest.mark.parametrize("server", [0, 1, 2])
def test_through_each_server(
    client: KazooClient, other: KazooClient, zk_hosts: str, zk_path: str, server: int
) -> None:
    """It does not matter whether the session's own server or another one is asked."""
    host, port = parse_hosts(zk_hosts)[0][server]
    lost = threading.Event()
    client.add_listener(lambda state: lost.set() if state == KazooState.LOST else None)
    client.create(zk_path, ephemeral=True)
    expire(f"{host}:{port}", *client.client_id)
    assert lost.wait(TIMEOUT / 2)
    other.sync("/")
    assert other.exists(zk_path) is None


@contextlib.contextmanager
def hangs_up(target: str, *, passes_on: bool) -> Iterator[str]:
    """The address of a server that hangs up on each request, once the server behind it has dealt
    with it, or without passing it on."""

    def serve(connection: socket.socket) -> None:
        with connection:
            request = connection.recv(65536)
            if passes_on:
                with socket.create_connection(parse_hosts(target).servers[0]) as behind:
                    behind.sendall(request)
                    while behind.recv(65536):  # a server hangs up where a session was closed
                        pass

    def run() -> None:
        with contextlib.suppress(OSError):
            while True:
                serve(door.accept()[0])

    with socket.create_server(("127.0.0.1", 0)) as door:
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield f"127.0.0.1:{door.getsockname()[1]}"
        door.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.mark.concurrent
@pytest.mark.parametrize("passes_on", [True, False])
def test_a_server_that_hangs_up_before_it_has_answered(
    client: KazooClient, other: KazooClient, zk_hosts: str, zk_path: str, passes_on: bool
) -> None:
    """Whether the session is over by then or not, it is in the end, and that is no failure."""
    client.create(zk_path, ephemeral=True)
    with hangs_up(zk_hosts, passes_on=passes_on) as hosts:
        expire(f"{hosts},{zk_hosts}", *client.client_id)
    other.sync("/")
    assert other.exists(zk_path) is None


def test_wrong_password_ends_nothing(client: KazooClient, zk_hosts: str, zk_path: str) -> None:
    """With a wrong password the session is refused, and lives."""
    session = client.client_id[0]
    client.create(zk_path, ephemeral=True)
    with pytest.raises(NotExpired, match="password"):
        expire(zk_hosts, session, b"x" * 16)
    # A server that is asked for a session drops the connection it had, whatever the password.
    assert client.retry(client.exists, zk_path).ephemeralOwner == session


def test_a_client_without_a_session(zk_hosts: str) -> None:
    """It was never started: nothing can be ended, and that is said."""
    with pytest.raises(NotExpired, match="no session to expire"):
        expire_session(zk_hosts, KazooClient(zk_hosts))


def test_no_server_is_said() -> None:
    """When no server answers, the error names each one tried."""
    with pytest.raises(NotExpired, match=r"127\.0\.0\.1:1\b.*127\.0\.0\.1:2\b"):
        expire("127.0.0.1:1,127.0.0.1:2", 1, b"x" * 16, timeout=0.5)
