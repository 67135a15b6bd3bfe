"""Readers together, writers alone: Curator's InterProcessReadWriteLock, on the same nodes.

    <path>
      _c_<guid>-__READ__0000000041        holds, with all readers up to the next writer
      _c_<guid>-__READ__0000000042        holds
      _c_<guid>-__WRIT__0000000043        watches 42
      _c_<guid>-__READ__0000000044        watches 43, the last writer ahead of it

A writer has the lock when nobody is ahead of it, and watches the node just ahead. A reader has it
when no writer is ahead; what it watches is its rule:

    last-writer    the last writer ahead: woken once, when nobody is left to wait for (the default)
    first-writer   the first one, as Curator does: woken by each writer ahead in turn

Both may be mixed on one path, and with Java.

**Downgrade**: an actor that holds the write lock may take the read lock at once. The read node is
given the write node's number, so a writer in line stays behind it, and the read hold keeps the
write hold's token. If the write node is gone (somebody deleted it by hand), another writer may have
been let in: then the actor stands in line as any reader does. **Upgrade** is refused: a reader that
waits for the write lock would wait for itself; `UpgradeRefused` is raised instead.

Both are reentrant and belong to the actor that acquired. Guarantees, faults and costs are those of
ReentrantLock, with any number of readers for one holder. With `layout="kazoo"` the path is shared
with kazoo's ReadLock and WriteLock (`<guid>__rlock__<number>`, `<guid>__lock__<number>`).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar

from ...errors import UpgradeRefused
from ...paths import split
from ...scripting import Recipe, S, actor_name
from ...steps import Actor, Look, Mode, Node, Note, Script
from ..arguments import check_choice
from .hold import Hold
from .line import Names, layout_named
from .linelock import LineLock
from .rules import behind_first, behind_last, first_in_line

READER_RULES = {"last-writer": behind_last, "first-writer": behind_first}


class ReadWriteLock(Recipe[S]):
    """A pair of locks, `read` and `write`."""

    def __init__(
        self,
        session: S,
        path: str,
        *,
        reader_rule: str = "last-writer",
        layout: str = "curator",
        node_data: bytes | None = None,
    ) -> None:
        super().__init__(session, path)
        check_choice("reader rule", reader_rule, tuple(READER_RULES))
        names = layout_named(layout)
        kinds = (names.read, names.write)
        self.write = WriteLock(
            session, path, kind=names.write, kinds=kinds, rule=first_in_line, layout=names,
            node_data=node_data,
        )  # fmt: skip
        """The write lock: alone."""
        self.read = ReadLock(
            session, path, kind=names.read, kinds=kinds,
            rule=READER_RULES[reader_rule](names.write), layout=names, node_data=node_data,
        )  # fmt: skip
        """The read lock: with other readers."""
        self.read.writer, self.write.reader = self.write, self.read


class WriteLock(LineLock[S]):
    """The write half of a ReadWriteLock."""

    reentrant: ClassVar[bool] = True
    reader: ReadLock[S]

    def _admit(self, actor: Hashable) -> Script[None]:
        yield from self.reader.forsake(actor)
        reading = yield from self.reader.current(actor)
        if reading is not None:
            raise UpgradeRefused(
                f"{actor_name(actor)} holds {reading.hold.path} for reading and would wait for "
                "itself",
                path=self.path,
                hint="release the read lock first, or take the write lock from the start",
            )

    def number_of(self, hold: Hold[Any]) -> str:
        """The number of a hold's node, as it is written."""
        return hold.path.rpartition(self._kind)[2]


class ReadLock(LineLock[S]):
    """The read half of a ReadWriteLock."""

    reentrant: ClassVar[bool] = True
    writer: WriteLock[S]

    def _admit(self, actor: Hashable) -> Script[None]:
        yield from self.writer.forsake(actor)

    def _contend(self, blocking: bool) -> Script[Node | None]:
        actor = yield from Actor()
        writing = yield from self.writer.current(actor)
        if writing is not None:
            node = yield from self._downgrade(writing.hold)
            if node is not None:
                return node
        return (yield from super()._contend(blocking))

    def _downgrade(self, writing: Hold[Any]) -> Script[Node | None]:
        """A read node that stands where the writer stands: it has the writer's number in its name.
        None, and no such node, if the write node is gone: somebody deleted it, and another writer
        may have been let in."""
        written = split(writing.path)[1]

        def still_there(node: Node, names: Names) -> Script[bool]:
            yield from ()
            return written in names  # listed after our node was created

        name = self._kind + self.writer.number_of(writing)
        data = yield from self._data()
        node = yield from self._line.enter(name, still_there, data=data, mode=Mode.EPHEMERAL)
        if node is not None:
            yield from Note((self, "downgraded", node.path), writing.token)
        return node

    def _hold(self, node: Node, actor: Hashable) -> Script[Hold[S]]:
        key = (self, "downgraded", node.path)
        token = yield from Look(key)
        yield from Note(key, None)
        return Hold(self, node, node.stat.czxid if token is None else token)
