"""What all locks share: who holds what, reentry, beginning again.

Who holds what is kept in the session's table under the lock object: as with `threading.RLock`, two
lock objects on one path are two contenders. A hold whose session is over counts for nothing: the
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
from ...steps import Actor, Mark, Recall, Remember, Script, SessionId
from ..arguments import check_blocking
from ..shared import begin_again, delete_surely
from ..tenure import still_held
from .held import Acquirable
from .hold import Hold
from .statistics import Counter, Statistics

T = TypeVar("T")


class Ownership(NamedTuple):
    """What an actor has of a lock: the hold and how often it was acquired; 0 times: it is being
    released. `gone`: it was lost, and its node removed, but not all of its releases have come."""

    actor: Hashable
    hold: Hold[Any]
    times: int
    gone: bool = False


class OwnedLock(Acquirable[S, Hold[Blocking], Hold[Awaiting]]):
    """Base of the locks. Each says how it contends; one with more to do when it is released, or
    with another way to remove its node, says that as well."""

    reentrant: ClassVar[bool] = False
    """Whether the owner may acquire again."""
    owner_only: ClassVar[bool] = True
    """Whether only the actor that acquired may release; else whoever has the hold."""
    unique_names: ClassVar[bool] = True
    """Whether no two grants ever share a node name: what guarding a transaction needs."""

    single_holder: bool = True
    """Whether one hold at a time is granted, so that tokens tell who came last."""

    def __init__(self, session: S, path: str) -> None:
        super().__init__(session, path)
        self._counter = Counter()

    @abstractmethod
    def _contend(self, blocking: bool) -> Script[Hold[S] | None]:
        """Make one attempt to get the lock; None if not blocking and not to be had at once.
        Whatever else ends it leaves nothing behind."""

    def _closing(self, hold: Hold[Any]) -> Script[None]:
        """What else ends with the last release; the lock node is still there."""
        yield from ()

    def _let_go(self, hold: Hold[Any]) -> Script[None]:
        """Remove our lock node, whatever happens."""
        return delete_surely(hold.path, outlives_session=not hold.session_id)

    @timed_script
    def acquire(
        self, blocking: bool = True, timeout: float | None = None
    ) -> Script[Hold[S] | None]:
        """Wait for the lock; None if not blocking and it is taken, or if `timeout` passes.

        `timeout` is a deadline for the whole call, kept even when the servers are frozen.

        Raises SessionLost if the session was lost more often than the retry policy allows,
        SessionClosed if it was closed, and whatever the servers refuse (NoAuth, ...). ValueError if
        `blocking` is neither True nor False.
        """
        check_blocking(blocking)
        return self._acquire(blocking)

    def _acquire(self, blocking: bool) -> Script[Any]:
        actor = yield from Actor()
        if (yield from self._ownerships()):
            owned = yield from self.current(actor)
            if owned is not None and self.reentrant:
                return (yield from self._reenter(owned))
            yield from self.forsake(actor)
        hold = yield from self._persevere(lambda: self._contend(blocking))
        if hold is not None:
            yield from self._granted(hold, actor)
        return hold

    def _persevere(self, attempt: Callable[[], Script[T | None]]) -> Script[T | None]:
        """Attempt to contend, and begin again where the session or our node was lost."""
        granted: T | None = None
        try:
            granted = yield from begin_again(attempt, self.session.retry, SessionLost, NoNode)
            return granted
        finally:
            if granted is None:
                yield from Mark("gave up", self.path, 0, "", self._counter)

    def _reenter(self, owned: Ownership) -> Script[Hold[S]]:
        """Count the hold that this actor already has once more."""
        yield from self._replace(owned, owned._replace(times=owned.times + 1))
        hold = owned.hold
        yield from Mark("acquired", hold.path, hold.czxid, "reentrant", self._counter)
        return hold

    def _granted(self, hold: Hold[S], actor: Hashable) -> Script[None]:
        """Write down a new hold."""
        yield from self._replace(None, Ownership(actor, hold, 1))
        kind = "" if hold.session_id else "persistent"
        yield from Mark("acquired", hold.path, hold.czxid, kind, self._counter)

    def current(self, actor: Hashable) -> Script[Ownership | None]:
        """What the actor surely holds: the last of what it acquired, if that still counts."""
        for owned in reversed((yield from self._ownerships())):
            if owned.actor == actor and owned.times:
                return owned if (yield from still_held(owned.hold)) else None
        return None

    def forsake(self, actor: Hashable) -> Script[None]:
        """Remove the nodes of what the actor lost while its session lives on: behind them it would
        wait for itself."""
        session = yield from SessionId()
        for owned in (yield from self._ownerships()):
            hold = owned.hold
            ours = owned.actor == actor and owned.times and hold.session_id == session
            if ours and not owned.gone and not (yield from still_held(hold)):
                yield from self._replace(owned, owned._replace(gone=True))
                yield from self._let_go(hold)

    def _ownerships(self) -> Script[tuple[Ownership, ...]]:
        return (yield from Recall(self)) or ()

    def _replace(self, old: Ownership | None, new: Ownership | None) -> Script[None]:
        kept = list((yield from Recall(self)) or ())
        if old is not None:
            kept = [each for each in kept if each.hold.grant != old.hold.grant]
        if new is not None:
            kept.append(new)
        yield from Remember(self, tuple(kept) or None)

    @script
    def release(self) -> Script[None]:
        """Give up what this actor acquired last, once for each acquire.

        Raises NotOwner if this actor holds nothing of this lock.
        """
        actor = yield from Actor()
        for owned in reversed((yield from self._ownerships())):
            if owned.actor == actor and owned.times:
                yield from self._count_down(owned)
                return
        raise self._not_owner(actor, "release in the thread, greenlet or task that acquired")

    def release_hold(self, hold: Hold[Any]) -> Script[None]:
        """Give up this hold, once."""
        actor = yield from Actor()
        for owned in (yield from self._ownerships()):
            if owned.hold.grant == hold.grant and owned.times:
                if self.owner_only and owned.actor != actor:
                    break
                yield from self._count_down(owned)
                return
        raise self._not_owner(actor, f"{hold.path} was released already, or is another actor's")

    def _not_owner(self, actor: Hashable, hint: str) -> NotOwner:
        name = f"{type(self).__name__} {self.path}"
        return NotOwner(f"{actor_name(actor)} does not hold {name}", path=self.path, hint=hint)

    def take_back(self, hold: Hold[Any]) -> Script[None]:
        """Give up one acquire of a hold whose actor has left, whoever runs this."""
        for owned in (yield from self._ownerships()):
            if owned.hold.grant == hold.grant and owned.times:
                yield from self._count_down(owned)
                return

    def _count_down(self, owned: Ownership) -> Script[None]:
        if owned.times > 1:
            # Counted down even when lost: each `with` block still has its own way out to come.
            yield from self._replace(owned, owned._replace(times=owned.times - 1))
            return
        hold = owned.hold
        releasing = owned._replace(times=0)
        yield from self._replace(owned, releasing)
        try:
            yield from self._closing(hold)
            session = yield from SessionId()
            if hold.session_id in (0, session) and not owned.gone:
                yield from Mark("released", hold.path, hold.czxid, "", self._counter)
                yield from self._let_go(hold)
        finally:
            yield from self._replace(releasing, None)

    def statistics(self) -> Statistics:
        """What has happened on this lock object so far."""
        return self._counter.statistics

    def __repr__(self) -> str:
        holders = ", ".join(
            actor_name(owned.actor) for owned in self.session.noted(self) or () if owned.hold.valid
        )
        state = f"held by {holders}" if holders else "not held here"
        return f"<{type(self).__name__} {self.path} {state}>"
