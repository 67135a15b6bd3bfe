"""Opening a session: what is refused, how soon, and with which words."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import zkkit
from zkkit.ensemble import LocalEnsemble
from zkkit.errors import ConnectFailed, InvalidPath, ZkkitError
from zkkit.retry import Forever
from zkkit.session.options import Options
from zkkit.steps import OPEN_ACL, Acl
from zkkit.testing import Proxy


class Relay:
    """A door on ::1 to one server."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        try:
            self._door = socket.create_server(("::1", 0), family=socket.AF_INET6)
        except OSError as error:
            pytest.skip(f"no IPv6 here: {error}")
        self.port = self._door.getsockname()[1]

    def __enter__(self) -> Relay:
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._door.close()

    def _serve(self) -> None:
        inside, _ = self._door.accept()
        outside = socket.create_connection(self._target)
        for source, sink in ((inside, outside), (outside, inside)):
            threading.Thread(target=self._copy, args=(source, sink), daemon=True).start()

    def _copy(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, so nobody else gets it; not listening
        yield f"127.0.0.1:{taken.getsockname()[1]}"


@pytest.mark.parametrize("hosts", ["", "  ", "/chroot"])
def test_no_hosts(hosts: Any) -> None:
    """An empty connect string is refused with an example of a good one."""
    with pytest.raises(ZkkitError, match="is empty") as caught:
        zkkit.connect(hosts)
    assert "host:port" in str(caught.value)


@pytest.mark.parametrize("hosts", [["h:2181", "i:2181"], ("h:2181",), None, b"h:2181"])
def test_hosts_that_are_no_string(hosts: Any) -> None:
    """A list is not called empty: the error says what hosts must be, and how to make it."""
    with pytest.raises(ZkkitError, match="must be one string") as caught:
        zkkit.connect(hosts)
    assert repr(hosts) in str(caught.value)
    assert ("join" in str(caught.value)) == isinstance(hosts, list | tuple)


@pytest.mark.parametrize("hosts", ["::1", "::1:2181", "h:1,fe80::1"])
def test_ipv6_without_brackets(hosts: str) -> None:
    """Where its address ends and the port begins nobody could tell."""
    with pytest.raises(ZkkitError, match=r"in brackets: \[::1\]:2181"):
        zkkit.connect(hosts)


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
        ("my host:2181", "my host:2181"),
        ("user@host:2181", "user@host:2181"),
        ("[host]:2181", "[host]:2181"),
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


@pytest.mark.parametrize("options", [{"timeout": 0.0005}, {"timeout": 0.00099}, {"tick": 0.0005}])
def test_less_than_a_millisecond(nobody: str, options: dict[str, float]) -> None:
    """Servers count in milliseconds: to them it is nothing. They see no `connect_timeout`."""
    (name,) = options
    with pytest.raises(ValueError, match=rf"^{name} .* a millisecond \(0\.001\)"):
        zkkit.connect(nobody, **options)  # type: ignore[arg-type]
    with pytest.raises(ConnectFailed, match=r"connect_timeout=0\.0005 s"):
        zkkit.connect(nobody, connect_timeout=0.0005, timeout=0.002, tick=0.001)


@pytest.mark.parametrize("timeout", [0.002, 0.999, 1.0, 10.0])
def test_what_is_said_of_the_session_timeout(nobody: str, timeout: float) -> None:
    """An answer is awaited for as long as a session may be silent: where that is little, it does
    play a part."""
    with pytest.raises(ConnectFailed) as caught:
        zkkit.connect(nobody, timeout=timeout, connect_timeout=0.01)
    assert (f"timeout={timeout:g} s at most" in caught.value.hint) == (timeout < 1.0)
    assert ("plays no part" in caught.value.hint) == (timeout >= 1.0)


def test_timeout_that_the_protocol_cannot_say(zk_hosts: str) -> None:
    """It counts milliseconds in 32 bits; the error speaks of that, and not of credentials."""
    with pytest.raises(ValueError, match=r"^timeout must be at most 2147483 s"):
        zkkit.connect(zk_hosts, timeout=3e6)
    with zkkit.connect(zk_hosts, timeout=2147483.0) as session:
        assert 0 < session.timeout < 2147483, "the server has its own limit"


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize(
    "where",
    [
        "kazoo.protocol.connection.ConnectionHandler._connect",
        "zkkit.session.kazoo_handler.Handler._servers",
    ],
)
def test_given_up_for_another_reason_than_credentials(
    zk_hosts: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, where: str
) -> None:
    """Whatever ends kazoo while it connects is told as it is, and logged where the error says: no
    thread dies of it."""

    def broken(*args: object) -> None:
        raise LookupError("kazoo is broken")

    monkeypatch.setattr(where, broken)
    with pytest.raises(ConnectFailed, match=r"given up.*kazoo is broken"):
        zkkit.connect(zk_hosts)
    (logged,) = (record for record in caplog.records if "nobody foresaw" in record.message)
    assert logged.name == "zkkit.kazoo"
    assert logged.exc_info is not None and logged.exc_info[0] is LookupError


def test_node_data_that_is_text(zk_hosts: str) -> None:
    """What locks write into their nodes is checked here, not by the first lock."""
    with pytest.raises(TypeError, match=r"node_data=.*must be bytes.*encode"):
        zkkit.connect(zk_hosts, node_data="me")  # type: ignore[arg-type]


SENSELESS: list[tuple[str, Any]] = [
    ("acl", "world"), ("acl", [1]), ("acl", 5), ("acl", OPEN_ACL[0]), ("acl", []),
    ("acl", [Acl("all", "world", "anyone")]),  # type: ignore[arg-type]
    ("auth", "digest"), ("auth", ("digest", "u:p")), ("auth", [("digest", b"u:p")]),
    ("auth", [("digest",)]), ("auth", {"digest": "u:p"}), ("auth", 5),
    ("retry", 3), ("retry", 0), ("retry", Forever),
    ("namespace", 5), ("namespace", b"app"),
    ("tls", True), ("tls", "ca.pem"),
    ("timeout", True), ("connect_timeout", True), ("tick", True),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), SENSELESS)
def test_arguments_that_make_no_sense(nobody: str, name: str, value: Any) -> None:
    """Each is refused at the call, by its name; a credential is not shown."""
    with pytest.raises(ValueError, match=rf"^{name}\b") as caught:
        zkkit.connect(nobody, **{name: value})
    assert "u:p" not in str(caught.value)


def test_credentials_as_lists() -> None:
    """Pairs may be lists: kazoo wants tuples."""
    auth: Any = [["digest", "u:p"]]
    assert Options("h:1", auth=auth).auth == (("digest", "u:p"),)


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


def test_host_without_an_address(nobody: str, no_thread_left: Any) -> None:
    """The error says of which name it is that it does not resolve, and why the others failed."""
    with no_thread_left():
        with pytest.raises(ConnectFailed) as caught:
            zkkit.connect(f"no-such-host.invalid:2181,{nobody}", connect_timeout=0.5)
    assert "no-such-host.invalid:2181: this name has no address" in str(caught.value)
    assert f"{nobody}: " in str(caught.value)


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("name", ["zk2..example", "a" * 64 + ".com", "zk\x002", "\ud800"])
def test_name_that_cannot_be_looked_up(through: zkkit.Session, zk_proxy: Proxy, name: str) -> None:
    """`connect` refuses it; kazoo's client takes any. It has no address, and the other servers are
    tried all the same."""
    with pytest.raises(ZkkitError, match="no usable server in"):
        zkkit.connect(f"{zk_proxy.hosts},{name}:2181")
    through.kazoo.set_hosts(f"{name}:2181,{zk_proxy.hosts},{name}:2182")
    zk_proxy.drop()
    assert through.exists("/") is not None
    assert through._transport.refusals[f"{name}:2181"] == (  # type: ignore[attr-defined]
        "this name has no address"
    )


def test_servers_that_say_nothing(zk_proxy: Proxy, no_thread_left: Any) -> None:
    """A server that takes the connection and is silent does not take our time as well."""
    zk_proxy.freeze()
    with no_thread_left():
        began = time.monotonic()
        with pytest.raises(ConnectFailed):
            zkkit.connect(zk_proxy.hosts, timeout=30.0, connect_timeout=0.5)
        assert time.monotonic() - began < 1.5


def test_session_timeout_plays_no_part(nobody: str) -> None:
    """With a session timeout below the connect timeout, the latter decides all the same."""
    began = time.monotonic()
    with pytest.raises(ConnectFailed):
        zkkit.connect(nobody, timeout=0.2, connect_timeout=0.6)
    assert 0.5 < time.monotonic() - began < 2.0


def test_one_server_of_several_will_do(nobody: str, zk_hosts: str, open_session: Any) -> None:
    """Servers that are down are passed over."""
    assert open_session(f"{nobody},{zk_hosts},{nobody}").exists("/") is not None


def test_spaces_in_hosts(zk_ensemble: LocalEnsemble, open_session: Any) -> None:
    """The hosts may be written with spaces, as people do, wherever they put them."""
    hosts = " " + zk_ensemble.hosts.replace(",", " , ") + " "
    assert open_session(hosts).exists("/") is not None
    assert open_session(hosts + "/zookeeper").exists("/quota") is not None


def test_ipv6_in_brackets(zk_hosts: str, open_session: Any) -> None:
    """An address like [::1] is connected to, with its port or with the default one."""
    host, port = zk_hosts.split(":")
    with Relay(host, int(port)) as relay:
        assert open_session(f"[::1]:{relay.port}").exists("/") is not None
    with pytest.raises(ConnectFailed, match="::1:2181: "):
        zkkit.connect("[::1]", connect_timeout=0.3)


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
