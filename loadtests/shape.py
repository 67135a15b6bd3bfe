"""The load in held steps: a step begins when its users are running *and* have their sessions."""

from __future__ import annotations

import logging
import time
from typing import Any

from locust import LoadTestShape

from loadtests.schedule import PATIENCE, StepEvent, Steps
from loadtests.trial import LoadTrial
from loadtests.turns import MOST
from loadtests.users import TRIALS

_log = logging.getLogger("loadtests")


class HeldSteps(LoadTestShape):
    """`--steps` (or one step of `--users`), each held for `--run-time`."""

    # So that --users, --spawn-rate and --run-time mean something, on the web page too.
    use_common_options = True

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # locust's is not typed
        self._trial: LoadTrial | None = None
        self._steps: Steps | None = None

    def tick(self) -> Any:
        """Called by locust about once a second: (users, users a second), or None to stop."""
        assert self.runner is not None
        options: Any = self.runner.environment.parsed_options
        trial = TRIALS.get(self.runner.environment)
        if trial is None:
            # The servers are being started, by the listener of this very start; or could not be.
            return (_first(options), options.spawn_rate or 1)
        if trial is not self._trial:
            wanted = trial.wanted
            spawning = max(wanted.steps) / wanted.spawn_rate
            self._trial = trial
            self._steps = Steps(wanted.steps, wanted.seconds, patience=PATIENCE + spawning)
        assert self._steps is not None
        if trial.full:
            _log.warning("%d turns are recorded, no more are kept: the test ends", MOST)
            return None
        now = self._steps.tick(time.monotonic(), self.runner.user_count, trial.connected)
        return self._follow(trial, now.kind, now.users)

    def _follow(self, trial: LoadTrial, kind: StepEvent, users: int) -> tuple[int, float] | None:
        if kind is StepEvent.BEGINS:
            trial.step_begins(users)
            _log.info("step begins: %d users are connected", users)
        if kind in (StepEvent.ENDS, StepEvent.OVER):
            trial.step_ends()
            _log.info("step ends")
        if kind is StepEvent.OVER:
            trial.all_held()
            return None
        if kind is StepEvent.HOPELESS:
            _log.error(
                "%d users were wanted, %d have a session: this step cannot begin",
                users,
                trial.connected,
            )
            return None
        return users, trial.wanted.spawn_rate


def _first(options: Any) -> int:
    steps = str(options.steps).split(",")[0].strip()
    return int(steps) if steps.isdecimal() else (options.num_users or 1)
