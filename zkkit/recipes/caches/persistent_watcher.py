"""A watch that stays: Curator's PersistentWatcher.

    <path>            watched: it may be there or not, and come and go
      <child>         with `recursive=True` everything below it as well, at any depth

1. Set one persistent watch (addWatch), and call the reset listeners: "read again".
2. Tell every fire to the listeners, in the order in which the server sent them.
3. After a reconnect, and in a new session, fires may be missing: begin at 1.

What is told: CREATED, CHANGED and DELETED of the path, and CHILD when its children come or go; or,
recursive, CREATED, CHANGED and DELETED of the path and of all nodes below it.

Guarantees: what changes after a reset and before the next connection loss is told, once, in order;
whatever else may have been missed is announced by a reset. Whoever reads in its reset listener and
follows the fires misses nothing. Not guaranteed: that the node still is as the fire says when the
listener is called.

Servers without persistent watches (before 3.6): it falls back to one-shot watches, says so in the
log, and `persistent` is False. What is told is then found by comparing what was read with what was
read before (czxid, mzxid): several changes in quick succession are told as one, and the recursive
kind reads two requests for each change and holds two watches for each node.

Connection loss and expiry: outlived, with a reset. Closing it leaves no watch on the server.

Cost: 1 request to set it and 1 to remove it, whatever the size of the tree; nothing for a fire.
"""

from __future__ import annotations

from collections.abc import Callable

from ...errors import Unimplemented
from ...scripting import S
from ...steps import Fire, FireKind, Heard, Notify, Remember, Script, Wait, Watch
from ..arguments import check_callback, check_flag
from ..long_lived import LongLived, log
from ..shared import until_answered
from .one_shots import OneShots


class PersistentWatcher(LongLived[S, Fire]):
    """Tells its listeners of every change of a node, or of a whole tree (PersistentWatcher).

    Raises ValueError if `recursive` is neither True nor False.
    """

    def __init__(self, session: S, path: str, *, recursive: bool = False) -> None:
        super().__init__(session, path)
        check_flag("recursive", recursive)
        self._recursive = recursive
        self._reset_listeners: list[Callable[[], object]] = []

    def add_reset_listener(self, listener: Callable[[], object]) -> None:
        """Call `listener()` whenever the watch has been set: changes before that were not told, so
        read again. The first time is soon after the start. Raises ValueError as `add_listener`."""
        check_callback("a reset listener", listener)
        self._reset_listeners.append(listener)

    def remove_reset_listener(self, listener: Callable[[], object]) -> None:
        """Do not call it any more; nothing happens if it was not there."""
        if listener in self._reset_listeners:
            self._reset_listeners.remove(listener)

    @property
    def persistent(self) -> bool:
        """False if the servers have no persistent watches, and one-shot watches are used."""
        return self.session.noted((self, "one-shot")) is None

    def _live(self) -> Script[None]:
        while True:
            try:
                # After a reconnect the session has asked for it already: this hears that it is set.
                yield from until_answered(Watch(self.path, self._recursive))
            except Unimplemented:
                yield from self._admit_it()
                yield from self._live_by_one_shots()
            yield from self._reset()
            while (fire := (yield from Wait())).kind is not FireKind.NONE:
                yield from self._tell(fire)

    def _reset(self) -> Script[None]:
        yield from Notify(self._call_open, self._reset_listeners)

    def _admit_it(self) -> Script[None]:
        yield from Remember((self, "one-shot"), True)
        yield from Notify(
            log.warning,
            "%r: the servers have no persistent watches (ZooKeeper before 3.6); one-shot watches "
            "are used, which tell changes in quick succession as one",
            self,
        )

    def _live_by_one_shots(self) -> Script[None]:
        nodes = OneShots(self.path, recursive=self._recursive)
        yield from nodes.look()
        yield from self._reset()
        while True:
            fire = yield from Wait()
            if fire.kind is FireKind.NONE:
                yield from Heard()  # a broken connection wakes us for each watch that we had
                yield from nodes.look()
                yield from self._reset()
            else:
                for told in (yield from nodes.look(fire.path)):
                    yield from self._tell(told)
