"""Opening a session: what is refused, how soon, and with which words."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

import zkkit
from zkkit.ensemble import LocalEnsemble
from zkkit.errors import ConnectFailed, InvalidPath, ZkkitError
from zkkit.testing import Proxy


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, so nobody else gets it; not listening
        yield f"127.0.0.1:{taken.getsockname()[1]}"


@pytest.mark.parametrize("hosts", ["", "  ", "/chroot", None])
def test_no_hosts(hosts: Any) -> None:
    """An empty connect string is refused with an example of a good one."""
    with pytest.raises(ZkkitError, match="is empty") as caught:
        zkkit.connect(hosts)
    assert "host:port" in str(caught.value)


@pytest.mark.parametrize(
    ("hosts", "part"),
    [
        ("host:notaport", "host:notaport"),
        ("host:2181,other:", "other:"),
        ("host:2181,:2182", ":2182"),
        ("host:0", "host:0"),
        ("host:70000", "host:70000"),
        ("host:-1", "host:-1"),
        ("host:2181,,other:2181", "''"),
    ],
)
def test_unusable_hosts(hosts: str, part: str) -> None:
    """The part that is wrong is named, before anything is started."""
    with pytest.raises(ZkkitError) as caught:
        zkkit.connect(hosts)
    assert part in str(caught.value)


@pytest.mark.parametrize("name", ["timeout", "connect_timeout"])
@pytest.mark.parametrize("seconds", [0, -1, None, "10", float("nan")])
def test_impossible_timeouts(zk_hosts: str, name: str, seconds: Any) -> None:
    """A timeout that is no time is refused by its name."""
    with pytest.raises(ValueError, match=rf"^{name} must be"):
        zkkit.connect(zk_hosts, **{name: seconds}).close()


def test_unknown_handler(zk_hosts: str) -> None:
    """There are two handlers, and the error names them."""
    with pytest.raises(ValueError, match=r'"threading" or "gevent".*asyncio'):
        zkkit.connect(zk_hosts, handler="asyncio")


def test_unknown_tls_option(zk_hosts: str) -> None:
    """A misspelt option of tls= is named, with those there are."""
    with pytest.raises(ValueError, match=r"cafile.*check_hostname"):
        zkkit.connect(zk_hosts, tls={"cafile": "ca.pem"})


@pytest.mark.parametrize("hosts", ["127.0.0.1:2181/a//b", "127.0.0.1:2181/a/../b"])
def test_invalid_chroot(hosts: str) -> None:
    """The chroot is a path, and checked as one."""
    with pytest.raises(InvalidPath):
        zkkit.connect(hosts, connect_timeout=0.5)


def test_nobody_listens(nobody: str, no_thread_left: Any) -> None:
    """The error comes in time, names the hosts and the setting, and leaves no thread."""
    hosts = f"{nobody},{nobody}"
    with no_thread_left():
        began = time.monotonic()
        with pytest.raises(ConnectFailed) as caught:
            zkkit.connect(hosts, connect_timeout=0.7)
        assert 0.6 < time.monotonic() - began < 1.7
    assert hosts in str(caught.value)
    assert "connect_timeout=0.7" in str(caught.value)


def test_host_without_an_address(no_thread_left: Any) -> None:
    """A name that does not resolve is a server that does not answer."""
    with no_thread_left():
        with pytest.raises(ConnectFailed, match=r"no-such-host\.invalid"):
            zkkit.connect("no-such-host.invalid:2181", connect_timeout=0.5)


def test_servers_that_say_nothing(zk_proxy: Proxy, no_thread_left: Any) -> None:
    """A server that takes the connection and is silent does not take our time as well."""
    zk_proxy.freeze()
    with no_thread_left():
        began = time.monotonic()
        with pytest.raises(ConnectFailed):
            zkkit.connect(zk_proxy.hosts, timeout=30.0, connect_timeout=0.5)
        assert time.monotonic() - began < 4.0


def test_session_timeout_plays_no_part(nobody: str) -> None:
    """With a session timeout below the connect timeout, the latter decides all the same."""
    began = time.monotonic()
    with pytest.raises(ConnectFailed):
        zkkit.connect(nobody, timeout=0.2, connect_timeout=1.0)
    assert 0.9 < time.monotonic() - began < 2.0


def test_one_server_of_several_will_do(nobody: str, zk_hosts: str, open_session: Any) -> None:
    """Servers that are down are passed over."""
    assert open_session(f"{nobody},{zk_hosts},{nobody}").exists("/") is not None


def test_spaces_in_hosts(zk_ensemble: LocalEnsemble, open_session: Any) -> None:
    """A list of hosts may be written with spaces, as people do."""
    assert open_session(zk_ensemble.hosts.replace(",", ", ")).exists("/") is not None


def test_a_late_server(zk_proxy: Proxy, beside: Any) -> None:
    """A server that comes up within the connect timeout is found."""
    zk_proxy.cut()
    opening = beside(zkkit.connect, zk_proxy.hosts, timeout=5.0, connect_timeout=10.0)
    time.sleep(0.3)
    zk_proxy.mend()
    with opening.result(10.0) as session:
        assert session.state == "connected"


def test_namespace_on_servers_that_fall_silent(zk_proxy: Proxy, no_thread_left: Any) -> None:
    """Making the namespace is part of connecting: if it cannot be done, nothing is left open."""
    with no_thread_left():
        zk_proxy.lose_request("create", count=100)
        with pytest.raises(ZkkitError):
            zkkit.connect(zk_proxy.hosts, timeout=5.0, connect_timeout=1.0, namespace="t-never")
