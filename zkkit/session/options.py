"""How to open a session: the arguments of `connect`, checked before anything is started."""

from __future__ import annotations

import os
import socket
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ..errors import ZkkitError
from ..hosts import parse_hosts
from ..paths import validate
from ..retry import Exponential, RetryPolicy, check_policy
from ..steps import OPEN_ACL, Acl, check_acl, check_data

SESSION_TIMEOUT = 10.0
"""Seconds, where none are given."""

CONNECT_TIMEOUT = 10.0
"""Seconds, where none are given."""

BUSY_TIMEOUT = 30.0
"""Seconds, for experiments: a busy machine must not cost anybody the session."""

DEFAULT_RETRY = Exponential(base=0.1, times=3, longest=2.0)

_TLS_NAMES = frozenset(
    {"ca", "certfile", "keyfile", "keyfile_password", "verify_certs", "check_hostname"}
)


_LONGEST = (2**31 - 1) // 1000
_SHORTEST = 0.001  # servers count in milliseconds


class Options:
    """The arguments of `connect`, checked, with what was left out filled in."""

    def __init__(
        self,
        hosts: str,
        *,
        timeout: float = SESSION_TIMEOUT,
        connect_timeout: float = CONNECT_TIMEOUT,
        tick: float | None = None,
        namespace: str | None = None,
        auth: Sequence[tuple[str, str]] | None = None,
        acl: Sequence[Acl] | None = None,
        tls: Mapping[str, Any] | None = None,
        retry: RetryPolicy | None = None,
        node_data: bytes | None = None,
    ) -> None:
        self.hosts = parse_hosts(hosts)
        _check_timeouts(timeout, connect_timeout)
        _check_tick(tick, timeout)
        if not isinstance(namespace, str | None):
            raise ValueError(f"namespace must be a path as text, not {namespace!r}")
        namespace_path = validate("/" + (namespace or "").strip("/"))
        _check_auth(auth)
        _check_tls(tls)
        if retry is not None:
            check_policy(retry)
        if node_data is not None:
            check_data("nodes (node_data=)", node_data)
        if acl is not None:
            check_acl(acl)
            if not acl:
                raise ValueError("acl= is empty: nobody could use the nodes; leave it out for all")
        self.timeout = timeout
        self.connect_timeout = connect_timeout
        self.tick = tick
        self.namespace_path = "" if namespace_path == "/" else namespace_path
        self.auth = tuple((scheme, credential) for scheme, credential in auth or ())
        self.acl = OPEN_ACL if acl is None else tuple(acl)
        self.tls = tls
        self.retry = DEFAULT_RETRY if retry is None else retry
        self.node_data = _own_address() if node_data is None else node_data


def _check_timeouts(timeout: float, connect_timeout: float) -> None:
    for name, seconds in (("timeout", timeout), ("connect_timeout", connect_timeout)):
        if not _is_number(seconds) or not 0 < seconds < float("inf"):
            raise ValueError(f"{name} must be a number of seconds > 0, not {seconds!r}")
    if timeout < _SHORTEST:
        raise ValueError(
            f"timeout must be at least a millisecond ({_SHORTEST}), not {timeout!r}: servers count "
            "in these"
        )
    if timeout > _LONGEST:
        raise ValueError(
            f"timeout must be at most {_LONGEST} s, not {timeout!r}: the protocol has 32 bits "
            "for its milliseconds (servers allow far less, by default 20 ticks: 40 s)"
        )


def _check_tick(tick: float | None, timeout: float) -> None:
    if tick is None:
        return
    if not _is_number(tick) or not _SHORTEST <= tick <= timeout / 2:
        raise ValueError(
            f"tick is the servers' tickTime in seconds, from a millisecond ({_SHORTEST}) to half "
            f"of timeout={timeout:g}, not {tick!r}"
        )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _check_auth(auth: Any) -> None:
    listed = isinstance(auth, Collection) and not isinstance(auth, str | bytes | Mapping)
    if auth is not None and not (listed and all(map(_is_credential, auth))):
        # Not the value: it is a secret.
        raise ValueError(
            "auth must be a list of pairs of texts, a scheme and a credential, such as "
            '[("digest", "user:password")]'
        )


def _is_credential(pair: object) -> bool:
    return (
        isinstance(pair, tuple | list)
        and len(pair) == 2
        and all(isinstance(text, str) for text in pair)
    )


def _own_address() -> bytes:
    """What Curator writes into lock nodes, too: who is it that waits here."""
    try:
        return socket.gethostbyname(socket.gethostname()).encode()
    except OSError:
        return socket.gethostname().encode()


def _check_tls(tls: Any) -> None:
    if tls is None:
        return
    if not isinstance(tls, Mapping):
        raise ValueError(f'tls must be a mapping, such as {{"ca": "ca.pem"}}, not {tls!r:.80}')
    unknown = set(tls) - _TLS_NAMES
    if unknown:
        raise ValueError(
            f"tls= does not know {', '.join(sorted(unknown))}; it takes "
            f"{', '.join(sorted(_TLS_NAMES))}"
        )
    for name in ("ca", "certfile", "keyfile"):
        path = tls.get(name)
        if path is not None and not os.path.exists(path):
            raise ZkkitError(f"tls= names {name}={path}, and there is no such file")
