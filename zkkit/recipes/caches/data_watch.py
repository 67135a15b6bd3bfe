"""Call a function whenever a node's data change: kazoo's DataWatch.

    <path>            watched: it may be there or not, and come and go

    @DataWatch(session, "/config")
    def configure(data, stat):              # or (data, stat, event); None, None: there is no node
        ...

    configure.stop()                        # on asyncio: await configure.stop()

    for data, stat in DataWatch(session, "/config"):            # on asyncio: async for
        ...

1. Look whether the node is there, with a watch, and read it, in one flight. If that is not what was
   told last, tell it.
2. Wait until the watch fires, and begin again.

Guarantees: the function is called once with what is there at the start, and again after every
change, with what is there then; never for the same twice, never with something older (mzxid). It
goes on through connection losses and new sessions, also when the node is deleted and comes back. A
function that raises is logged, called once for that change, and called again for the next. When the
watch is stopped, or the function gives False, or the loop is left, there is no watch on the server
any more. Not guaranteed: that every change is seen. Several in quick succession may be told as one.

A loop looks anew at every turn and watches only while it waits.

Cost: 1 flight at the start and 1 for each fire.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...scripting import S
from ...steps import Exists, Get, Script, Stat, Sync
from ..shared import answer, read_all, there
from .following import Following
from .reading import HIDDEN


class Seen(NamedTuple):
    """A node's data and stat; both None if there is no node."""

    data: bytes | None = None
    stat: Stat | None = None


class DataWatch(Following[S, Seen]):
    """Calls a function with a node's data and stat, now and whenever they change."""

    _nothing = Seen()

    def _look(self, *first: Sync) -> Script[Seen]:
        while True:
            # Exists: it sets its watch also where there is no node yet.
            seen = yield from read_all(*first, Exists(self.path, watch=True), Get(self.path))
            stat, found = seen[-2:]
            if there(found, HIDDEN) is None:
                return Seen()
            if answer(stat) is not None and stat.czxid == found.stat.czxid:
                return Seen(*found)
            # It came, or was replaced, between the two: the watch has fired, or is about to.

    def _differ(self, told: Seen, found: Seen) -> bool:
        return _age(told) != _age(found)

    def _arguments(self, found: Seen) -> tuple[Any, ...]:
        return found.data, found.stat


def _age(seen: Seen) -> tuple[int, int]:
    return (0, 0) if seen.stat is None else (seen.stat.czxid, seen.stat.mzxid)
