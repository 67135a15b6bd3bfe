"""What sessions take that do nothing: threads, open files and memory of a process that has many.

Each library is in a process of its own, which is looked at from outside when it has imported the
library, and again when all sessions are open.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from zkkit.bench.kit.machine import Footprint, footprint
from zkkit.bench.kit.processes import ChildSilent
from zkkit.bench.peers.libraries import python_peers

_PATIENCE = (30.0, 0.5)  # seconds to open sessions: for all, and for each of them
_STILL = 0.5  # seconds for threads that only helped to connect to end


@dataclass(frozen=True)
class IdleFootprint:
    """What so many idle sessions of one peer take, over what its process takes without them."""

    peer: str
    sessions: int
    took: Footprint | None
    """None where the system does not tell."""
    failed: str = ""
    """Why they could not be had, if so."""


def idle_footprints(
    hosts: str, modules: Mapping[str, str], sessions: int
) -> tuple[IdleFootprint, ...]:
    """What idle sessions of each of these libraries take, one library after the other."""
    return tuple(_idle(hosts, name, module, sessions) for name, module in modules.items())


def _idle(hosts: str, name: str, module: str, sessions: int) -> IdleFootprint:
    with python_peers(hosts, {name: module}) as (peer,):
        try:
            looks = []
            for number in (0, sessions):
                peer.open(number, _PATIENCE[0] + _PATIENCE[1] * number)
                time.sleep(_STILL)
                looks.append(footprint(peer.pid))
        except ChildSilent as error:
            return IdleFootprint(name, sessions, None, str(error))
    before, after = looks
    if before is None or after is None:
        return IdleFootprint(name, sessions, None)
    took = Footprint(*(more - less for more, less in zip(after, before, strict=True)))
    return IdleFootprint(name, sessions, took)
