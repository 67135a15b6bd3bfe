"""Connect strings: which servers an ensemble has, and below which node we live. Pure.

zk1:2181,zk2:2181,zk3:2181          three servers
zk1, zk2                            spaces do not matter, the port may be left out
[::1]:2181,10.0.0.7                 an IPv6 address is written in brackets
zk1:2181,zk2:2181/app               every path is below /app (a chroot)
"""

from __future__ import annotations

import re
from ipaddress import IPv6Address
from typing import NamedTuple

from .errors import ZkkitError
from .paths import validate

DEFAULT_PORT = 2181

_EXAMPLE = 'give the servers as "host:port,host:port", such as 127.0.0.1:2181,127.0.0.1:2182'
_IN_BRACKETS = f"an IPv6 address is written in brackets: [::1]:{DEFAULT_PORT}"
_LABELS = (
    "a host name has at most 253 characters, in parts of 1 to 63 with a dot between two: "
    "zk1.example"
)
_LONGEST = 253
_SERVER = re.compile(
    r"(\[(?P<ipv6>[^\]]*)\]|(?P<name>[^\s:/@?#\[\]\\]+))(:(?P<port>[0-9]{1,9}))?",
)


class ServerAddress(NamedTuple):
    """One server of a connect string. Its host has no brackets: it is what sockets take."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class ConnectString(NamedTuple):
    """A connect string that was understood; `str()` writes it out, with every port."""

    servers: tuple[ServerAddress, ...]
    chroot: str
    """"" where there is none."""

    def __str__(self) -> str:
        return ",".join(map(str, self.servers)) + self.chroot

    def of_each(self) -> list[str]:
        """A connect string for each server alone: "a:1,b:2/x" -> ["a:1/x", "b:2/x"]."""
        return [f"{server}{self.chroot}" for server in self.servers]


def parse_hosts(hosts: str) -> ConnectString:
    """Understand a connect string.

    Raises:
        ZkkitError: it is no string, or names no server; the part that is wrong is quoted.
        InvalidPath: its chroot is no path.
    """
    if not isinstance(hosts, str):
        listed = isinstance(hosts, list | tuple)
        raise ZkkitError(
            f"hosts must be one string, not {hosts!r}",
            hint='",".join(hosts) makes one of a list' if listed else _EXAMPLE,
        )
    listing, _, chroot = hosts.strip().partition("/")
    if not listing.strip():
        raise ZkkitError(f"the connect string {hosts!r} is empty", hint=_EXAMPLE)
    servers = tuple(_parse_server(part.strip(), hosts) for part in listing.split(","))
    root = validate("/" + chroot.removesuffix("/"))
    return ConnectString(servers, "" if root == "/" else root)


def _parse_server(part: str, hosts: str) -> ServerAddress:
    hint = _EXAMPLE if part.count(":") < 2 else _IN_BRACKETS
    found = _SERVER.fullmatch(part)
    if found is not None:
        port = int(found["port"] or DEFAULT_PORT)
        host = found["name"] or found["ipv6"]
        if 0 < port < 65536 and (found["name"] or _is_ipv6(host)):
            if _can_be_looked_up(host):
                return ServerAddress(host, port)
            hint = _LABELS
    raise ZkkitError(f"the connect string {hosts!r} has no usable server in {part!r}", hint=hint)


def _can_be_looked_up(host: str) -> bool:
    """Whether sockets take it: of what they cannot write they make an error of another kind than
    of a name that has no address."""
    try:
        written = host.encode("idna")  # with an error where a label is empty or too long
    except UnicodeError:
        return False
    name = written.removesuffix(b".")
    fits = len(name) <= _LONGEST and all(0 < len(label) < 64 for label in name.split(b"."))
    return fits and host.isprintable()


def _is_ipv6(address: str) -> bool:
    try:
        IPv6Address(address)
    except ValueError:
        return False
    return True
