"""The fair, reentrant lock: Curator's InterProcessMutex, on the same nodes.

    <path>                                      a container: the server removes it when empty
      _c_<guid>-lock-0000000041                 ephemeral, sequential: first, so it holds
      _c_<guid>-lock-0000000042                 watches 41
      _c_<guid>-lock-0000000043                 watches 42

1. Create a protected ephemeral sequential node and list the children, in one flight.
2. Ours is first: held. Otherwise get the node just before ours, with a watch. (Get, not exists:
   a node that vanished meanwhile leaves no watch behind.)
3. Woken because that node, another session's, has gone, and it was the first: held. Numbers only
   grow, so nobody can have come in between. It was the first if no other was ahead of ours when we
   listed, or if it has said so to all in this process (see ../line.py). Woken for any other reason:
   list again and go to 2.
4. Release deletes the node, which wakes the one waiter behind it.

Guarantees: at every zxid at most one session has been told that its node is first and still has
it; grants in the order of creation; at most one waiter woken per release; a lost reply, a cancel,
a deadline or a crash leaves neither a second contender nor an orphan.

Not guaranteed: a holder that was paused for longer than its session timeout may act before it
notices that it has lost the lock. `hold.valid`, `hold.token` and `hold.transaction` are for that.

Nobody should delete a lock's node by hand, for its owner is not told. A holder goes on, while the
next one is let in. A waiter who is next in line may be let in by step 3, and has no node then. Both
can find out: `hold.check` asks the server, `hold.transaction` is refused, and the token of whoever
holds next is greater.

Timeout: our node is removed, the call gives None. Connection loss: outlived; the queue is read
again after the reconnect. Expiry while waiting: begun again with a new node, as the retry policy
allows. Expiry while holding: `hold.valid` is false and stays so, `hold.on_lost` is called.

With `persistent=True` the node outlives its session: the hold stays valid through an expiry, and a
holder that crashes keeps the lock for ever: somebody must delete its node by hand. So who waits
there lists again each time, and begins again if its own node is not left.

Where to read on: `acquire` is in owned.py (who holds what, reentry, beginning again) and calls
`_contend` below; the scripts that `_contend` uses are in ../shared.py, down to the last step.

Cost: 2 flights for an uncontended acquire and release (3 where the parents are missing), 2 for a
contended acquire behind one other, or behind several where the one just ahead is of this process
too, but of another session; 3 behind others: one after the release. The token costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from ...paths import join
from ...scripting import S, script
from ...steps import Children, Guid, Mode, Node, Proved, Script
from ..arguments import check_callback, check_flag, checked_data
from ..line import Line, Rule, first_in_line
from ..shared import create_protected, saw_it_go, withdraw
from .hold import Hold
from .layouts import CURATOR
from .owned import OwnedLock
from .revoking import Revocation

KIND = CURATOR.exclusive


class ReentrantLock(OwnedLock[S]):
    """A fair lock across processes that its owner may acquire again (InterProcessMutex).

    Raises ValueError if `rule` cannot be called, `persistent` is neither True nor False, or
    `node_data` is not bytes.
    """

    reentrant: ClassVar[bool] = True

    def __init__(
        self,
        session: S,
        path: str,
        *,
        rule: Rule = first_in_line,
        persistent: bool = False,
        node_data: bytes | None = None,
    ) -> None:
        super().__init__(session, path)
        check_callback("a rule", rule)
        check_flag("persistent", persistent)
        # A persistent node is removed by hand where its owner crashed, perhaps with all others: who
        # waits there looks each time whether its own is left. So does who has a rule of its own.
        known = rule is first_in_line and not persistent
        self._line = Line(self.path, (KIND,), append_only=known)
        self._rule = rule
        self._persistent = persistent
        self._revocation = Revocation(self, checked_data(node_data, session.node_data))

    def _contend(self, blocking: bool) -> Script[Hold[S] | None]:
        name = CURATOR.mark((yield from Guid()), KIND)
        mode = Mode.PERSISTENT_SEQUENTIAL if self._persistent else Mode.EPHEMERAL_SEQUENTIAL
        data = yield from self._revocation.node_data()
        node: Node | None = None
        try:
            # Create our node and list all of them: one flight.
            node, names = yield from create_protected(
                self.path, name, Children(self.path), data=data, mode=mode
            )
            while not (turn := self._rule(self._line.ahead_of(node, names))).mine and blocking:
                # The line that does away with the herd: we watch nobody but the one just ahead.
                gone = yield from saw_it_go(join(self.path, turn.behind))
                names = yield from self._line.look_again(node, turn, gone)
            if turn.mine:
                yield from self._line.announce(node)
                if not self._persistent:
                    yield from Proved()  # what a server that lags shows us may be old
                return (yield from self._revocation.listening(Hold(self, node)))
        except BaseException as ended:
            yield from withdraw(
                self.path, name, node, after=ended, outlives_session=self._persistent
            )
            raise
        yield from withdraw(self.path, name, node, outlives_session=self._persistent)
        return None

    def _closing(self, hold: Hold[Any]) -> Script[None]:
        return self._revocation.end(hold)

    @script
    def on_revoke(self, callback: Callable[[], object]) -> Script[None]:
        """Call back when somebody asks for the lock, until the next release.

        Say it before acquiring (the node is then created empty, so that only a request shows in
        it), or while holding. Raises ValueError if `callback` cannot be called, or would have to be
        awaited.
        """
        return self._revocation.begin(callback)

    @script
    def participants(self) -> Script[tuple[str, ...]]:
        """The paths of all contenders, the holder's first.

        Raises SessionLost if the session is lost before the answer comes, and what the servers
        refuse (NoAuth).
        """
        return self._line.participants()
