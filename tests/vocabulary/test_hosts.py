"""Connect strings: what is understood, and with which words the rest is refused."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zkkit.errors import InvalidPath, ZkkitError
from zkkit.hosts import DEFAULT_PORT, ConnectString, ServerAddress, parse_hosts

NAME = st.from_regex(r"[a-z][a-z0-9-]{0,10}(\.[a-z]{1,5}){0,2}", fullmatch=True)
HOST = st.one_of(NAME, st.ip_addresses(v=4).map(str), st.ip_addresses(v=6).map(str))
SERVER = st.builds(ServerAddress, HOST, st.integers(1, 65535))
CHROOT = st.lists(st.text("abcé羊-_ ", min_size=1, max_size=4), max_size=3).map(
    lambda parts: "".join("/" + part.strip() + "x" for part in parts)
)
UNDERSTOOD = st.builds(ConnectString, st.lists(SERVER, min_size=1, max_size=5).map(tuple), CHROOT)
SPACE = st.sampled_from(["", " ", "  ", "\t", "\n"])


@pytest.mark.parametrize(
    ("hosts", "servers", "chroot"),
    [
        ("a:1", [("a", 1)], ""),
        ("a:1,b:2", [("a", 1), ("b", 2)], ""),
        ("a", [("a", 2181)], ""),
        ("a,b:7", [("a", 2181), ("b", 7)], ""),
        ("a:1, b:2/root/x", [("a", 1), ("b", 2)], "/root/x"),
        ("a:1/x/", [("a", 1)], "/x"),
        ("a:1/", [("a", 1)], ""),
        ("[::1]:5", [("::1", 5)], ""),
        ("[::1]", [("::1", 2181)], ""),
        ("[::1]:5,10.0.0.7,zk-1.example:3/x", [("::1", 5), ("10.0.0.7", 2181), ("zk-1.example", 3)],
         "/x"),
        ("[fe80::1%eth0]:5", [("fe80::1%eth0", 5)], ""),
        ("名.example:5", [("名.example", 5)], ""),
        ("zk.example.:5", [("zk.example.", 5)], ""),
        ("a" * 63 + ".b:5", [("a" * 63 + ".b", 5)], ""),
        ("a." * 126 + "b", [("a." * 126 + "b", 2181)], ""),
    ],
)  # fmt: skip
def test_what_is_understood(hosts: str, servers: list[tuple[str, int]], chroot: str) -> None:
    """Names, addresses of both kinds, ports or none, and a chroot."""
    assert parse_hosts(hosts) == (tuple(servers), chroot)


@given(UNDERSTOOD, st.data())
def test_written_out_and_read_again(known: ConnectString, data: st.DataObject) -> None:
    """`str()` gives a string that means the same, and spaces around the servers change nothing."""
    assert parse_hosts(str(known)) == known
    parts = [data.draw(SPACE) + str(server) + data.draw(SPACE) for server in known.servers]
    assert parse_hosts(",".join(parts) + known.chroot) == known


@given(UNDERSTOOD)
def test_one_for_each_server(known: ConnectString) -> None:
    """Each server alone, below the same chroot."""
    each = [parse_hosts(hosts) for hosts in known.of_each()]
    assert each == [((server,), known.chroot) for server in known.servers]


@given(st.ip_addresses(), st.none() | st.integers(1, 65535))
def test_addresses(address: IPv4Address | IPv6Address, port: int | None) -> None:
    """The host is the address alone, as sockets take it; brackets are for the connect string."""
    written = f"[{address}]" if address.version == 6 else str(address)
    (server,) = parse_hosts(written if port is None else f"{written}:{port}").servers
    assert server == (str(address), port or DEFAULT_PORT)
    assert str(server) == f"{written}:{port or DEFAULT_PORT}"


@given(st.text(":[],/. a1@\n%é", max_size=12))
def test_anything_is_understood_or_refused(text: str) -> None:
    """No other error comes out, and what was understood can be said again."""
    try:
        known = parse_hosts(text)
    except ZkkitError:
        return
    assert parse_hosts(str(known)) == known


@pytest.mark.parametrize("hosts", ["", "  ", "/chroot", " /chroot"])
def test_nothing(hosts: str) -> None:
    """Without a server it is called empty, with an example of a good one."""
    with pytest.raises(ZkkitError, match=r"(?s)is empty.*host:port.*127\.0\.0\.1:2181"):
        parse_hosts(hosts)


@pytest.mark.parametrize("hosts", [["h:2181", "i:2181"], ("h:2181",), None, b"h:2181", 2181])
def test_no_string(hosts: Any) -> None:
    """A list is not called empty: the error says how to make one string of it."""
    with pytest.raises(ZkkitError, match="must be one string") as caught:
        parse_hosts(hosts)
    assert repr(hosts) in str(caught.value)
    assert ("join" in str(caught.value)) == isinstance(hosts, list | tuple)


@pytest.mark.parametrize("hosts", ["::1", "::1:2181", "h:1,fe80::1"])
def test_ipv6_without_brackets(hosts: str) -> None:
    """Where its address ends and the port begins is unknown."""
    with pytest.raises(ZkkitError, match=r"in brackets: \[::1\]:2181"):
        parse_hosts(hosts)


@pytest.mark.parametrize(
    ("hosts", "part"),
    [
        ("a:b", "a:b"),
        ("a:1,,b:2", "''"),
        ("a:1,b:", "b:"),
        ("a:1,:2", ":2"),
        ("a:0", "a:0"),
        ("a:65536", "a:65536"),
        ("a:-1", "a:-1"),
        ("a:²", "a:²"),
        ("a b:1", "a b:1"),
        ("user@a:1", "user@a:1"),
        ("[a]:1", "[a]:1"),
        ("[]:1", "[]:1"),
        ("[::1]1", "[::1]1"),
        ("[::1:1", "[::1:1"),
        ("a:1,", "''"),
    ],
)
def test_what_is_wrong_is_quoted(hosts: str, part: str) -> None:
    """The whole and the part, with an example of how to write it."""
    with pytest.raises(ZkkitError) as caught:
        parse_hosts(hosts)
    assert caught.value.message.endswith(f"no usable server in {part!r}" if part != "''" else "''")
    assert repr(hosts) in caught.value.message
    assert "2181" in str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        "zk2..example", ".", "..", ".a", "a..", "a" * 64 + ".com", "a" * 300, "名" * 60,
        "a." * 127 + "b", "a." * 126 + "bc", "\ud800", "a\x00b",
        "[::1%..]", "[::1%" + "a" * 64 + "]",
    ],
)  # fmt: skip
@pytest.mark.parametrize("port", ["", ":2181"])
def test_names_that_cannot_be_looked_up(name: str, port: str) -> None:
    """A part of a name that is empty or too long, or a name that is: of such sockets make another
    error than of one without an address."""
    with pytest.raises(ZkkitError, match="1 to 63") as caught:
        parse_hosts(f"zk1:2181,{name}{port}")
    assert caught.value.message.endswith(f"no usable server in {name + port!r}")


@given(st.text("a.-名é\x00", max_size=80), st.integers(1, 300))
def test_whatever_is_understood_can_be_looked_up(text: str, times: int) -> None:
    """Sockets can write every name that was understood."""
    try:
        ((host, _),) = parse_hosts(text * times).servers
    except ZkkitError:
        return
    assert host.encode("idna") and "\0" not in host


@pytest.mark.parametrize("hosts", ["a:1/x//y", "a:1/x/../y"])
def test_invalid_chroot(hosts: str) -> None:
    """The chroot is a path, and checked as one."""
    with pytest.raises(InvalidPath):
        parse_hosts(hosts)
