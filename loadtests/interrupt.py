"""Ctrl-C (and SIGTERM) in a process of greenlets.

Python raises KeyboardInterrupt in whatever code happens to run, which here may be any greenlet:
in the middle of a session's work, or in the code that closes it. So SIGINT is taken by the event
loop instead. It reaches the main greenlet, and that only where it waits; locust does the rest.
"""

from __future__ import annotations

import signal
import sys
from typing import Any

import gevent


class CtrlC:
    """Hands Ctrl-C to locust's main greenlet; while the test is being stopped, only says so."""

    def __init__(self, environment: Any) -> None:
        self._environment = environment
        self._main = gevent.getcurrent()
        self.quitting = False
        gevent.signal_handler(signal.SIGINT, self._struck)
        if environment.parsed_options.headless:
            # locust takes SIGTERM itself, but with a shape only after the shape's end.
            gevent.signal_handler(signal.SIGTERM, self._struck)

    def _struck(self) -> None:
        runner = self._environment.runner
        if self.quitting or (runner is not None and runner.state in ("cleanup", "stopping")):
            print("Stopping already: the sessions are being closed.", file=sys.stderr)
            return
        gevent.kill(self._main, KeyboardInterrupt)
