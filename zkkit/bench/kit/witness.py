"""The second witness: what the servers themselves counted.

Each member counts the watches it fired, by kind, and tells in its answer to the four-letter word
`mntr`. Watches live on the member a client is connected to, so all members are asked and summed.
It works on a connect string, so it is the same for servers of our own and of others.

`FireCount` counts the fires of one run by both witnesses, the clients' recorder and the servers. If
they disagree, or the servers are silent, the run is void.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Mapping
from itertools import islice
from typing import NamedTuple, TypeVar

from zkkit.ensemble import fourletter
from zkkit.errors import ZkkitError
from zkkit.hosts import ServerAddress, parse_hosts
from zkkit.record import Recorder, Row, counts

T = TypeVar("T")

KINDS = ("created", "deleted", "changed", "children")
COUNTERS = tuple(f"zk_sum_node_{kind}_watch_count" for kind in KINDS)

_ANSWER = 2.0  # seconds for a member to answer
_PATIENCE = 1.0  # seconds for the two witnesses to agree
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
    """Asks every member of the ensemble at `hosts` ("host:port,host:port/chroot"). Raises
    ZkkitError if that names no usable server."""

    def __init__(self, hosts: str) -> None:
        self.members = parse_hosts(hosts).servers

    def read(self) -> Reading:
        """All that `mntr` says, of all members; WitnessSilent if one of them does not."""
        return {str(member): self._ask(member) for member in self.members}

    def read_if_told(self) -> Reading:
        """What `read` gives; empty if a member is silent."""
        try:
            return self.read()
        except WitnessSilent:
            return {}

    def settle(self, before: Reading, clients: Callable[[], int]) -> Agreement:
        """Read until both witnesses stand still and agree, or until patience is over.

        A server adds to its count only after it has sent the notification, so for some
        milliseconds the two may differ.

        Raises WitnessSilent if a member does not answer.
        """
        deadline = time.monotonic() + _PATIENCE
        last: tuple[int, int] | None = None
        while True:
            after = self.read()
            seen = clients(), fires_between(before, after)
            agreed = seen[0] == seen[1] and seen == last
            if agreed or time.monotonic() >= deadline:
                return Agreement(*seen, after)
            last = seen
            time.sleep(_PAUSE)

    def _ask(self, where: ServerAddress) -> dict[str, str]:
        try:
            answer = fourletter.ask(where.port, "mntr", host=where.host, timeout=_ANSWER)
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


def fires_of(member: Mapping[str, str]) -> int:
    """The watches one member has fired since it started."""
    return sum(int(float(member[name])) for name in COUNTERS)


def fires_between(before: Reading, after: Reading) -> int:
    """The watches all members fired between two readings."""
    return sum(fires_of(said) - fires_of(before[where]) for where, said in after.items())


class FireCount:
    """The fires of one run by both witnesses, while the contenders queue and after that."""

    def __init__(self, witness: Witness, recorder: Recorder, *, twice: Container[str] = ()) -> None:
        """`twice`: kinds of fires that a server counts twice, for it sends one notification for two
        watches of a session on one node."""
        self._twice = twice
        self._witness = witness
        self._recorder = recorder
        self._readings: dict[str, Reading] = {}
        self.opened = 0
        """How many rows were recorded when the gate opened."""
        self.servers: int | None = None
        self.void = ""
        self._start = self._ask(witness.read)

    def open(self) -> None:
        """Count the fires so far. All contenders are queued: what has fired until now must be
        counted by both before we go on."""
        agreement = self._settle(self._start, 0)
        self.opened = len(self._recorder)
        if agreement is not None:
            self._readings["before"] = agreement.after

    def close(self) -> None:
        """Count the fires since `open`: all contenders have had their turn."""
        agreement = self._settle(self._readings.get("before"), self.opened)
        if agreement is not None:
            self.servers = agreement.servers
            self._readings["after"] = agreement.after

    def counters(self) -> dict[str, dict[str, int]]:
        """The fires each server had counted, when the gate opened and at the end."""
        return {
            when: {where: fires_of(said) for where, said in reading.items()}
            for when, reading in self._readings.items()
        }

    def _settle(self, since: Reading | None, row: int) -> Agreement | None:
        if since is None:
            return None
        agreement = self._ask(
            lambda: self._witness.settle(
                since, lambda: self._fires(islice(self._recorder, row, None))
            )
        )
        if agreement is not None and agreement.clients != agreement.servers:
            self.void = self.void or (
                f"the clients counted {agreement.clients} fires and the servers "
                f"{agreement.servers}: does somebody else use these servers?"
            )
        return agreement

    def _fires(self, rows: Iterable[Row]) -> int:
        return sum(1 + (event.kind in self._twice) for event in counts.fires(rows))

    def _ask(self, question: Callable[[], T]) -> T | None:
        try:
            return question()
        except WitnessSilent as error:
            self.void = self.void or str(error)
            return None
