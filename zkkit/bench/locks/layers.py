"""Where zkkit's CPU time goes: the mutex once more, in processes that are profiled.

They run when all that is measured has been: a profiled process is several times slower.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from zkkit.bench.kit.pool import SessionPool
from zkkit.bench.peers.libraries import PythonPeer
from zkkit.bench.peers.rounds import RoundsPlan

_LEAD = 0.3  # seconds to start all threads
_PATIENCE = 60.0  # seconds for a peer to come to the end of a run whose time is over
_WARM_UP = 0.5  # of a run's time


@dataclass(frozen=True)
class LayerShares:
    """One profiled run."""

    peer: str
    sessions: int
    acquisitions: int
    layer_cpu: Mapping[str, float]
    """CPU seconds of the client, by layer."""

    def shares(self) -> dict[str, float]:
        """The share of each layer; together they make 1."""
        total = sum(self.layer_cpu.values()) or 1.0
        return {layer: used / total for layer, used in self.layer_cpu.items()}


def layer_shares(
    hosts: str, modules: Mapping[str, str], sessions: Sequence[int], seconds: float
) -> tuple[LayerShares, ...]:
    """Where the time of each of these libraries goes: with one session, and with the least of these
    numbers of sessions."""
    found = []
    numbers = (1, *sessions[:1])
    with SessionPool(hosts, 0) as pool:
        for name, module in modules.items():
            peer = PythonPeer(name, hosts, module, profiled=True)
            try:
                peer.open(max(numbers), _PATIENCE)
                for number in numbers:
                    found.append(_run(pool, peer, number, seconds))
            finally:
                peer.close()
    return tuple(found)


def _run(pool: SessionPool, peer: PythonPeer, sessions: int, seconds: float) -> LayerShares:
    with pool.directory(f"{peer.name}-{sessions}".replace(" ", "-")) as path:
        for length in (seconds * _WARM_UP, seconds):
            start = time.monotonic_ns() + int(_LEAD * 1e9)
            plan = RoundsPlan(start, until_ns=start + int(length * 1e9))
            contended = peer.contend("mutex", path, range(sessions), plan, length + _PATIENCE)
    acquisitions = sum(len(mine) for mine in contended.rounds)
    return LayerShares(peer.name, sessions, acquisitions, contended.layer_cpu)
