"""All recipes that live in the background, to ask the same of each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from zkkit import (
    Cache,
    ChildrenCache,
    ChildrenWatch,
    DataWatch,
    HerdElection,
    LeaderLatch,
    LeaderSelector,
    NodeCache,
    PersistentWatcher,
    SharedCount,
    SharedValue,
    TreeCache,
)
from zkkit.scripting import Awaiting

Make = Callable[[Any, str], Any]

BUILT: dict[str, Make] = {
    "SharedCount": SharedCount,
    "NodeCache-built": partial(NodeCache, build_initial=True),
    "ChildrenCache-built": partial(ChildrenCache, start_mode="build_initial"),
}
"""Those that have read something when `start` returns."""

CACHES: dict[str, Make] = {
    "Cache": Cache,
    "Cache-single": partial(Cache, single=True),
    "NodeCache": NodeCache,
    "ChildrenCache": ChildrenCache,
    "TreeCache": TreeCache,
}
TOLD: dict[str, Make] = {
    **CACHES,
    "SharedCount": SharedCount,
    "PersistentWatcher": PersistentWatcher,
    "DataWatch": DataWatch,
}
"""Those whose listeners hear of a node."""


def _select(session: Any, path: str) -> Any:
    async def leads_awaited(term: Any) -> None:
        await term.stop.wait()

    def leads(term: Any) -> None:
        term.stop.wait()

    return LeaderSelector(session, path, leads_awaited if isinstance(session, Awaiting) else leads)


ALL: dict[str, Make] = {
    **BUILT,
    **TOLD,
    "SharedValue": SharedValue,
    "ChildrenWatch": ChildrenWatch,
    "LeaderLatch": LeaderLatch,
    "LeaderSelector": _select,
    "HerdElection": HerdElection,
}
