"""How to open a session: the arguments of `connect`, checked before anything is started."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv6Address
from typing import Any

from ..errors import ZkkitError
from ..paths import validate
from ..retry import Exponential, RetryPolicy
from ..steps import OPEN_ACL, Acl, check_data

DEFAULT_RETRY = Exponential(base=0.1, times=3, longest=2.0)

_TLS_NAMES = frozenset(
    {"ca", "certfile", "keyfile", "keyfile_password", "verify_certs", "check_hostname"}
)


_LONGEST = (2**31 - 1) // 1000
_EXAMPLE = 'give the servers as "host:port,host:port,host:port"'
_IN_BRACKETS = "an IPv6 address is written in brackets: [::1]:2181"
_SERVER = re.compile(r"(\[(?P<ipv6>[^\]]*)\]|[^\s:/@?#\[\]\\]+)(:(?P<port>[0-9]{1,9}))?")


@dataclass(frozen=True)
class Options:
    """The arguments of `connect`, with what was left out filled in."""

    hosts: str
    timeout: float
    connect_timeout: float
    tick: float | None
    namespace: str | None
    auth: tuple[tuple[str, str], ...]
    acl: tuple[Acl, ...]
    tls: Mapping[str, Any] | None
    retry: RetryPolicy
    node_data: bytes

    @classmethod
    def of(
        cls,
        hosts: str,
        *,
        timeout: float,
        connect_timeout: float,
        tick: float | None,
        namespace: str | None,
        auth: Sequence[tuple[str, str]] | None,
        acl: Sequence[Acl] | None,
        tls: Mapping[str, Any] | None,
        retry: RetryPolicy | None,
        node_data: bytes | None,
    ) -> Options:
        hosts = _cleaned_hosts(hosts)
        for name, seconds in (("timeout", timeout), ("connect_timeout", connect_timeout)):
            if not isinstance(seconds, int | float) or not 0 < seconds < float("inf"):
                raise ValueError(f"{name} must be a number of seconds > 0, not {seconds!r}")
        if timeout > _LONGEST:
            raise ValueError(
                f"timeout must be at most {_LONGEST} s, not {timeout!r}: the protocol has 32 bits "
                "for its milliseconds (servers allow far less, by default 20 ticks: 40 s)"
            )
        _check_tick(tick, timeout)
        validate("/" + (namespace or "").strip("/"))
        unknown = set(tls or {}) - _TLS_NAMES
        if unknown:
            raise ValueError(
                f"tls= does not know {', '.join(sorted(unknown))}; it takes "
                f"{', '.join(sorted(_TLS_NAMES))}"
            )
        _check_files(tls or {})
        if node_data is not None:
            check_data("nodes (node_data=)", node_data)
        if acl is not None and not acl:
            raise ValueError("acl= is empty: nobody could use the nodes; leave it out for all")
        return cls(
            hosts=hosts,
            timeout=timeout,
            connect_timeout=connect_timeout,
            tick=tick,
            namespace=namespace,
            auth=tuple(auth or ()),
            acl=OPEN_ACL if acl is None else tuple(acl),
            tls=tls,
            retry=retry or DEFAULT_RETRY,
            node_data=_own_address() if node_data is None else node_data,
        )

    @property
    def namespace_path(self) -> str:
        inside = (self.namespace or "").strip("/")
        return f"/{inside}" if inside else ""


def _check_tick(tick: float | None, timeout: float) -> None:
    if tick is None:
        return
    if not isinstance(tick, int | float) or not 0 < tick <= timeout / 2:
        raise ValueError(
            f"tick is the servers' tickTime in seconds, at most half of timeout={timeout:g}, "
            f"not {tick!r}"
        )


def _own_address() -> bytes:
    """What Curator writes into lock nodes, too: who is it that waits here."""
    try:
        return socket.gethostbyname(socket.gethostname()).encode()
    except OSError:
        return socket.gethostname().encode()


def _check_files(tls: Mapping[str, Any]) -> None:
    for name in ("ca", "certfile", "keyfile"):
        path = tls.get(name)
        if path is not None and not os.path.exists(path):
            raise ZkkitError(f"tls= names {name}={path}, and there is no such file")


def _cleaned_hosts(hosts: str) -> str:
    """The connect string without spaces; ZkkitError where it is none."""
    if not isinstance(hosts, str):
        raise ZkkitError(
            f"hosts must be one string, not {hosts!r}",
            hint='",".join(hosts) makes one of a list'
            if isinstance(hosts, list | tuple)
            else _EXAMPLE,
        )
    listed, slash, chroot = hosts.strip().partition("/")
    if not listed.strip():
        raise ZkkitError(f"the connect string {hosts!r} is empty", hint=_EXAMPLE)
    servers = [part.strip() for part in listed.split(",")]
    for server in servers:
        if not _is_server(server):
            raise ZkkitError(
                f"the connect string {hosts!r} has no usable server in {server!r}",
                hint=_EXAMPLE if server.count(":") < 2 else _IN_BRACKETS,
            )
    validate("/" + chroot.removesuffix("/"))
    return ",".join(servers) + slash + chroot


def _is_server(part: str) -> bool:
    found = _SERVER.fullmatch(part)
    if found is None:
        return False
    address, port = found["ipv6"], found["port"]
    if address is not None:
        try:
            IPv6Address(address)
        except ValueError:
            return False
    return port is None or 0 < int(port) < 65536
