"""What all locks share: who holds what, reentry, beginning again.

Who holds what is kept in the session's table under the lock object: as with `threading.RLock`, two
lock objects on one path are two contenders. A holding whose session is over counts for nothing: the
next acquire starts anew, a release finds nothing to do. One whose proof has lapsed while its
session lives on counts for nothing either, but its node is there: the next acquire or release
removes it. One that is being released stays in the table until its node is surely gone.

An attempt that ends because the session was lost, or because somebody removed our node, is begun
again in the new session, as the session's retry policy allows.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable
from typing import Any, ClassVar, NamedTuple, TypeVar

from ...errors import NoNode, NotOwner, SessionLost
from ...scripting import Awaiting, Blocking, S, actor_name, script, timed_script
from ...steps import Actor, Look, Mark, Node, Note, Script, SessionId, StillHeld
from ..arguments import check_blocking
from ..shared import begin_again
from .held import Acquirable
from .hold import Hold
from .statistics import Counter, Statistics

T = TypeVar("T")


class Holding(NamedTuple):
    """What an actor has of a lock: the hold and how often it was acquired; 0 times: it is being
    released. `gone`: it was lost, and its node removed, but not all of its releases have come."""

    actor: Hashable
    hold: Hold[Any]
    times: int
    gone: bool = False


class OwnedLock(Acquirable[S, Hold[Blocking], Hold[Awaiting]]):
    """Base of the locks."""

    reentrant: ClassVar[bool] = False
    """Whether the owner may acquire again."""
    bound: ClassVar[bool] = True
    """Whether only the actor that acquired may release; else whoever has the hold."""
    unique_names: ClassVar[bool] = True
    """Whether no two grants ever share a node name: what guarding a transaction needs."""

    fences: bool = True
    """Whether one hold at a time is granted, so that tokens tell who came last."""

    def __init__(self, session: S, path: str) -> None:
        super().__init__(session, path)
        self._counter = Counter()

    @abstractmethod
    def _contend(self, blocking: bool) -> Script[Node | None]:
        """Get the lock node to the front and give it; None if not blocking and not at once.
        Whatever else ends it leaves nothing behind."""

    @abstractmethod
    def _let_go(self, hold: Hold[Any]) -> Script[None]:
        """Remove our lock node, whatever happens."""

    def _closing(self, hold: Hold[Any]) -> Script[None]:
        """What else ends with the last release; the lock node is still there."""
        yield from ()

    @timed_script
    def acquire(
        self, blocking: bool = True, timeout: float | None = None
    ) -> Script[Hold[S] | None]:
        """Wait for the lock; None if not blocking and it is taken, or if `timeout` passes.

        `timeout` is a deadline for the whole call, kept even when the servers are frozen.
        """
        check_blocking(blocking)
        return self._acquire(blocking)

    def _acquire(self, blocking: bool) -> Script[Hold[S] | None]:
        actor = yield from Actor()
        again = yield from self._again(actor)
        if again is not None:
            return again
        yield from self.forsake(actor)
        yield from self._admit(actor)
        node = yield from self._persevere(lambda: self._contend(blocking))
        if node is None:
            return None
        hold = yield from self._hold(node, actor)
        yield from self._granted(hold, actor)
        return hold

    def _admit(self, actor: Hashable) -> Script[None]:
        """Refuse an actor that must not contend."""
        yield from ()

    def _hold(self, node: Node, actor: Hashable) -> Script[Hold[S]]:
        """The hold that this node gives."""
        yield from ()
        return Hold(self, node, node.stat.czxid)

    def _again(self, actor: Hashable) -> Script[Hold[S] | None]:
        """The hold this actor already has, counted once more; None if it must contend."""
        holding = yield from self.current(actor)
        if holding is None or not self.reentrant:
            return None
        yield from self._replace(holding, holding._replace(times=holding.times + 1))
        hold = holding.hold
        yield from Mark("acquired", hold.path, hold.czxid, "reentrant", self._counter)
        return hold

    def _granted(self, hold: Hold[S], actor: Hashable) -> Script[None]:
        """Write down a new hold."""
        yield from self._replace(None, Holding(actor, hold, 1))
        kind = "" if hold.session_id else "persistent"
        yield from Mark("acquired", hold.path, hold.czxid, kind, self._counter)

    def current(self, actor: Hashable) -> Script[Holding | None]:
        """What the actor surely holds: the last of its holdings, if that still counts."""
        for holding in reversed((yield from self._holdings())):
            if holding.actor == actor and holding.times:
                return holding if (yield from still_held(holding.hold)) else None
        return None

    def forsake(self, actor: Hashable) -> Script[None]:
        """Remove the nodes of what the actor lost while its session lives on: behind them it would
        wait for itself."""
        session = yield from SessionId()
        for holding in (yield from self._holdings()):
            hold = holding.hold
            ours = holding.actor == actor and holding.times and hold.session_id == session
            if ours and not holding.gone and not (yield from still_held(hold)):
                yield from self._replace(holding, holding._replace(gone=True))
                yield from self._let_go(hold)

    def _holdings(self) -> Script[tuple[Holding, ...]]:
        return (yield from Look(self)) or ()

    def _replace(self, old: Holding | None, new: Holding | None) -> Script[None]:
        holdings = yield from self._holdings()
        kept = tuple(each for each in holdings if old is None or each.hold.grant != old.hold.grant)
        after = kept if new is None else (*kept, new)
        yield from Note(self, after or None)

    def _persevere(self, attempt: Callable[[], Script[T | None]]) -> Script[T | None]:
        """Attempt to contend, and begin again where the session or our node was lost."""
        granted: T | None = None
        try:
            granted = yield from begin_again(attempt, self.session.retry, SessionLost, NoNode)
            return granted
        finally:
            if granted is None:
                yield from Mark("gave up", self.path, 0, "", self._counter)

    @script
    def release(self) -> Script[None]:
        """Give up what this actor acquired last, once for each acquire."""
        actor = yield from Actor()
        for holding in reversed((yield from self._holdings())):
            if holding.actor == actor and holding.times:
                yield from self._count_down(holding)
                return
        raise self._not_owner(actor, "release in the thread, greenlet or task that acquired")

    def release_hold(self, hold: Hold[Any]) -> Script[None]:
        """Give up this hold, once."""
        actor = yield from Actor()
        for holding in (yield from self._holdings()):
            if holding.hold.grant == hold.grant and holding.times:
                if self.bound and holding.actor != actor:
                    break
                yield from self._count_down(holding)
                return
        raise self._not_owner(actor, f"{hold.path} was released already, or is another actor's")

    def _not_owner(self, actor: Hashable, hint: str) -> NotOwner:
        name = f"{type(self).__name__} {self.path}"
        return NotOwner(f"{actor_name(actor)} does not hold {name}", path=self.path, hint=hint)

    def take_back(self, hold: Hold[Any]) -> Script[None]:
        """Give up one acquire of a hold whose actor has left, whoever runs this."""
        for holding in (yield from self._holdings()):
            if holding.hold.grant == hold.grant and holding.times:
                yield from self._count_down(holding)
                return

    def _count_down(self, holding: Holding) -> Script[None]:
        if holding.times > 1:
            # Counted down even when lost: each `with` block still has its own way out to come.
            yield from self._replace(holding, holding._replace(times=holding.times - 1))
            return
        hold = holding.hold
        releasing = holding._replace(times=0)
        yield from self._replace(holding, releasing)
        try:
            yield from self._closing(hold)
            session = yield from SessionId()
            if hold.session_id in (0, session) and not holding.gone:
                yield from Mark("released", hold.path, hold.czxid, "", self._counter)
                yield from self._let_go(hold)
        finally:
            yield from self._replace(releasing, None)

    def statistics(self) -> Statistics:
        """What has happened on this lock object so far."""
        return self._counter.statistics

    def __repr__(self) -> str:
        holders = ", ".join(
            actor_name(holding.actor)
            for holding in self.session.noted(self) or ()
            if holding.hold.valid
        )
        state = f"held by {holders}" if holders else "not held here"
        return f"<{type(self).__name__} {self.path} {state}>"


def still_held(hold: Hold[Any]) -> StillHeld:
    """Whether a hold counts: its session lives, and that is proved."""
    return StillHeld(hold.session_id, hold.path, hold.czxid)
