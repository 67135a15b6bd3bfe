"""A tree that changes all the time, and caches that follow it.

In each process an actor creates, changes, deletes and replaces nodes of one small tree. Two caches
follow all of it, one by a persistent watch, one by watches on each node; another one follows one of
its nodes, and another one the children of one. Whatever they tell is written down. In the calm
nobody changes the tree; when all rest it is read, and each process has `CONVERGE` seconds until its
caches are like it. What they hold then is written down as well.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from zkkit import (
    Cache,
    CachedNode,
    CacheEvent,
    ChildrenCache,
    NodeCache,
    Session,
    TreeCache,
)
from zkkit.chaos.actors import PROMISED, ActorInStorm
from zkkit.chaos.diary import Diary
from zkkit.chaos.ground import Ground, settled
from zkkit.chaos.scene import COLD, TREE
from zkkit.check.chaos.caches import ALL, CHILDREN, NODE, part_of
from zkkit.errors import MultiFailed, NodeExists, NoNode, NotEmpty
from zkkit.retry import Deadline
from zkkit.steps import Children, Create, Data, Delete, Get, Multi, Script, Set, Stat, Sync

CACHES: dict[str, Callable[[Any, str], Any]] = {
    "cache": Cache,
    "tree cache": TreeCache,
    "node cache": NodeCache,
    "children cache": ChildrenCache,
}
"""The caches that each process has."""
WATCHER = "watcher"
"""What else follows the tree, and is judged as a cache is."""
FOLLOWED = {
    **dict.fromkeys(("cache", "tree cache", WATCHER), (TREE, ALL)),
    "node cache": (f"{TREE}/a", NODE),
    "children cache": (COLD, CHILDREN),
}
"""What of the tree each of them follows."""
CONVERGE = 10.0
"""Seconds for a cache to be like a tree that nobody changes."""

_FILE = "tree.json"
_LOOK = 0.05  # seconds between two looks at a cache
_BRANCHES, _LEAVES = "abc", "xyz"
_COLD = 150  # nodes that are changed seldom
PATHS = (
    TREE,
    COLD,
    *(f"{COLD}/{number}" for number in range(_COLD)),
    *(f"{TREE}/{branch}" for branch in _BRANCHES),
    *(f"{TREE}/{branch}/{leaf}" for branch in _BRANCHES for leaf in _LEAVES),
)
"""All nodes that the tree may ever have."""
_REFUSED = (NodeExists, NoNode, NotEmpty, MultiFailed)

Content = dict[str, list[Any]]
"""The czxid, the mzxid and the data of the node at each path."""


class Gardener(ActorInStorm):
    """Changes the tree, as long as the storm lasts."""

    async def live(self, session: Any) -> None:
        """One change after the other; whether the servers take it does not matter."""
        while self._storms():
            await self._surely(self._change(session))
            await self._sleep(0.1, 0.5)

    async def _change(self, session: Any) -> bool:
        self.attempts += 1
        path = self._place()
        data = f"{self.process} {self.attempts}".encode()
        replaced = Multi((Delete(path), Create(path, data)))
        steps = [Create(path, data), Create(path, data), Set(path, data), Delete(path), replaced]
        try:
            await settled(session.run(self.chance.choice(steps)))
        except (*_REFUSED, *PROMISED):
            return False
        return True

    def _place(self) -> str:
        """Half of the changes strike the same few nodes, again and again; of a change of the others
        a cache that has missed it does not hear later."""
        if self.chance.random() < 0.5:
            return f"{COLD}/{self.chance.randrange(_COLD)}"
        branch = f"{TREE}/{self.chance.choice(_BRANCHES)}"
        leaf = self.chance.random() < 0.7
        return f"{branch}/{self.chance.choice(_LEAVES)}" if leaf else branch


class StormCaches:
    """The caches of a process."""

    def __init__(self, session: Any, diary: Diary) -> None:
        self._diary = diary
        self._caches = {name: kind(session, FOLLOWED[name][0]) for name, kind in CACHES.items()}
        for name, cache in self._caches.items():
            cache.add_listener(partial(self._told, name))

    async def start(self) -> None:
        """Follow the tree from now on; closing the session ends it."""
        for cache in self._caches.values():
            await settled(cache.start())

    def _told(self, name: str, event: CacheEvent) -> None:
        node = None if event.new is None else facts(event.new.data, event.new.stat)
        self._diary.note("told", cache=name, kind=event.kind.value, path=event.path, node=node)

    @property
    def contents(self) -> dict[str, Callable[[], Content]]:
        """What each of them holds whenever it is asked, by its name."""
        return {name: partial(_content, cache) for name, cache in self._caches.items()}


async def converge(
    directory: Path,
    ground: Ground,
    diary: Diary,
    contents: Mapping[str, Callable[[], Content]],
    like: Callable[[Content], bool],
) -> None:
    """Wait until all that follows the tree is like it, and write down what it holds; and until
    others say that they are `like` it, who write down themselves what they see."""
    try:
        tree = json.loads((directory / _FILE).read_text())
    except FileNotFoundError:  # nobody got so far as to read it
        return
    deadline = Deadline.after(CONVERGE, time.monotonic())
    for name, content in contents.items():
        part = part_of(tree, *FOLLOWED[name])
        while (held := content()) != part and not deadline.over(time.monotonic()):
            await settled(ground.sleep(_LOOK))
        diary.note("content", cache=name, nodes=held)
    while not like(tree) and not deadline.over(time.monotonic()):
        await settled(ground.sleep(_LOOK))


def write_tree(session: Session, directory: Path) -> Content:
    """Read the tree, and let all processes know what their caches are to become."""
    tree = session.run(_tree(TREE))
    fresh = directory / f"{_FILE}.new"
    fresh.write_text(json.dumps(tree))
    fresh.replace(directory / _FILE)
    return tree


def _tree(path: str) -> Script[Content]:
    """What a node and all below it are."""
    yield from Sync(path)
    found: Data = yield from Get(path)
    tree = {path: facts(found.data, found.stat)}
    for name in (yield from Children(path)):
        tree |= yield from _tree(f"{path}/{name}")
    return tree


def _content(cache: Any) -> Content:
    nodes: list[CachedNode] = list(cache)
    return {node.path: facts(node.data, node.stat) for node in nodes}


def facts(data: bytes | None, stat: Stat) -> list[Any]:
    """What is written down of a node."""
    return [stat.czxid, stat.mzxid, None if data is None else data.decode()]
