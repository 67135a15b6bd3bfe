"""Java Curator's locks, to be measured: the same kinds as in zkkit_locks.py."""

from __future__ import annotations

from zkkit.bench.locks.plan import LEASES
from zkkit.bench.peers.curator import JavaActor
from zkkit.bench.peers.libraries import Races

RACES: Races = {
    "mutex": JavaActor.mutex,
    "lock": JavaActor.semaphore_mutex,
    "semaphore": lambda actor, path: actor.semaphore(path, LEASES),
    "read": lambda actor, path: actor.read_write(path)[0],
    "write": lambda actor, path: actor.read_write(path)[1],
}
