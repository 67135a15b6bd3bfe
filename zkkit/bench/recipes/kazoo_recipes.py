"""kazoo's own recipes on kazoo's own client, as its documentation uses them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from kazoo.client import KazooClient
from kazoo.recipe.barrier import DoubleBarrier
from kazoo.recipe.cache import TreeCache, TreeEvent
from kazoo.recipe.counter import Counter
from kazoo.recipe.election import Election

from zkkit.bench.peers.kazoo_sessions import VERSION, close, connect
from zkkit.bench.recipes.plan import CONTENDERS

__all__ = ["RACES", "STAGES", "VERSION", "close", "connect", "identity"]

Tell = Callable[..., None]


def identity(client: KazooClient) -> tuple[int, bytes]:
    """The id and the password of its session."""
    number, password = client.client_id
    return number, password


class KazooIncrements:
    """To acquire is to add one; there is nothing to release."""

    def __init__(self, client: KazooClient, path: str) -> None:
        self._counter = Counter(client, path)

    def acquire(self) -> None:
        self._counter += 1

    def release(self) -> None: ...


class KazooBarriers:
    """To acquire is to enter a barrier of its own for this round, to release is to leave it."""

    def __init__(self, client: KazooClient, path: str) -> None:
        self._client, self._path = client, path
        self._round = 0
        self._barrier: Any = None

    def acquire(self) -> None:
        self._barrier = DoubleBarrier(self._client, f"{self._path}/{self._round}", CONTENDERS)
        self._round += 1
        self._barrier.enter()

    def release(self) -> None:
        self._barrier.leave()


class KazooCandidate:
    """It leads until it is closed."""

    def __init__(self, client: KazooClient, path: str, tell: Tell) -> None:
        self._election = Election(client, path)
        self._tell = tell
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._stand, name="candidate", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._enough.set()
        self._election.cancel()
        self._thread.join()

    def _stand(self) -> None:
        self._election.run(self._lead)

    def _lead(self) -> None:
        if not self._enough.is_set():
            self._tell("leader")
            self._enough.wait()


class KazooCache:
    """It tells how many nodes there are when it has them, and what changes after that."""

    def __init__(self, client: KazooClient, path: str, tell: Tell) -> None:
        self._cache = TreeCache(client, path)
        self._cache.listen(self._hear)
        self._tell = tell
        self._added = 0

    def start(self) -> None:
        self._cache.start()

    def close(self) -> None:
        self._cache.close()

    def _hear(self, event: Any) -> None:
        if event.event_type == TreeEvent.NODE_ADDED:
            self._added += 1
        elif event.event_type == TreeEvent.INITIALIZED:
            self._tell("initialized", self._added)
        elif event.event_type == TreeEvent.NODE_UPDATED:
            self._tell("changed", [event.event_data.path, event.event_data.data.hex()])


RACES = {"increment": KazooIncrements, "barrier": KazooBarriers}
STAGES = {"election": KazooCandidate, "cache": KazooCache}
