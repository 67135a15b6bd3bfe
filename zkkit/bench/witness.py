"""The second witness: what the servers themselves counted.

Each member counts the watches it fired, by kind, and tells in its answer to the four-letter word
`mntr`. Watches live on the member a client is connected to, so all members are asked and summed.
It works on a connect string, so it is the same for servers of our own and of others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from zkkit.ensemble import fourletter
from zkkit.errors import ZkkitError

KINDS = ("created", "deleted", "changed", "children")
COUNTERS = tuple(f"zk_sum_node_{kind}_watch_count" for kind in KINDS)

_DEFAULT_PORT = 2181
_PAUSE = 0.02  # seconds between two questions; two equal answers in a row count as settled

Reading = dict[str, dict[str, str]]
"""What each member said: host:port -> name -> value, as it was written."""


class WitnessSilent(ZkkitError):
    """A server did not say what it counted."""


class Agreement(NamedTuple):
    """What the two witnesses counted in the same window."""

    clients: int
    servers: int
    after: Reading


class Witness:
    """Asks every member of the ensemble at `hosts` ("host:port,host:port/chroot")."""

    def __init__(self, hosts: str, *, timeout: float = 2.0) -> None:
        self.members = members(hosts)
        self._timeout = timeout

    def read(self) -> Reading:
        """All that `mntr` says, of all members; WitnessSilent if one of them does not."""
        return {f"{host}:{port}": self._ask(host, port) for host, port in self.members}

    def settle(
        self, before: Reading, clients: Callable[[], int], *, patience: float = 1.0
    ) -> Agreement:
        """Read until both witnesses stand still and agree, or until patience is over.

        A server adds to its count only after it has sent the notification, so for some
        milliseconds the two may differ.
        """
        deadline = time.monotonic() + patience
        last: tuple[int, int] | None = None
        while True:
            after = self.read()
            seen = clients(), fires_between(before, after)
            agreed = seen[0] == seen[1] and seen == last
            if agreed or time.monotonic() >= deadline:
                return Agreement(*seen, after)
            last = seen
            time.sleep(_PAUSE)

    def _ask(self, host: str, port: int) -> dict[str, str]:
        where = f"{host}:{port}"
        try:
            answer = fourletter.ask(port, "mntr", host=host, timeout=self._timeout)
        except OSError as error:
            raise WitnessSilent(
                f"the server {where} does not answer mntr ({error})",
                hint="see that it is up; every server of the connect string must count",
            ) from error
        said = dict(line.split("\t", 1) for line in answer.splitlines() if "\t" in line)
        if not said:
            raise WitnessSilent(
                f"the server {where} refuses mntr: {answer.strip() or '(an empty answer)'}",
                hint="allow it in its zoo.cfg: 4lw.commands.whitelist=srvr,mntr",
            )
        if missing := [name for name in COUNTERS if name not in said]:
            raise WitnessSilent(
                f"the server {where} does not count its fires: its mntr has no {missing[0]}",
                hint="the second witness needs ZooKeeper 3.6 or newer",
            )
        return said


def members(hosts: str) -> tuple[tuple[str, int], ...]:
    """The (host, port) pairs of a connect string; a chroot at its end does not matter."""
    found = []
    for part in hosts.partition("/")[0].split(","):
        host, _, port = part.strip().rpartition(":")
        if not host:
            host, port = port, str(_DEFAULT_PORT)
        if not host or not port.isdecimal():
            raise ZkkitError(
                f"{part.strip()!r} in {hosts!r} is no host:port",
                hint="write the hosts like 127.0.0.1:2181,127.0.0.1:2182",
            )
        found.append((host.strip("[]"), int(port)))
    return tuple(found)


def fires_of(member: Mapping[str, str]) -> int:
    """The watches one member has fired since it started."""
    return sum(int(float(member[name])) for name in COUNTERS)


def fires_between(before: Reading, after: Reading) -> int:
    """The watches all members fired between two readings."""
    return sum(fires_of(said) - fires_of(before[where]) for where, said in after.items())
