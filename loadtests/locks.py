"""Users that contend for one lock, as fast as they can.

    locust -f loadtests/locks.py                       the web page, http://127.0.0.1:8089
    locust -f loadtests/locks.py --headless -u 50 -r 50 -t 20 --design herd
    python -m loadtests.locks --help                   the same locust, and all its options

Each user has a session of its own, and in an endless loop acquires the lock, holds it for
`--hold-ms` and releases it. locust counts `lock.wait`, `lock.hold` and `lock.release`, rounded
to milliseconds; the table at the end has microseconds, the handoffs, the fires and who was busy.

At the end all holds of all users are checked for overlap. Exit 0: none overlapped. Exit 1: two
users held the lock at once (or requests failed). Exit 2: unknown, as after Ctrl-C.
"""

from __future__ import annotations

import sys
import time

import gevent
from locust import constant, events, task
from locust.exception import StopUser

from loadtests import listeners
from loadtests.shape import HeldSteps
from loadtests.users import ZkUser
from zkkit import Session
from zkkit.bench.designs import named, to_write
from zkkit.errors import SessionLost, ZkkitError
from zkkit.recipes.locks.owned import OwnedLock
from zkkit.scripting import Blocking

__all__ = ["HeldSteps", "LockUser"]

_PAUSE = 1.0  # seconds after a failure; else a user without servers would do nothing but fail

listeners.install(events)


class LockUser(ZkUser):
    """Acquires, holds and releases the one lock that all users share."""

    wait_time = constant(0)

    def make_lock(self, session: Session, path: str) -> OwnedLock[Blocking]:
        """The lock, of the design that was asked for."""
        lock = to_write(named(self.trial.wanted.design).lock(session, path))
        assert isinstance(lock, OwnedLock)  # only such designs can be asked for
        return lock

    def on_start(self) -> None:
        super().on_start()
        if self.session is not None:
            self.lock = self.make_lock(self.session, self.trial.path)

    @task
    def take_a_turn(self) -> None:
        """Acquire, hold, release."""
        if self.session is None:
            raise StopUser
        asked = time.monotonic_ns()
        self.trial.waiting[self.number] = asked
        try:
            hold = self.lock.acquire()
        except ZkkitError as error:
            self.report("lock.wait", time.monotonic_ns() - asked, error)
            gevent.sleep(_PAUSE)
            return
        finally:
            self.trial.waiting.pop(self.number, None)
        acquired = time.monotonic_ns()
        try:
            gevent.sleep(self.trial.wanted.hold_ms / 1e3)
        finally:
            # Also for a user that is stopped while it holds: its hold counts like any other.
            released = time.monotonic_ns()
            turn = self.trial.turns.held(self.number, asked, acquired, released)
            lost = hold is None or not hold.valid
            failure = self._release()
        if failure is None:
            self.trial.turns.done(turn, time.monotonic_ns())
        self.report("lock.wait", acquired - asked)
        self.report("lock.hold", released - acquired, _lost(self.trial.path) if lost else None)
        self.report("lock.release", time.monotonic_ns() - released, failure)

    def _release(self) -> ZkkitError | None:
        """Release, and give what went wrong with it."""
        try:
            self.lock.release()
        except ZkkitError as error:
            return error
        return None


def _lost(path: str) -> SessionLost:
    return SessionLost("a hold was lost with its session before it was released", path=path)


if __name__ == "__main__":
    # locust's own --help ends before a locustfile is loaded; by now our options are known to it.
    from locust.main import main

    sys.argv[:1] = ["locust", "-f", __file__]
    main()  # type: ignore[no-untyped-call]  # locust's is not typed
