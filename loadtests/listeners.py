"""What happens when locust starts a test, ends it, and quits."""

from __future__ import annotations

import logging
import sys
from contextlib import ExitStack
from typing import Any
from weakref import WeakKeyDictionary

import gevent
from locust.env import Environment
from locust.runners import LocalRunner

from loadtests import options, results
from loadtests.interrupt import CtrlC
from loadtests.options import Wanted, WrongOption
from loadtests.trial import opened
from loadtests.users import TRIALS
from zkkit.bench.verdict import Verdict
from zkkit.errors import ZkkitError

_log = logging.getLogger("loadtests")
_FOREVER = 3600.0


def install(events: Any) -> None:
    """Have locust call us."""
    conductor = _Conductor()
    events.init_command_line_parser.add_listener(_add_options)
    events.init.add_listener(conductor.init)
    events.test_start.add_listener(conductor.test_start)
    events.test_stopping.add_listener(conductor.test_stopping)
    events.test_stop.add_listener(conductor.test_stop)
    events.quitting.add_listener(conductor.quitting)
    events.quit.add_listener(conductor.quit)


def _add_options(parser: Any, **_: Any) -> None:
    options.add_to(parser)


class _Conductor:
    """Opens a trial for each test and closes it, whatever ends the test."""

    def __init__(self) -> None:
        self._opened: WeakKeyDictionary[Environment, ExitStack] = WeakKeyDictionary()
        self._ctrl_c: CtrlC | None = None
        self._last_words = ""

    def init(self, environment: Environment, **_: Any) -> None:
        # kazoo logs every lost connection; what matters of it reaches the users as an error.
        logging.getLogger("zkkit.kazoo").setLevel(logging.CRITICAL)
        self._ctrl_c = CtrlC(environment)
        if not isinstance(environment.runner, LocalRunner):
            # Their holds would lie in several processes, and nobody would compare them.
            print(
                "loadtests: one process only: give neither --processes nor --master nor --worker",
                file=sys.stderr,
            )
            sys.exit(2)

    def test_start(self, environment: Environment, **_: Any) -> None:
        try:
            with ExitStack() as stack:
                wanted = Wanted.of(environment.parsed_options)
                trial = stack.enter_context(opened(wanted))
                self._opened[environment] = stack.pop_all()
        except ZkkitError as error:
            self._give_up(environment, error)
        TRIALS[environment] = trial
        _log.info("%d users on one %s lock at %s", max(wanted.steps), wanted.design, trial.path)

    def _give_up(self, environment: Environment, error: ZkkitError) -> None:
        """Stop the test that is about to start. An exception would be logged and forgotten."""
        text = str(error) if isinstance(error, WrongOption) else f"no test: {error}"
        _log.error(text)
        runner = environment.runner
        assert runner is not None and environment.parsed_options is not None
        if environment.parsed_options.headless:
            environment.process_exit_code = Verdict.UNKNOWN.exit_code
            gevent.spawn(runner.quit)
        else:
            gevent.spawn(runner.stop)  # on the page it can be corrected
        gevent.sleep(_FOREVER)  # until stopping the test kills this greenlet, which starts it

    def test_stopping(self, environment: Environment, **_: Any) -> None:
        """Before the users are stopped: what they do from now on is no longer measured."""
        if trial := TRIALS.get(environment):
            trial.step_ends()

    def test_stop(self, environment: Environment, **_: Any) -> None:
        """All users have stopped. May be called twice, by two greenlets that stop the test."""
        trial, stack = TRIALS.pop(environment, None), self._opened.pop(environment, None)
        if trial is None or stack is None or environment.parsed_options is None:
            return
        headless = environment.parsed_options.headless
        if headless and self._ctrl_c is not None:
            self._ctrl_c.quitting = True
        with stack:
            trial.close_sessions(lambda calls: gevent.joinall([gevent.spawn(c) for c in calls]))
            outcome = results.finish(trial)
        if outcome.code:
            environment.process_exit_code = max(environment.process_exit_code or 0, outcome.code)
        self._last_words = outcome.text
        if not headless:
            self._say_last_words()

    def quitting(self, environment: Environment, **_: Any) -> None:
        if self._ctrl_c is not None:
            self._ctrl_c.quitting = True
        if environment.runner is not None:
            # Before the exit code is chosen: locust itself stops the users only after that.
            environment.runner.stop()

    def quit(self, **_: Any) -> None:
        """After locust's own tables."""
        self._say_last_words()

    def _say_last_words(self) -> None:
        if self._last_words:
            print(self._last_words, flush=True)
        self._last_words = ""
