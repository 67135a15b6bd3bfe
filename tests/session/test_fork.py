"""A process forks while it has sessions at work. (What a copy refuses is in test_closing.)"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import zkkit
from zkkit.session.platforms import threads
from zkkit.session.worker import Worker
from zkkit.testing import Proxy, eventually


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
@pytest.mark.parametrize("front", ["threads", "asyncio", "gevent"])
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


@pytest.mark.parametrize("moment", ["between two tries", "waiting for a server"])
def test_a_copy_of_the_greenlet_that_connects(
    through: zkkit.Session, zk_proxy: Proxy, moment: str
) -> None:
    """It ends, and nobody is told anything. (On threads, where the test can play the fork.)"""
    handler: Any = through._transport._handler  # type: ignore[attr-defined]
    if moment == "between two tries":
        zk_proxy.cut()
    else:
        zk_proxy.freeze()
        zk_proxy.drop()
    eventually(lambda: through.state == "suspended")
    handler.forked()
    zk_proxy.mend()
    zk_proxy.thaw()
    handler._connection_routine.join(10.0)
    assert not handler._connection_routine.is_alive()
    assert through.state == "suspended"
    assert handler.connection_stopped.is_set()  # whoever stops the copy waits for nothing


def test_a_copy_of_a_worker() -> None:
    """It calls nothing more: neither a timer nor what was queued."""
    worker, begun = Worker(threads(), "worker"), threading.Event()
    called: list[int] = []
    worker.soon(begun.set)
    assert begun.wait(5.0)
    running = worker._running
    worker.forked()
    worker.soon(lambda: called.append(1))
    running.join(5.0)
    assert not running.is_alive() and not called
