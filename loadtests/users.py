"""An abstract locust user with a ZooKeeper session of its own."""

from __future__ import annotations

import time
from weakref import WeakKeyDictionary

from locust import User
from locust.env import Environment

from loadtests.trial import CONNECT_TIMEOUT, LoadTrial, session_for
from loadtests.turns import user_name
from zkkit import Session
from zkkit.errors import ZkkitError

TRIALS: WeakKeyDictionary[Environment, LoadTrial] = WeakKeyDictionary()
"""The trial under way in each of locust's environments."""


class ZkUser(User):
    """Opens a session when it starts and closes it when it stops, so that no contender stays.

    Nothing here catches more than a ZkkitError: GreenletExit and gevent.Timeout are no Exceptions
    for good reason, and a user that swallows one never stops.
    """

    abstract = True

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        self.trial = TRIALS[environment]
        self.number = next(self.trial.numbers)
        self.session: Session | None = None
        """None if no server gave us one."""

    def on_start(self) -> None:
        began = time.monotonic_ns()
        try:
            self.session = session_for(
                self.trial.servers.hosts, user_name(self.number), 2 * CONNECT_TIMEOUT
            )
        except ZkkitError as error:
            # Not raised: what on_start raises, locust logs with a traceback for each user.
            self.report("session.open", time.monotonic_ns() - began, error)
            return
        self.report("session.open", time.monotonic_ns() - began)
        self.trial.arrived(self.number, self.session)

    def on_stop(self) -> None:
        if self.session is not None:
            self.session.close()
        self.trial.left(self.number)  # after closing: whoever is killed in it is closed later

    def report(self, name: str, ns: int, error: ZkkitError | None = None) -> None:
        """Tell locust of a request. (Not by `events.request.measure`: it swallows exceptions.)"""
        if error is not None:
            self.trial.failures[error.message] += 1
        self.environment.events.request.fire(
            request_type=self.trial.wanted.design,
            name=name,
            response_time=ns / 1e6,
            response_length=0,
            exception=error,
            context=self.context(),
        )
