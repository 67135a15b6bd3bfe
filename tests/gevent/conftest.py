"""Runs the tests of recipes on gevent in a process of its own, beside the other tests: they all
wait most of the time, so the waiting overlaps. It starts with the first test; the tests that ask
how it ended come last, and its slowest are shown with everybody's."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile

import pytest

HERE = Path(__file__).parent
FAMILIES = [
    str(HERE.parent / name)
    for name in ("locks", "elections", "barriers", "counters", "watchers", "caches")
]
"""The directories of tests that run on every front: a new family of recipes adds its own."""

PATIENCE = 450.0
"""Seconds; from the moment on when nothing else is left to do."""

PATCHED = (
    "from gevent import monkey; monkey.patch_all()\n"
    "import sys, pytest\n"
    "sys.exit(pytest.main(sys.argv[1:]))"
)


class Suite:
    """The tests of recipes in a process that is patched from its first line, on its own servers."""

    def __init__(self, marks: str) -> None:
        self._output = TemporaryFile()  # noqa: SIM115  (closed at the end of the session)
        options = ("-q", "-p", "no:cacheprovider", "--durations=10", "--durations-min=0.5")
        self._process = subprocess.Popen(
            [sys.executable, "-c", PATCHED, *FAMILIES, "-m", marks, *options],
            env={**os.environ, "ZKKIT_TEST_FRONTS": "gevent"},
            cwd=HERE.parent.parent,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
        )

    def wait(self) -> int:
        """Its exit code."""
        return self._process.wait(PATIENCE)

    @property
    def said(self) -> str:
        """All that it has said so far."""
        size = os.fstat(self._output.fileno()).st_size
        # not by reading: the process writes where this file's position is
        return os.pread(self._output.fileno(), size, 0).decode()

    @property
    def slowest(self) -> list[str]:
        """Its slowest tests, and what it says last."""
        lines = self.said.splitlines()
        return [line for line in lines if re.match(r"[\d.]+s ", line)] + lines[-1:]

    def end(self) -> None:
        """End it, if it has not ended."""
        self._process.kill()
        self._process.wait()
        self._output.close()


SUITES = pytest.StashKey[dict[str, Suite]]()


def _marks(item: pytest.Item) -> str | None:
    """Which of the recipes' tests this one asks about, if it does."""
    here = item.path.parent == HERE and isinstance(item, pytest.Function)
    return item.callspec.params["suite"] if here and hasattr(item, "callspec") else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: _marks(item) is not None)  # stable: the others keep their order


def pytest_collection_finish(session: pytest.Session) -> None:
    suites = session.config.stash[SUITES] = {}
    if not session.config.option.collectonly:
        for marks in filter(None, map(_marks, session.items)):
            suites[marks] = Suite(marks)


@pytest.fixture
def suite(request: pytest.FixtureRequest) -> Iterator[Suite]:
    """The tests of recipes on gevent, under way since the first test."""
    yield request.config.stash[SUITES][request.param]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    for marks, suite in config.stash.get(SUITES, {}).items():
        terminalreporter.section(f"slowest of the recipes on gevent ({marks})")
        for line in suite.slowest:
            terminalreporter.write_line(line)


def pytest_unconfigure(config: pytest.Config) -> None:
    for suite in config.stash.get(SUITES, {}).values():
        suite.end()
