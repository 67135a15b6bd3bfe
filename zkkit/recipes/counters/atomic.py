"""A value that is read and replaced as one step: Curator's DistributedAtomicValue and
DistributedAtomicNumber, on the same nodes.

    <path>                            persistent: the value
    <path>-receipts/<session>-<n>     ephemeral: who wrote it last (receipts.py)
    <lock>/_c_<guid>-lock-<number>    while a change is made by a lock

1. Read the value and its version. No node, or one without data, is zero.
2. Write the new value on condition that the version is still the same, with a receipt, in one
   transaction.
3. Somebody else was quicker: go to 1, as often as `retry` allows.
4. Then, if `promoted_to` names a lock, acquire it and do the same once more, as often as its own
   policy allows. Those who have come so far wait in line, and no longer for luck.

Guarantees: **each change counts once**, also if the reply to it was lost: it is found out by the
receipt, neither repeated nor forgotten. `succeeded` is false only if nothing was changed. Others
may write to the same node by its version, Java Curator among them, at the same time. Not
guaranteed: that one of many gets through without `promoted_to`; who came first is served first.

Connection loss: outlived. Expiry: begun again in the next session, as that session's retry policy
allows; if a write was under way, OutcomeUnknown is raised where nobody can know (receipts.py has
the cases). A caller that leaves (a cancel, a Ctrl-C) does not learn whether its change counted.

Cost: 2 flights for a change, a read and a write; one more for each time that somebody else was
quicker, and up to three more with the first change in a session.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from ...errors import SessionLost
from ...retry import Exponential, RetryPolicy, check_policy
from ...scripting import Recipe, S, checked_timeout, script
from ...steps import Data, Mark, Now, Random, Script
from ..locks.reentrant import ReentrantLock
from ..shared import begin_again, pause
from .forms import Form, as_text
from .receipts import look, write_anyway, write_once

T = TypeVar("T")

PATIENT = Exponential(0.001, 30, longest=0.05)
"""How often a change is tried unless told otherwise: for a second or so."""


class AtomicStatistics(NamedTuple):
    """How often a change was tried, and for how many seconds: by luck, then by the lock."""

    optimistic_tries: int = 0
    optimistic_seconds: float = 0.0
    promoted_tries: int = 0
    promoted_seconds: float = 0.0


class AtomicResult(NamedTuple, Generic[T]):
    """What came of a change. If it has not `succeeded` nothing was changed, and both values are the
    one that was seen last."""

    succeeded: bool
    before: T
    after: T
    statistics: AtomicStatistics


@dataclass(frozen=True)
class PromotedToLock:
    """The lock that makes changes certain: the path of a ReentrantLock (Curator's
    InterProcessMutex), how often to try once it is held, and how long to wait for it."""

    path: str
    retry: RetryPolicy = PATIENT
    timeout: float | None = None


class _Tries(NamedTuple, Generic[T]):
    """What came of a row of tries. `final`: the lock would not change it."""

    final: bool
    succeeded: bool
    before: T
    after: T
    number: int


class Atomic(Recipe[S], Generic[S, T]):
    """Base of the atomic values; each says in which form its value is written. Raises ValueError
    for a `retry` that is no policy, and a `promoted_to` that names no lock."""

    _form: Form[T]

    def __init__(
        self,
        session: S,
        path: str,
        *,
        retry: RetryPolicy = PATIENT,
        promoted_to: str | PromotedToLock | None = None,
    ) -> None:
        super().__init__(session, path)
        check_policy(retry)
        if isinstance(promoted_to, str):
            promoted_to = PromotedToLock(promoted_to)
        self._retry = retry
        self._promoted = promoted_to
        self._lock: ReentrantLock[S] | None = None
        if promoted_to is not None:
            if not isinstance(promoted_to, PromotedToLock):
                raise ValueError(
                    f"promoted_to must be the path of a lock, or a PromotedToLock(path, retry=, "
                    f"timeout=), not {promoted_to!r}"
                )
            check_policy(promoted_to.retry)
            checked_timeout(promoted_to.timeout)
            self._lock = ReentrantLock(session, promoted_to.path)

    @script
    def get(self) -> Script[T]:
        """The value, as our server has it (it may lag; changes do not depend on it); zero if there
        is none. Raises CorruptData if the node holds something else, SessionLost if sessions are
        lost more often than the session's retry policy allows."""
        found = yield from self._look()
        value = self._form.read(self.path, found)
        yield from Mark("value", self.path, found.stat.mzxid if found else 0, as_text(value))
        return value

    @script
    def compare_and_set(self, expected: T, new: T) -> Script[AtomicResult[T]]:
        """Write `new` if the value is `expected`; not if there is no node yet (`initialize` makes
        one). Raises as `get`, ValueError for what is no such value, and OutcomeUnknown if the
        session was lost and nobody can know whether it was written."""
        self._form.check(expected)
        self._form.check(new)
        return self._change(lambda now: new if now == expected else None, creates=False)

    @script
    def try_set(self, value: T) -> Script[AtomicResult[T]]:
        """Write this value, and know which one it replaced. Raises as `compare_and_set`."""
        self._form.check(value)
        return self._change(lambda now: value)

    @script
    def initialize(self, value: T) -> Script[bool]:
        """Create the node with this value; False if it is there. Raises as `compare_and_set`."""
        self._form.check(value)
        return self._initialize(self._form.pack(self.path, value))

    def _initialize(self, data: bytes) -> Script[bool]:
        return bool((yield from write_once(self.path, None, data, self.session.retry)))

    @script
    def force_set(self, value: T) -> Script[None]:
        """Write this value, whatever is there. It is written a second time if the session is lost
        before the reply comes. Raises as `get`, and ValueError for what is no such value."""
        self._form.check(value)
        return self._force_set(value)

    def _force_set(self, value: T) -> Script[None]:
        data = self._form.pack(self.path, value)
        zxid = yield from write_anyway(self.path, data, self.session.retry)
        yield from Mark("value", self.path, zxid, as_text(value))

    # --- changing ---------------------------------------------------------------------------

    def _look(self) -> Script[Data | None]:
        return begin_again(lambda: look(self.path), self.session.retry, SessionLost)

    def _change(
        self, change: Callable[[T], T | None], *, creates: bool = True
    ) -> Script[AtomicResult[T]]:
        """Replace the value by what `change` makes of it; None: let it be."""
        began = yield from Now()
        tried = yield from self._tries(change, creates, self._retry)
        ended = yield from Now()
        spent = AtomicStatistics(tried.number, ended - began)
        if self._promoted is not None and not tried.final:
            number = 0
            by_lock = yield from self._by_lock(change, creates)
            if by_lock is not None:
                tried, number = by_lock, by_lock.number
            spent = spent._replace(
                promoted_tries=number, promoted_seconds=(yield from Now()) - ended
            )
        return AtomicResult(tried.succeeded, tried.before, tried.after, spent)

    def _by_lock(self, change: Callable[[T], T | None], creates: bool) -> Script[_Tries[T] | None]:
        """The same, by one at a time; None if the lock was not to be had in time."""
        assert self._promoted is not None and self._lock is not None
        if (yield from self._lock.acquire.of(timeout=self._promoted.timeout)) is None:
            return None
        try:
            return (yield from self._tries(change, creates, self._promoted.retry))
        finally:
            yield from self._lock.release.of()

    def _tries(
        self, change: Callable[[T], T | None], creates: bool, policy: RetryPolicy
    ) -> Script[_Tries[T]]:
        began = yield from Now()
        number = 0
        while True:
            number += 1
            found = yield from self._look()
            before = self._form.read(self.path, found)
            after = change(before) if creates or found is not None else None
            if after is None:
                return _Tries(True, False, before, before, number)
            data = self._form.pack(self.path, after)
            zxid = yield from write_once(self.path, found, data, self.session.retry)
            if zxid:
                yield from Mark("value", self.path, zxid, as_text(after), before=as_text(before))
                return _Tries(True, True, before, after, number)
            passed = (yield from Now()) - began
            delay = policy.delay(number, passed, (yield from Random()))
            if delay is None:
                return _Tries(False, False, before, before, number)
            if delay:
                # A session that is lost meanwhile takes nothing with it: nothing is under way.
                wait = partial(pause, delay)
                yield from begin_again(wait, self.session.retry, SessionLost)
