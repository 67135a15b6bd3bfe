"""The fair, reentrant lock: Curator's InterProcessMutex, on the same nodes.

    <path>                                      a container: the server removes it when empty
      _c_<guid>-lock-0000000041                 ephemeral, sequential: first, so it holds
      _c_<guid>-lock-0000000042                 watches 41
      _c_<guid>-lock-0000000043                 watches 42

1. Create a protected ephemeral sequential node and list the children, in one flight.
2. Ours is first: held. Otherwise get the node just before ours, with a watch. (Get, not exists:
   a node that vanished meanwhile leaves no watch behind.)
3. Woken, for whatever reason: list again and go to 2.
4. Release deletes the node, which wakes the one waiter behind it.

Guarantees: at every zxid at most one session has been told that its node is first and still has
it; grants in the order of creation; at most one waiter woken per release; a lost reply, a cancel,
a deadline or a crash leaves neither a second contender nor an orphan. Not guaranteed: that a
holder paused for longer than its session timeout notices before it acts. That is what
`hold.valid`, `hold.token` and `hold.transaction` are for.

Timeout: our node is removed, the call gives None. Connection loss: outlived; the queue is read
again after the reconnect. Expiry while waiting: begun again with a new node, as the retry policy
allows. Expiry while holding: `hold.valid` is false and stays so, `hold.on_lost` is called.

With `persistent=True` the node outlives its session: the hold stays valid through an expiry, and a
holder that crashes keeps the lock for ever: somebody must delete its node by hand.

Cost: 2 flights for an uncontended acquire and release (3 where the parents are missing), 3 for a
contended acquire. The token costs nothing.
"""

from __future__ import annotations

from typing import ClassVar

from ...scripting import S
from ..arguments import check_callable, check_flag
from .line import CURATOR
from .linelock import LineLock
from .rules import Rule, first_in_line


class ReentrantLock(LineLock[S]):
    """A fair lock across processes that its owner may acquire again (InterProcessMutex)."""

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
        check_callable("a rule", rule)
        check_flag("persistent", persistent)
        kind = CURATOR.exclusive
        super().__init__(
            session,
            path,
            kind=kind,
            kinds=(kind,),
            rule=rule,
            persistent=persistent,
            node_data=node_data,
        )
