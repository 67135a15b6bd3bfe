"""A contender: who queues for the lock, gets it once, and leaves."""

from __future__ import annotations

import threading
import time

from zkkit import Session
from zkkit.bench.designs import Takeable
from zkkit.errors import ZkkitError
from zkkit.hooks import Event, Instrument


class GateFailed(ZkkitError):
    """A run did not come to its end: nothing can be said about the law."""


class Contender(Instrument):
    """Acquires once, in a thread of its own, holds for a moment and releases."""

    def __init__(
        self, name: str, session: Session, lock: Takeable, *, hold: float, alone: bool
    ) -> None:
        """`alone`: nobody else has this session, so all that is heard there is its own. (A
        candidate stands in the background, not by the name of who waits for it.)"""
        self.name = name
        self._alone = alone
        self._session = session
        self._lock = lock
        self._hold = hold
        self._queued = threading.Event()
        self._error: BaseException | None = None
        # A daemon: after a failure the sessions are closed, which ends its waiting; but nothing
        # it does may keep the process alive.
        self._thread = threading.Thread(target=self._contend, name=name, daemon=True)

    def watch_set(self, event: Event) -> None:
        if self._alone or event.actor == self.name:
            self._queued.set()

    def woke(self, event: Event) -> None:
        if self._alone or event.actor == self.name:
            self._queued.clear()

    def queue_up(self, patience: float) -> None:
        """Begin to acquire; return when the watch is set."""
        self._session.hooks.add(self)
        self._thread.start()
        self._wait_queued(patience)

    def stay_queued(self, patience: float) -> None:
        """Return when the watch is set again, if a newcomer has fired it. To be called when no
        more newcomers come."""
        self._wait_queued(patience)
        self._session.hooks.remove(self)

    def _wait_queued(self, patience: float) -> None:
        queued = self._queued.wait(patience)
        self._raise_failure()
        if not queued:
            raise GateFailed(
                f"{self.name} set no watch on {self._lock.path} within {patience:g} s",
                hint="the servers may be overloaded or gone; try fewer contenders",
            )

    def finish(self, deadline: float) -> None:
        """Return when it has released, or say that it did not by the deadline."""
        self._thread.join(max(0.0, deadline - time.monotonic()))
        self._raise_failure()
        if self._thread.is_alive():
            raise GateFailed(
                f"{self.name} was not done with {self._lock.path} in time",
                hint="a contender that is never granted is a defect of the lock, unless the "
                "servers are overloaded or gone",
            )

    def _contend(self) -> None:
        try:
            self._lock.acquire()
            time.sleep(self._hold)
            self._lock.release()
        except BaseException as error:
            self._error = error
            self._queued.set()

    def _raise_failure(self) -> None:
        if self._error is not None:
            raise GateFailed(f"{self.name} failed: {self._error}") from self._error
