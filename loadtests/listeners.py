"""What happens when locust starts a test, ends it, and quits."""

from __future__ import annotations

import logging
import sys
from contextlib import ExitStack
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

import gevent
from gevent.event import Event
from locust.env import Environment

from loadtests import interrupt, options
from loadtests.experiment import finish
from loadtests.interrupt import CtrlC
from loadtests.options import LoadOptions, WrongOption
from loadtests.trial import LoadTrial, opened
from loadtests.users import TRIALS
from zkkit.bench.kit.judgement import BROKEN, UNKNOWN
from zkkit.errors import ZkkitError

_log = logging.getLogger("loadtests")
_FOREVER = 3600.0


@cache
def install(events: Any) -> None:
    """Have locust call us; once, though a locustfile that is run by itself is loaded twice."""
    interrupt.before_anything_runs()
    conductor = _Conductor()
    events.init_command_line_parser.add_listener(_add_options)
    for name in ("init", "test_start", "test_stopping", "test_stop", "quitting", "quit"):
        getattr(events, name).add_listener(getattr(conductor, name))


def _add_options(parser: Any, **_: Any) -> None:
    options.add_to(parser)
    options.check(parser)


class _Conductor:
    """Opens a trial for each test and closes it, whatever ends the test. Its public methods are
    called by locust at the events of the same names."""

    def __init__(self) -> None:
        self._opened: WeakKeyDictionary[Environment, ExitStack] = WeakKeyDictionary()
        self._ctrl_c: CtrlC  # from init on, which locust calls first
        self._idle = Event()  # set while no test is being stopped
        self._idle.set()
        self._judged = False
        self._last_words = ""
        self._out = sys.stdout

    def init(self, environment: Environment, **_: Any) -> None:
        # kazoo logs every lost connection; what matters of it reaches the users as an error.
        logging.getLogger("zkkit.kazoo").setLevel(logging.CRITICAL)
        self._ctrl_c = CtrlC(environment, self._idle)
        assert environment.parsed_options is not None
        environment.host = options.servers_of(environment.parsed_options)  # for the page
        if environment.parsed_options.json:  # what locust prints then is for programs
            self._out = sys.stderr

    def test_start(self, environment: Environment, **_: Any) -> None:
        try:
            with ExitStack() as stack:
                wanted = LoadOptions.of(environment.parsed_options)
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
            environment.process_exit_code = UNKNOWN
            gevent.spawn(runner.quit)
        else:
            gevent.spawn(runner.stop)  # on the page it can be corrected
        gevent.sleep(_FOREVER)  # until stopping the test kills this greenlet, which starts it

    def test_stopping(self, environment: Environment, **_: Any) -> None:
        """End the step before the users are stopped: what they do now is no longer measured."""
        self._idle.clear()
        if trial := TRIALS.get(environment):
            trial.step_ends()

    def test_stop(self, environment: Environment, **_: Any) -> None:
        """Judge the test: all users have stopped. It may be called twice, by two greenlets that
        stop the test."""
        trial, stack = TRIALS.pop(environment, None), self._opened.pop(environment, None)
        try:
            if trial is not None and stack is not None:
                with stack:
                    self._close(environment, trial)
        finally:
            self._idle.set()

    def _close(self, environment: Environment, trial: LoadTrial) -> None:
        """Judge the trial, and keep its last words for when locust has had its own."""
        assert environment.parsed_options is not None
        # Ended by locust's end, and neither by itself nor by a click on the page.
        interrupted = self._ctrl_c.struck or self._ctrl_c.quitting
        headless = environment.parsed_options.headless
        self._ctrl_c.quitting |= headless
        trial.close_sessions(lambda calls: gevent.joinall([gevent.spawn(c) for c in calls]))
        self._last_words, code = finish(trial, interrupted=interrupted)
        self._judged = True
        if code and environment.process_exit_code != BROKEN:
            environment.process_exit_code = code
        if not headless:
            self._say_last_words()

    def quitting(self, environment: Environment, **_: Any) -> None:
        assert environment.runner is not None
        self._ctrl_c.quitting = True
        # Before the exit code is chosen: locust itself stops the users only after that.
        environment.runner.stop()
        self._idle.wait()  # if a click on the page is stopping the test
        if not self._judged and environment.process_exit_code is None:
            environment.process_exit_code = UNKNOWN
            self._last_words = "Unknown: no test was made."

    def quit(self, **_: Any) -> None:
        """Say our last words: locust has printed its own tables."""
        self._say_last_words()
        self._ctrl_c.over()

    def _say_last_words(self) -> None:
        if self._last_words:
            print(self._last_words, file=self._out, flush=True)
        self._last_words = ""
