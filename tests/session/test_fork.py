"""A process forks while it has sessions at work. (What a copy refuses is in test_closing.)"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import zkkit


@pytest.fixture
def forked(
    zk_hosts: str, zk_path: str, other: zkkit.Session
) -> Callable[[str, str], subprocess.CompletedProcess[str]]:
    """`forked(front, child)`: how a process fares that forks such children (forking.py)."""
    other.create(zk_path)
    program = str(Path(__file__).with_name("forking.py"))

    def run(front: str, child: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-W", "ignore", program, front, zk_hosts, zk_path, child],
            capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip

    return run


@pytest.mark.concurrent
@pytest.mark.parametrize("front", ["threads", "asyncio"])
def test_fork_while_sessions_are_at_work(forked: Any, front: str) -> None:
    """The parent's sessions go on without a change of state, whatever the children do to their
    copies; a child's own session works."""
    done = forked(front, "careful")
    assert (done.returncode, done.stdout.strip()) == (0, "fine"), done.stderr


@pytest.mark.parametrize("front", ["threads", "asyncio"])
def test_a_careless_child_is_noticed(forked: Any, front: str) -> None:
    """The test above would find a child that does harm to its parent's connections."""
    done = forked(front, "careless")
    assert done.returncode and "fine" not in done.stdout
