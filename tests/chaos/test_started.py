"""A process is told from a later one that has its number."""

from __future__ import annotations

import os
import subprocess
import sys

from zkkit.chaos.crew import Started


def test_a_process_lives_until_it_has_ended() -> None:
    """While it runs it is alive, and afterwards it is not."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        started = Started.now(process.pid)
        assert started.alive
        process.communicate(b"\n")
    assert not started.alive


def test_a_later_process_with_its_number_is_another_one() -> None:
    """One that began at another time has only the number of ours."""
    us = Started.now(os.getpid())
    assert us.alive
    assert us.began and not us._replace(began="1").alive
