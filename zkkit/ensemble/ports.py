"""Choosing loopback ports for servers that bind them a moment later."""

from __future__ import annotations

import random
import socket
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from zkkit.ensemble.errors import EnsembleError, PortBusy
from zkkit.ensemble.fourletter import LOOPBACK

_LOWEST = 10_240
_FIRST_EPHEMERAL = 32_768
_ATTEMPTS = 1_000


class Reservation(AbstractContextManager["Reservation"]):
    """Ports bound by us, so that nobody else gets them before the servers do. Leaving its `with`
    block releases them: the servers start just after that."""

    def __init__(self) -> None:
        self._sockets: list[socket.socket] = []

    def take(self, port: int) -> int:
        """Hold one given port, or raise PortBusy."""
        try:
            return self._bind(port)
        except OSError as error:
            raise PortBusy(port) from error

    def choose(self, count: int) -> list[int]:
        """Hold `count` free ports of our choosing."""
        return [self._choose_one() for _ in range(count)]

    def for_clients(self, nodes: Sequence[int], wanted: Sequence[int] | None) -> dict[int, int]:
        """Hold a port for the clients of each node: those wanted, if any are."""
        held = self.choose(len(nodes)) if wanted is None else map(self.take, wanted)
        return dict(zip(nodes, held, strict=True))

    def __exit__(self, *exc: object) -> None:
        for held in self._sockets:
            held.close()
        self._sockets.clear()

    def _bind(self, port: int) -> int:
        held = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        # As the servers do: connections of an earlier run in TIME_WAIT do not make a port busy.
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            held.bind((LOOPBACK, port))
            # On Linux two sockets with SO_REUSEADDR may share a bound port until one listens.
            held.listen(1)
        except OSError:
            held.close()
            raise
        self._sockets.append(held)
        return int(held.getsockname()[1])

    def _choose_one(self) -> int:
        # Below the ephemeral range, if there is room: a port from inside it can be taken as the
        # local end of any outgoing connection, also while its server is down to be restarted;
        # and a client that connects to such a port may even end up connected to itself.
        top = _first_ephemeral_port()
        if top <= _LOWEST:
            return self._bind(0)
        for _ in range(_ATTEMPTS):
            try:
                return self._bind(random.randrange(_LOWEST, top))
            except OSError:
                continue
        raise EnsembleError(
            f"no free port found on {LOOPBACK} between {_LOWEST} and {top}",
            hint="give client_ports, or stop some of the programs that listen there",
        )


def _first_ephemeral_port() -> int:
    try:
        first, _ = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()
    except (OSError, ValueError):  # not Linux: others start at or above this one
        return _FIRST_EPHEMERAL
    return int(first)
