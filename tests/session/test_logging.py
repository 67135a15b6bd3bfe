"""kazoo's own log lines: silent by default, there for those who ask for them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FAILS = """
import zkkit
try:
    zkkit.connect("127.0.0.1:1", connect_timeout=0.5)
except zkkit.errors.ConnectFailed as error:
    print(error)
"""
CONFIGURED = "import logging; logging.basicConfig(format='%(name)s: %(message)s')\n"


def run(code: str, **where: Path) -> subprocess.CompletedProcess[str]:
    """A program in a fresh process: logging is as Python leaves it."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        **where,  # type: ignore[arg-type]
    )
    assert done.returncode == 0, done.stderr
    return done


def test_no_log_line_before_a_clear_error() -> None:
    """Whoever has not configured logging sees the error that says it all, and nothing else."""
    done = run(FAILS)
    assert "gave us a session within" in done.stdout
    assert done.stderr == ""


def test_who_configures_logging_sees_kazoo() -> None:
    """Nobody is muted: a handler on the root gets kazoo's warnings, under our name for them."""
    assert "zkkit.kazoo: not connected" in run(CONFIGURED + FAILS).stderr


@pytest.mark.slow
def test_the_tour_shows_what_it_prints_and_nothing_else(tmp_path: Path) -> None:
    """The README's tour kills a leader; its reader sees the four lines the tour prints."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    tour = re.findall(r"^```python\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)[0]
    done = run(tour, cwd=tmp_path)
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 4
    assert (tmp_path / "events.jsonl").exists()
