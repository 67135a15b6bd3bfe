"""Call a function whenever a node's children come or go: kazoo's ChildrenWatch.

    <path>            watched: it may be there or not, and come and go
      <child>         its name is told, not its data

    @ChildrenWatch(session, "/workers")
    def assign(children):                   # or (children, event); the names in order
        ...

    assign.stop()                           # on asyncio: await assign.stop()

    for children in ChildrenWatch(session, "/workers"):         # on asyncio: async for
        ...

1. List the children, with a watch; where there is no node, watch for its coming. If that is not
   what was told last, tell it: no node has no children.
2. Wait until the watch fires, and begin again.

Guarantees and cost as of DataWatch. It outlives the deletion of its node, and goes on when the node
comes back. Not guaranteed: that every change is seen; a child that is deleted and created again
meanwhile is not told.
"""

from __future__ import annotations

from typing import Any

from ...errors import NoAuth, NoNode
from ...scripting import S
from ...steps import Children, Exists, Script, Sync
from ..shared import answer, read_all, until_answered
from .following import Following


class ChildrenWatch(Following[S, tuple[str, ...]]):
    """Calls a function with the names of a node's children, now and whenever they change."""

    _nothing = ()

    def _look(self, *first: Sync) -> Script[tuple[str, ...]]:
        watched = False
        while True:
            *_, names = yield from read_all(*first, Children(self.path, watch=True))
            try:
                return tuple(sorted(answer(names)))
            except NoAuth:
                if watched:
                    return ()
                watched = True  # and look again: it may have changed before there was a watch
                yield from until_answered(Exists(self.path, watch=True))
            except NoNode:
                if (yield from until_answered(Exists(self.path, watch=True))) is None:
                    return ()

    def _differ(self, told: tuple[str, ...], found: tuple[str, ...]) -> bool:
        return told != found

    def _arguments(self, found: tuple[str, ...]) -> tuple[Any, ...]:
        return (found,)
