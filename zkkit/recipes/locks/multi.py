"""Several locks as one: Curator's InterProcessMultiLock.

The locks are acquired one after the other in the order of their paths, the same order in every
process, so two MultiLocks over the same paths cannot hold one each and wait for the other. The
timeout is one deadline for all. At the first failure what was acquired is released, in reverse.
Releasing gives back the holds that were acquired by the MultiLock, whatever its owner has of the
locks beside them. It goes on after an error and then raises the first.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from ...errors import NotOwner
from ...scripting import (
    Awaiting,
    Blocking,
    Returnable,
    S,
    actor_name,
    script,
    timed_script,
)
from ...steps import Actor, MultiOp, Recall, Remember, Script, Stat
from ..arguments import check_blocking
from ..shared import all_of
from ..tenure import still_held, while_held
from .held import Acquirable
from .hold import Hold
from .owned import OwnedLock
from .reentrant import ReentrantLock


class MultiHold(Returnable[S]):
    """The holds of all locks of a MultiLock, in the order of their paths."""

    _recipe: MultiLock[S]

    def __init__(self, lock: MultiLock[S], holds: tuple[Hold[S], ...]) -> None:
        super().__init__(lock, lock.path)
        self.holds = holds

    @property
    def grant(self) -> tuple[tuple[str, int], ...]:
        """What tells one grant from another, for ever."""
        return tuple(hold.grant for hold in self.holds)

    @property
    def token(self) -> tuple[int, ...]:
        """The fencing tokens, one for each lock."""
        return tuple(hold.token for hold in self.holds)

    @property
    def valid(self) -> bool:
        """Whether all of them surely still hold."""
        return all(hold.valid for hold in self.holds)

    def on_lost(self, callback: Callable[[], object]) -> None:
        """Call back when the first of them is lost (for each of them, if all are). Raises as
        `Hold.on_lost`."""
        for hold in self.holds:
            hold.on_lost(callback)

    @script
    def check(self) -> Script[bool]:
        """Ask the server: are all our lock nodes still there? Raises as `Hold.check`."""
        for hold in self.holds:
            if not (yield from hold.check.of()):
                return False
        return True

    @script
    def release(self) -> Script[None]:
        """Release all of these holds, the last acquired first. Raises NotOwner if they were
        released already; or the first error that this meets, when all have been tried."""
        yield from self._recipe.release_hold(self)

    @script
    def transaction(self, *ops: MultiOp) -> Script[tuple[str | Stat | None, ...]]:
        """Apply `ops`, all or nothing, and only if all lock nodes are still ours. Raises as
        `Hold.transaction`."""
        return while_held(self.holds, ops)

    def give_back(self) -> Script[Any]:
        yield from self._recipe.forget(self)
        yield from _give_back(self.holds)

    def __repr__(self) -> str:
        return f"<MultiHold {' '.join(map(repr, self.holds))}>"


class Taken(NamedTuple):
    """What an actor has acquired by a MultiLock."""

    actor: Hashable
    hold: MultiHold[Any]


class MultiLock(Acquirable[S, MultiHold[Blocking], MultiHold[Awaiting]]):
    """All of several locks, or none."""

    def __init__(self, session: S, locks: Sequence[str | OwnedLock[S]]) -> None:
        """`locks`: paths, each of a ReentrantLock, or locks of this session.

        Raises ValueError if there are none, one is there twice, or one is something else.
        """
        if isinstance(locks, str) or not isinstance(locks, Iterable):
            raise ValueError(f"a MultiLock takes a list of paths and locks, not {locks!r}")
        members: list[OwnedLock[S]] = [
            ReentrantLock(session, each) if isinstance(each, str) else each for each in locks
        ]
        for each in members:
            if not isinstance(each, OwnedLock):
                raise ValueError(
                    f"a MultiLock takes paths and single locks, not {each!r} (of readers and "
                    "writers its .read or .write, of another MultiLock its locks)"
                )
        if not members:
            raise ValueError("a MultiLock needs at least one lock")
        members.sort(key=lambda lock: lock.path)
        for lock, other in pairwise(members):
            if lock.path == other.path:
                raise ValueError(f"a MultiLock would wait for itself: {lock.path} is there twice")
        self.locks = tuple(members)
        if any(lock.session is not session for lock in self.locks):
            raise ValueError("all locks of a MultiLock must be of its session")
        super().__init__(session, self.locks[0].path)

    @timed_script
    def acquire(
        self, blocking: bool = True, timeout: float | None = None
    ) -> Script[MultiHold[S] | None]:
        """Acquire all; None, and none of them, if one is not to be had (in time).

        Raises what acquiring one of them raises; then none of them is held. ValueError if
        `blocking` is neither True nor False.
        """
        check_blocking(blocking)
        return self._acquire(blocking)

    def _acquire(self, blocking: bool) -> Script[MultiHold[S] | None]:
        actor = yield from Actor()
        while True:
            for lock in self.locks:  # before the first is waited for: others may wait for the last
                yield from lock.forsake(actor)
            holds: list[Hold[S]] = []
            try:
                for lock in self.locks:
                    hold = yield from lock.acquire.of(blocking)
                    if hold is None:
                        break
                    holds.append(hold)
            except BaseException:
                yield from _give_back(holds)
                raise
            if hold is not None and (yield from _all_held(holds)):
                taken = MultiHold(self, tuple(holds))
                yield from Remember(self, (*(yield from self._taken()), Taken(actor, taken)))
                return taken
            yield from _give_back(holds)
            if hold is None:
                return None
            # One was lost while we waited for the next: begin again, so that all are held together.

    @script
    def release(self) -> Script[None]:
        """Release what this actor acquired last by this MultiLock, and nothing else.

        Raises NotOwner if it acquired nothing by it; or the first error of those that releasing
        them met, when all have been tried.
        """
        actor = yield from Actor()
        for taken in reversed((yield from self._taken())):
            if taken.actor == actor:
                yield from self.release_hold(taken.hold)
                return
        raise self._not_owner(actor, "release in the thread, greenlet or task that acquired")

    def release_hold(self, hold: MultiHold[Any]) -> Script[None]:
        """Give up these holds, once, the last acquired first."""
        actor = yield from Actor()
        for taken in (yield from self._taken()):
            if taken.hold.grant == hold.grant:
                if taken.actor != actor and any(lock.owner_only for lock in self.locks):
                    break
                yield from self.forget(hold)
                yield from all_of([each.release.of for each in hold.holds[::-1]])
                return
        raise self._not_owner(actor, "it was released already, or is another actor's")

    def _not_owner(self, actor: Hashable, hint: str) -> NotOwner:
        return NotOwner(f"{actor_name(actor)} does not hold {self!r}", path=self.path, hint=hint)

    def forget(self, hold: MultiHold[Any]) -> Script[None]:
        """From now on `release` does not find it; where it was acquired again, only once less."""
        kept = list((yield from self._taken()))
        for number in reversed(range(len(kept))):
            if kept[number].hold.grant == hold.grant:
                del kept[number]
                break
        yield from Remember(self, tuple(kept) or None)

    def _taken(self) -> Script[tuple[Taken, ...]]:
        return (yield from Recall(self)) or ()

    def __repr__(self) -> str:
        return f"<MultiLock {' '.join(lock.path for lock in self.locks)}>"


def _give_back(holds: Sequence[Hold[Any]]) -> Script[None]:
    return all_of([hold.give_back for hold in reversed(holds)])


def _all_held(holds: Sequence[Hold[Any]]) -> Script[bool]:
    for hold in holds:
        if not (yield from still_held(hold)):
            return False
    return True
