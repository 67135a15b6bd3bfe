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
ReentrantLock, with any number of readers for one holder; but whoever is woken lists again, always:
the read node of a downgrade comes in ahead of those who wait (see ../line.py), so a contended
acquire is 3 flights. With `layout="kazoo"` the path is shared
with kazoo's ReadLock and WriteLock (`<guid>__rlock__<number>`, `<guid>__lock__<number>`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from ...errors import UpgradeRefused
from ...paths import join, split
from ...scripting import Recipe, S, actor_name, script
from ...steps import Actor, Children, Guid, Mode, Node, Proved, Script
from ..arguments import check_choice, checked_data
from ..line import Line, Rule, behind_first, behind_last, first_in_line
from ..shared import create_protected, saw_it_go, withdraw
from .hold import Hold
from .layouts import Layout, layout_named
from .owned import OwnedLock
from .revoking import Revocation

READER_RULES = {"last-writer": behind_last, "first-writer": behind_first}


class ReadWriteLock(Recipe[S]):
    """A pair of locks, `read` and `write`.

    Raises ValueError if there is no such rule or layout, or `node_data` is not bytes.
    """

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
        reads = READER_RULES[reader_rule](names.write)
        self.write = WriteLock(session, path, names, names.write, first_in_line, node_data)
        """The write lock: alone."""
        self.read = ReadLock(session, path, names, names.read, reads, node_data)
        """The read lock: with other readers."""
        self.read.writer, self.write.reader = self.write, self.read


class _InOneLine(OwnedLock[S]):
    """What readers and writers have in common: they stand in one line, each by its own rule."""

    reentrant: ClassVar[bool] = True

    def __init__(
        self, session: S, path: str, layout: Layout, kind: str, rule: Rule, node_data: bytes | None
    ) -> None:
        super().__init__(session, path)
        # Not append-only: a downgrade comes with an old number.
        self._line = Line(self.path, (layout.read, layout.write))
        self._layout = layout
        self._kind = kind
        self._rule = rule
        self._revocation = Revocation(self, checked_data(node_data, session.node_data))

    def _stand_in_line(self, blocking: bool) -> Script[Hold[S] | None]:
        name = self._layout.mark((yield from Guid()), self._kind)
        data = yield from self._revocation.node_data()
        node: Node | None = None
        try:
            # Create our node and list all of them: one flight.
            node, names = yield from create_protected(
                self.path, name, Children(self.path), data=data, parents=self._layout.parents
            )
            while not (turn := self._rule(self._line.ahead_of(node, names))).mine and blocking:
                # Watch nobody but the one that our rule names: no herd.
                gone = yield from saw_it_go(join(self.path, turn.behind))
                names = yield from self._line.look_again(node, turn, gone)
            if turn.mine:
                yield from Proved()  # what a server that lags shows us may be old
                return (yield from self._revocation.listening(Hold(self, node)))
        except BaseException as ended:
            yield from withdraw(self.path, name, node, after=ended)
            raise
        yield from withdraw(self.path, name, node)
        return None

    def _closing(self, hold: Hold[Any]) -> Script[None]:
        return self._revocation.end(hold)

    @script
    def on_revoke(self, callback: Callable[[], object]) -> Script[None]:
        """Call back when somebody asks for the lock, until the next release. When to say it, and
        what it raises: as `ReentrantLock.on_revoke`."""
        return self._revocation.begin(callback)

    @script
    def participants(self) -> Script[tuple[str, ...]]:
        """The paths of all contenders of this half, the first in line first. Raises as
        `ReentrantLock.participants`."""
        return self._line.participants(self._kind)


class WriteLock(_InOneLine[S]):
    """The write half of a ReadWriteLock. Its `acquire` raises UpgradeRefused for who reads."""

    reader: ReadLock[S]

    def _contend(self, blocking: bool) -> Script[Hold[S] | None]:
        actor = yield from Actor()
        yield from self.reader.forsake(actor)
        reading = yield from self.reader.current(actor)
        if reading is not None:
            raise UpgradeRefused(
                f"{actor_name(actor)} holds {reading.hold.path} for reading and would wait for "
                "itself",
                path=self.path,
                hint="release the read lock first, or take the write lock from the start",
            )
        return (yield from self._stand_in_line(blocking))


class ReadLock(_InOneLine[S]):
    """The read half of a ReadWriteLock."""

    writer: WriteLock[S]

    def _contend(self, blocking: bool) -> Script[Hold[S] | None]:
        actor = yield from Actor()
        yield from self.writer.forsake(actor)
        writing = yield from self.writer.current(actor)
        if writing is not None:
            hold = yield from self._downgrade(writing.hold)
            if hold is not None:
                return hold
        return (yield from self._stand_in_line(blocking))

    def _downgrade(self, writing: Hold[Any]) -> Script[Hold[S] | None]:
        """A read node that stands where the writer stands: it has the writer's number in its name.
        None, and no such node, if the write node is gone: somebody deleted it, and another writer
        may have been let in."""
        written = split(writing.path)[1]
        number = written.rpartition(self.writer._kind)[2]
        name = self._layout.mark((yield from Guid()), self._kind + number)
        data = yield from self._revocation.node_data()
        node: Node | None = None
        try:
            node, names = yield from create_protected(
                self.path, name, Children(self.path), data=data, mode=Mode.EPHEMERAL,
                parents=self._layout.parents,
            )  # fmt: skip
            if written in names:  # listed after our node was created
                yield from Proved()
                hold = Hold(self, node, writing.token)
                return (yield from self._revocation.listening(hold))
        except BaseException as ended:
            yield from withdraw(self.path, name, node, after=ended)
            raise
        yield from withdraw(self.path, name, node)
        return None
