"""Watches of the tree that others change.

    TreeWatcher     a PersistentWatcher on the whole tree, and an actor that reads again what it was
                    told of. What it holds is judged as what a cache holds.
    StormWatches    a DataWatch on a node that changes often, a ChildrenWatch on a directory.

Whatever they see is written down.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from zkkit import ChildrenWatch, DataWatch, PersistentWatcher
from zkkit.chaos.actors import PROMISED, ActorInStorm
from zkkit.chaos.diary import Diary
from zkkit.chaos.ground import settled
from zkkit.chaos.scene import COLD, TREE
from zkkit.chaos.trees import PATHS, WATCHER, Content, facts
from zkkit.check.chaos.watches import CHILDREN, DATA
from zkkit.errors import NoNode
from zkkit.steps import Data, Fire, Get, Stat, Sync, Together

WATCHES = {DATA: f"{TREE}/a", CHILDREN: COLD}
"""The watches that each process has, and on which node."""

_LOOK = 0.05  # seconds between two looks at what was told


@dataclass
class TreeWatcher(ActorInStorm):
    """Follows the tree by one persistent watch."""

    done: bool = False
    _content: Content = field(default_factory=dict)
    _told: deque[str] = field(default_factory=deque)

    def content(self) -> Content:
        """What it holds."""
        return self._content

    async def live(self, session: Any) -> None:
        """Read again whatever the watch tells of, until all is done."""
        watcher = PersistentWatcher(session, TREE, recursive=True)
        watcher.add_listener(self._fired)
        watcher.add_reset_listener(lambda: self._told.extend(PATHS))
        await settled(watcher.start())
        while not self.done:
            await self._surely(self._read_again(session))
            await settled(self.ground.sleep(_LOOK))

    def _fired(self, fire: Fire) -> None:
        self._told.append(fire.path)

    async def _read_again(self, session: Any) -> bool:
        paths = sorted({self._told.popleft() for _ in range(len(self._told))})
        if not paths:
            return True
        # A new session may have come to a server that lags: it catches up first.
        reads = Together(Sync(TREE), *map(Get, paths), settle=True)
        try:
            synced, *found = await settled(session.run(reads))
        except PROMISED:
            self._told.extend(paths)
            return False
        for path, node in zip(paths, found, strict=True):
            if isinstance(synced, Exception) or not isinstance(node, Data | NoNode):
                self._told.append(path)  # no answer: read it once more
            else:
                self._see(path, facts(*node) if isinstance(node, Data) else None)
        return True

    def _see(self, path: str, node: list[Any] | None) -> None:
        before = self._content.get(path)
        if before == node:
            return
        if before is not None and (node is None or node[0] != before[0]):
            self._tell("deleted", path, None)
            before = None
        if node is not None:
            self._tell("created" if before is None else "changed", path, node)
        self._content = {**self._content, path: node} if node else _without(self._content, path)

    def _tell(self, kind: str, path: str, node: list[Any] | None) -> None:
        self.diary.note("told", cache=WATCHER, kind=kind, path=path, node=node)


def _without(content: Content, path: str) -> Content:
    return {each: node for each, node in content.items() if each != path}


class StormWatches:
    """The watches of a process that call a function."""

    def __init__(self, session: Any, diary: Diary) -> None:
        self._diary = diary
        self._node: list[Any] | None = None
        self._names: tuple[str, ...] = ()
        self._watches = (
            DataWatch(session, WATCHES[DATA])(self._saw_node),
            ChildrenWatch(session, WATCHES[CHILDREN])(self._saw_names),
        )

    def _saw_node(self, data: bytes | None, stat: Stat | None) -> None:
        self._node = None if stat is None else facts(data, stat)
        self._diary.note("seen", watch=DATA, node=self._node)

    def _saw_names(self, names: tuple[str, ...]) -> None:
        self._names = names
        self._diary.note("seen", watch=CHILDREN, names=names)

    def like(self, tree: Content) -> bool:
        """Whether they saw last what the tree is."""
        here = f"{WATCHES[CHILDREN]}/"
        names = sorted(path.removeprefix(here) for path in tree if path.startswith(here))
        return self._node == tree.get(WATCHES[DATA]) and list(self._names) == names
