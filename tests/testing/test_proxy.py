"""The proxy loses what it is told to lose, and nothing else."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import pytest
from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import ConnectionLoss
from kazoo.handlers.threading import KazooTimeoutError

from zkkit.ensemble import fourletter
from zkkit.hosts import parse_hosts
from zkkit.testing import Proxy, eventually

TIMEOUT = 10.0  # of sessions, and for everything that is awaited


class Client(KazooClient):  # type: ignore[misc]  # kazoo has no types
    """A kazoo client that tells when it is disconnected and connected again."""

    def __init__(self, hosts: str) -> None:
        super().__init__(hosts, timeout=TIMEOUT)
        self.suspended = threading.Event()
        self.reconnected = threading.Event()
        self.add_listener(self._changed)
        self.start(timeout=TIMEOUT)

    def _changed(self, state: str) -> None:
        if state == KazooState.SUSPENDED:
            self.reconnected.clear()
            self.suspended.set()
        elif state == KazooState.CONNECTED:
            self.reconnected.set()

    def sent(self, number: int) -> None:
        """Wait until so many requests are under way."""
        eventually(lambda: len(self._pending) >= number, TIMEOUT)


@pytest.fixture
def through(zk_proxy: Proxy) -> Iterator[Client]:
    """A client whose connection leads through the proxy."""
    client = Client(zk_proxy.hosts)
    yield client
    client.stop()
    client.close()


@pytest.fixture(scope="module")
def direct(zk_hosts: str) -> Iterator[KazooClient]:
    """A client that asks the servers themselves."""
    client = KazooClient(zk_hosts, timeout=TIMEOUT)
    client.start()
    yield client
    client.stop()
    client.close()


def exists(direct: KazooClient, path: str) -> bool:
    """Whether the node is there, by a server that has caught up with the leader."""
    direct.sync("/")
    return direct.exists(path) is not None


def test_fresh_proxy_lets_everything_through(
    through: Client, direct: KazooClient, zk_path: str
) -> None:
    """Requests, replies and watch events pass a proxy without rules."""
    fired = threading.Event()
    through.create(zk_path, b"old")
    assert through.get(zk_path, watch=lambda event: fired.set())[0] == b"old"
    direct.set(zk_path, b"new")
    assert fired.wait(TIMEOUT)
    assert through.get(zk_path)[0] == b"new"


def test_large_values_pass_whole(through: Client, zk_path: str) -> None:
    """A frame longer than a socket's buffer arrives as it was sent."""
    value = bytes(range(256)) * 3500
    through.create(zk_path, value)
    assert through.get(zk_path)[0] == value


def test_hosts_keep_the_chroot() -> None:
    """There is a port for each server, and the chroot stays behind them."""
    with Proxy("127.0.0.1:1,127.0.0.1:2,[::1]:3/below/here") as proxy:
        servers, chroot = parse_hosts(proxy.hosts)
    assert [host for host, _ in servers] == ["127.0.0.1"] * 3
    assert len({port for _, port in servers}) == 3
    assert chroot == "/below/here"


def test_four_letter_words_pass(zk_proxy: Proxy) -> None:
    """What is not framed goes through as it is, and is not counted as a request."""
    (_, port), *_ = parse_hosts(zk_proxy.hosts)[0]
    assert fourletter.mode(port) in ("leader", "follower")
    assert not zk_proxy.requests


def test_lost_reply_leaves_the_node(
    through: Client, zk_proxy: Proxy, direct: KazooClient, zk_path: str
) -> None:
    """After a lost reply the client has ConnectionLoss and the server has the node."""
    loss = zk_proxy.lose_reply("create")
    with pytest.raises(ConnectionLoss):
        through.create(zk_path)
    assert loss.wait(TIMEOUT)
    assert exists(direct, zk_path)


def test_lost_request_leaves_nothing(
    through: Client, zk_proxy: Proxy, direct: KazooClient, zk_path: str
) -> None:
    """After a lost request the client has ConnectionLoss and the server has no node."""
    loss = zk_proxy.lose_request("create")
    with pytest.raises(ConnectionLoss):
        through.create(zk_path)
    assert loss.wait(TIMEOUT)
    assert not exists(direct, zk_path)


def test_session_survives_a_lost_reply(through: Client, zk_proxy: Proxy, zk_path: str) -> None:
    """The client comes back with the same session, and its next create gets its reply."""
    session = through.client_id
    zk_proxy.lose_reply("create")
    with pytest.raises(ConnectionLoss):
        through.create(zk_path, ephemeral=True)
    assert through.reconnected.wait(TIMEOUT)
    assert through.create(zk_path + "-2") == zk_path + "-2"
    assert through.client_id == session
    assert through.exists(zk_path).ephemeralOwner == session[0]


def test_only_the_named_operation_is_lost(through: Client, zk_proxy: Proxy, zk_path: str) -> None:
    """Other operations pass while a loss waits for its own."""
    loss = zk_proxy.lose_reply("delete")
    through.create(zk_path)
    through.set(zk_path, b"x")
    assert not loss.lost.is_set()
    with pytest.raises(ConnectionLoss):
        through.delete(zk_path)
    assert loss.wait(TIMEOUT)


def test_count_of_losses(through: Client, zk_proxy: Proxy, zk_path: str) -> None:
    """A loss of two is over after the second one, not after the first."""
    loss = zk_proxy.lose_request("exists", count=2)
    for already in (False, True):
        assert loss.lost.is_set() is False
        with pytest.raises(ConnectionLoss):
            through.exists(zk_path)
        assert loss.wait(TIMEOUT if already else 0) is already
        assert through.reconnected.wait(TIMEOUT)
    assert through.exists(zk_path) is None


def test_one_flight_counts_as_one_loss(through: Client, zk_proxy: Proxy, zk_path: str) -> None:
    """Requests that go down with an earlier one are not counted as losses of their own."""
    loss = zk_proxy.lose_request("create", count=2)
    zk_proxy.freeze()  # so that all are under way before the connection is cut
    flight = [through.create_async(f"{zk_path}-{n}") for n in range(3)]
    through.sent(len(flight))
    zk_proxy.thaw()
    for reply in flight:
        with pytest.raises(ConnectionLoss):
            reply.get(timeout=TIMEOUT)
    assert through.reconnected.wait(TIMEOUT)
    assert not loss.lost.is_set()
    with pytest.raises(ConnectionLoss):
        through.create(zk_path)
    assert loss.wait(TIMEOUT)


def test_earlier_requests_of_a_flight_arrive(
    zk_hosts: str, direct: KazooClient, zk_path: str
) -> None:
    """A request sent before the lost one reaches its server; one sent after it does not."""
    arrived = threading.Event()
    one_server = zk_hosts.split(",")[0]  # a session that moves leaves behind what is under way
    with Proxy(one_server) as proxy, contextlib.closing(Client(proxy.hosts)) as through:
        through.create(zk_path)
        direct.sync("/")
        direct.get_children(zk_path, watch=lambda event: arrived.set())
        loss = proxy.lose_request("delete")
        proxy.freeze()  # so that the last one is under way before the connection is cut
        flight = [
            through.create_async(zk_path + "/before"),
            through.delete_async(zk_path),
            through.create_async(zk_path + "/after"),
        ]
        through.sent(len(flight))
        proxy.thaw()
        assert loss.wait(TIMEOUT)
        for reply in flight[1:]:
            with pytest.raises(ConnectionLoss):
                reply.get(timeout=TIMEOUT)
        assert arrived.wait(TIMEOUT)
        assert direct.get_children(zk_path) == ["before"]
        through.stop()


def test_unknown_operation_is_refused(zk_proxy: Proxy) -> None:
    """A mistyped name is an error that lists the names, not a loss that never happens."""
    with pytest.raises(ValueError, match="create"):
        zk_proxy.lose_reply("craete")


def test_requests_are_counted(through: Client, zk_proxy: Proxy, zk_path: str) -> None:
    """Each request is counted once, under its name."""
    before = zk_proxy.requests
    through.create(zk_path)
    for _ in range(3):
        through.get(zk_path)
    through.get_children(zk_path)
    seen = zk_proxy.requests - before
    del seen["ping"]
    assert seen == {"create": 1, "get": 3, "children": 1}
    assert before["connect"] == 1


def test_cut_keeps_clients_out_until_mended(through: Client, zk_proxy: Proxy, zk_path: str) -> None:
    """A cut disconnects, keeps disconnected, and is over after mend()."""
    zk_proxy.cut()
    assert through.suspended.wait(TIMEOUT)
    with pytest.raises(KazooTimeoutError):
        KazooClient(zk_proxy.hosts).start(timeout=0.5)
    assert not through.connected
    zk_proxy.mend()
    assert through.reconnected.wait(TIMEOUT)
    assert through.exists(zk_path) is None


def test_drop_disconnects_once(through: Client, zk_proxy: Proxy) -> None:
    """A drop disconnects, and the client comes back by itself with its session."""
    session = through.client_id
    through.reconnected.clear()
    zk_proxy.drop()
    assert through.suspended.wait(TIMEOUT)
    assert through.reconnected.wait(TIMEOUT)
    assert through.client_id == session


def test_frozen_connection_is_silent_and_open(
    through: Client, zk_proxy: Proxy, direct: KazooClient, zk_path: str
) -> None:
    """While frozen nothing reaches the server and nobody is disconnected; thawed, it arrives."""
    zk_proxy.freeze()
    reply = through.create_async(zk_path)
    assert not reply.wait(0.3)
    assert not exists(direct, zk_path)
    assert through.connected
    zk_proxy.thaw()
    assert reply.get(timeout=TIMEOUT) == zk_path
    assert exists(direct, zk_path)
    assert not through.suspended.is_set()


def test_frozen_proxy_accepts_and_holds(zk_proxy: Proxy) -> None:
    """A connection made while frozen opens, and is answered only when thawed."""
    (address, *_), _ = parse_hosts(zk_proxy.hosts)
    zk_proxy.freeze()
    with socket.create_connection(address, timeout=0.2) as connection:
        connection.sendall(b"ruok")
        with pytest.raises(TimeoutError):
            connection.recv(4)
        zk_proxy.thaw()
        connection.settimeout(TIMEOUT)
        assert connection.recv(4) == b"imok"


def test_delay_goes_each_way(through: Client, zk_proxy: Proxy, zk_path: str) -> None:
    """A round trip takes two delays, and a flight takes them once, in order."""
    zk_proxy.delay(0.1)
    began = time.monotonic()
    flight = [through.create_async(f"{zk_path}-{n}") for n in range(5)]
    assert [reply.get(timeout=TIMEOUT) for reply in flight] == [f"{zk_path}-{n}" for n in range(5)]
    assert 0.2 <= time.monotonic() - began < 0.2 * 5
    zk_proxy.delay(0)
    took = []
    for _ in range(5):
        began = time.monotonic()
        through.exists(zk_path)
        took.append(time.monotonic() - began)
    assert min(took) < 0.1


def test_small_frames_do_not_wait_for_acknowledgements(
    through: Client, zk_proxy: Proxy, zk_path: str
) -> None:
    """Flights of small requests take milliseconds, not the 40 of a delayed acknowledgement."""
    through.exists(zk_path)
    took = []
    for _ in range(10):
        began = time.monotonic()
        flight = [through.exists_async(zk_path) for _ in range(5)]
        for reply in flight:
            reply.get(timeout=TIMEOUT)
        took.append(time.monotonic() - began)
    assert sorted(took)[5] < 0.03


def test_unreachable_server_closes_the_client() -> None:
    """If nobody listens behind the proxy its clients are closed, not held."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with Proxy(f"127.0.0.1:{port}") as proxy:
        (address, *_), _ = parse_hosts(proxy.hosts)
        with socket.create_connection(address, timeout=TIMEOUT) as connection:
            assert connection.recv(1) == b""


def test_close_leaves_no_thread_and_no_port(zk_hosts: str) -> None:
    """After close() the threads are those of before, the ports are free, rules are refused."""
    before = set(threading.enumerate())
    proxy = Proxy(zk_hosts)
    (address, *_), _ = parse_hosts(proxy.hosts)
    with socket.create_connection(address, timeout=TIMEOUT) as connection:
        connection.sendall(b"ruok")
        assert connection.recv(4) == b"imok"
        proxy.freeze()
        proxy.close()
        proxy.close()
    assert set(threading.enumerate()) <= before
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address, timeout=TIMEOUT)
    with pytest.raises(RuntimeError, match="closed"):
        proxy.thaw()
