"""How to open a session: the arguments of `connect`, checked before anything is started."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import ZkkitError
from ..paths import validate
from ..retry import Exponential, RetryPolicy
from ..steps import OPEN_ACL, Acl

DEFAULT_RETRY = Exponential(base=0.1, times=3, longest=2.0)

_TLS_NAMES = frozenset(
    {"ca", "certfile", "keyfile", "keyfile_password", "verify_certs", "check_hostname"}
)


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
        _check_hosts(hosts)
        for name, seconds in (("timeout", timeout), ("connect_timeout", connect_timeout)):
            if not isinstance(seconds, int | float) or not 0 < seconds < float("inf"):
                raise ValueError(f"{name} must be a number of seconds > 0, not {seconds!r}")
        _check_tick(tick, timeout)
        validate("/" + (namespace or "").strip("/"))
        unknown = set(tls or {}) - _TLS_NAMES
        if unknown:
            raise ValueError(
                f"tls= does not know {', '.join(sorted(unknown))}; it takes "
                f"{', '.join(sorted(_TLS_NAMES))}"
            )
        _check_files(tls or {})
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


def _check_hosts(hosts: str) -> None:
    servers, _, chroot = hosts.partition("/") if isinstance(hosts, str) else ("", "", "")
    bad = [part for part in servers.split(",") if not _is_server(part.strip())]
    if not servers.strip() or bad:
        what = "is empty" if not servers.strip() else f"has no usable server in {bad[0]!r}"
        raise ZkkitError(
            f"the connect string {hosts!r} {what}",
            hint='give the servers as "host:port,host:port,host:port"',
        )
    validate("/" + chroot.removesuffix("/"))


def _is_server(part: str) -> bool:
    host, colon, port = part.rpartition(":")
    if not colon:
        return bool(part)
    return bool(host) and port.isdecimal() and 0 < int(port) < 65536
