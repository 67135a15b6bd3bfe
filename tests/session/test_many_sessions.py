"""Many sessions in one process: each of them works, and together they cost little."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import zkkit
from zkkit.testing import Proxy, eventually

MANY = 1000
SOME = 200
FRONTS = ["threads", "asyncio"]
MOMENTS = ("before", "idle", "used")

Fact = dict[str, Any]


class Sessions:
    """A process of its own with so many sessions (many.py)."""

    def __init__(self, front: str, hosts: str, path: str, count: int) -> None:
        program = str(Path(__file__).with_name("many.py"))
        self._process = subprocess.Popen(
            [sys.executable, program, front, hosts, path, str(count)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def has(self, moment: str) -> Fact:
        """What the process has at its next moment, which is this one."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the process has ended"
        fact: Fact = json.loads(line)
        assert fact["moment"] == moment
        print(line.strip())
        return fact

    def do(self, order: str) -> Fact:
        """What the process has when it has obeyed."""
        assert self._process.stdin is not None
        print(order, file=self._process.stdin, flush=True)
        return self.has(order)

    def close(self, before: Fact) -> None:
        """Close all sessions. Soon the process has what it had before them, and then it ends."""
        self.do("close")
        self.comes_to(lambda fact: all(fact[of] == before[of] for of in ("threads", "files")))
        self._process.communicate(timeout=30.0)
        assert self._process.returncode == 0

    def comes_to(self, judge: Callable[[Fact], bool]) -> None:
        """Soon the process has no more than this. (Threads that have ended are counted for a moment
        after they were joined.)"""
        facts: list[Fact] = []

        def right() -> bool:
            facts.append(self.do("count"))
            return judge(facts[-1])

        eventually(right, 10.0, otherwise=lambda: facts[-1])

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def in_one_process(
    zk_path: str, zk_hosts: str, other: zkkit.Session
) -> Iterator[Callable[..., Sessions]]:
    """`in_one_process(front, count)` starts so many sessions in a process of their own."""
    started: list[Sessions] = []
    other.create(zk_path)

    def start(front: str, count: int, hosts: str = zk_hosts) -> Sessions:
        started.append(Sessions(front, hosts, zk_path, count))
        return started[-1]

    yield start
    for each in started:
        each.kill()


@pytest.mark.slow
@pytest.mark.parametrize("front", FRONTS)
def test_a_thousand_sessions(in_one_process: Callable[..., Sessions], front: str) -> None:
    """Each of them writes and reads; the figures are loose bounds of what all of them take. When
    they are closed, nothing is left. (With -rP pytest shows the figures.)"""
    sessions = in_one_process(front, MANY)
    before, idle, used = (sessions.has(moment) for moment in MOMENTS)
    for fact in (idle, used):
        assert fact["files"] - before["files"] <= 1.5 * MANY
        assert fact["kilobytes"] - before["kilobytes"] <= 250 * MANY
    sessions.close(before)


@pytest.mark.parametrize(
    ("front", "count"),
    [
        (FRONTS[0], SOME),
        *(pytest.param(front, SOME, marks=pytest.mark.slow) for front in FRONTS[1:]),
        *(pytest.param(front, MANY, marks=pytest.mark.slow) for front in FRONTS),
    ],
)
def test_threads_do_not_grow_with_the_sessions(
    in_one_process: Callable[..., Sessions], front: str, count: int
) -> None:
    """Sessions that wait share their threads."""
    sessions = in_one_process(front, count)
    before, idle, _ = (sessions.has(moment) for moment in MOMENTS)
    assert idle["threads"] <= 20, idle["names"]
    sessions.do("again")
    sessions.comes_to(lambda fact: fact["threads"] <= 20)
    sessions.close(before)


@pytest.mark.parametrize(
    "front", [FRONTS[0], *(pytest.param(each, marks=pytest.mark.slow) for each in FRONTS[1:])]
)
def test_all_come_back_when_they_lose_their_server(
    in_one_process: Callable[..., Sessions], zk_proxy: Proxy, front: str
) -> None:
    """Two hundred sessions of one process lose their server at once and find nobody for a while.
    When it is there again, each of them goes on as the session it was."""
    sessions = in_one_process(front, SOME, zk_proxy.hosts)
    before, _, _ = (sessions.has(moment) for moment in MOMENTS)
    zk_proxy.cut()
    sessions.do("suspended")
    zk_proxy.mend()
    sessions.do("again")
    sessions.close(before)
