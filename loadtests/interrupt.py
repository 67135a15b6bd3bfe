"""Ctrl-C (and SIGTERM) in a process of greenlets.

Python raises KeyboardInterrupt in whatever code happens to run, which here may be any greenlet:
in the middle of a session's work, or in the code that closes it. So SIGINT is taken by the event
loop instead. It reaches the main greenlet, and that only where it waits; locust does the rest.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import gevent
from gevent.event import Event

from zkkit.bench.kit.judgement import UNKNOWN


def before_anything_runs() -> None:
    """Let Ctrl-C end the process with a sentence, until there is something to stop."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _too_early)


def _too_early(*_: Any) -> None:
    print("loadtests: interrupted before the start; the verdict is unknown", file=sys.stderr)
    sys.stderr.flush()
    os._exit(UNKNOWN)  # an exception might be taken for one of an import


class CtrlC:
    """Hands the first Ctrl-C to locust's main greenlet; while it is being obeyed, only says so.

    `idle` is set while no test is being stopped: what stops one must not be disturbed.
    """

    def __init__(self, environment: Any, idle: Event) -> None:
        self._options = environment.parsed_options
        self._idle = idle
        self._main = gevent.getcurrent()
        self.struck = False
        self.quitting = False
        gevent.signal_handler(signal.SIGINT, self._strike)
        if self._options.headless:
            # locust takes SIGTERM itself, but with a shape only after the shape's end.
            gevent.signal_handler(signal.SIGTERM, self._strike)

    def over(self) -> None:
        """All is said: from now on Ctrl-C could only spoil the exit code."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def _strike(self) -> None:
        if self.struck or self.quitting or (self._options.headless and not self._idle.is_set()):
            print("Stopping already: the sessions are being closed.", file=sys.stderr)
            return
        self.struck = True
        # With --autostart locust would stop the test and leave its page running.
        self._options.autoquit = 0
        gevent.spawn(self._interrupt)

    def _interrupt(self) -> None:
        self._idle.wait()
        if not self.quitting:
            gevent.kill(self._main, KeyboardInterrupt)
