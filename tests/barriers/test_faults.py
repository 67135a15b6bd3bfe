"""Barriers and what befalls servers and clients: a leader is killed, a client stands still."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.support.rooms import finish
from zkkit import Barrier, DoubleBarrier
from zkkit.errors import NotInside, SessionLost
from zkkit.testing import eventually, throughout


class Steps:
    """How far each member has come; notices who is a round ahead."""

    def __init__(self, members: int) -> None:
        self._guard = threading.Lock()
        self._members = members
        self._arrived: dict[int, int] = {}
        self._leaving: dict[int, int] = {}
        self.early: list[str] = []

    def arrives(self, number: int) -> None:
        with self._guard:
            self._arrived[number] = self._arrived.get(number, 0) + 1

    def inside(self, number: int) -> None:
        with self._guard:
            if self._arrived.get(number, 0) < self._members:
                self.early.append(f"in at round {number}")

    def leaves(self, number: int) -> None:
        with self._guard:
            self._leaving[number] = self._leaving.get(number, 0) + 1

    def out(self, number: int) -> None:
        with self._guard:
            if self._leaving.get(number, 0) < self._members:
                self.early.append(f"out at round {number}")


@pytest.mark.slow
@pytest.mark.front("threads", "asyncio")
def test_a_leader_is_killed_while_members_go_round(
    front, zk_ensemble, zk_hosts, open_session, zk_path, left_clean
):
    """Three members go round after round; the leader is killed and comes back. Nobody is ever a
    round ahead, and all get through."""
    count, rounds = 3, 30
    steps = Steps(count)
    jobs: list[Any] = []
    half = threading.Event()
    for _ in range(count):
        barrier = DoubleBarrier(open_session(timeout=20.0), zk_path, count)
        actor = front.actor()
        for number in range(rounds):
            jobs.append(actor.begin(lambda n=number: steps.arrives(n)))
            jobs.append(actor.begin(barrier.enter))
            jobs.append(actor.begin(lambda n=number: steps.inside(n)))
            jobs.append(actor.begin(lambda n=number: (steps.leaves(n), n == 5 and half.set())))
            jobs.append(actor.begin(barrier.leave))
            jobs.append(actor.begin(lambda n=number: steps.out(n)))
    leader = zk_ensemble.leader()
    assert half.wait(30)
    zk_ensemble.kill(leader)
    finish(jobs)
    zk_ensemble.restart(leader)
    assert steps.early == []
    left_clean(zk_path)


@pytest.mark.slow
@pytest.mark.front("threads")
def test_a_leader_is_killed_while_some_wait_at_a_gate(
    front, zk_ensemble, open_session, zk_path, waits, left_clean
):
    """They outlive it: none passes, and all pass when it is opened."""
    opener, *others = (open_session(timeout=20.0) for _ in range(4))
    gate = Barrier(opener, zk_path)
    front.call(lambda: gate.set())
    passed = [waits(other, Barrier(other, zk_path).wait) for other in others]
    leader = zk_ensemble.leader()
    zk_ensemble.kill(leader)
    throughout(lambda: not any(each.done() for each in passed), 1.0)
    front.call(lambda: gate.remove())
    assert finish(passed) == [True] * 3
    zk_ensemble.restart(leader)
    left_clean(zk_path)


@pytest.mark.slow
@pytest.mark.front("threads")
def test_a_member_stands_still_for_longer_than_its_session(
    front, zk_proxy, open_session, zk_path, left_clean
):
    """Inside, cut off from the servers: the others leave when its session has expired, and not
    before; it is told when it leaves."""
    still, other = open_session(zk_proxy.hosts, timeout=2.0), open_session()
    one, two = DoubleBarrier(still, zk_path, 2), DoubleBarrier(other, zk_path, 2)
    first, second = front.actors(2)
    assert finish([first.begin(one.enter), second.begin(two.enter)]) == [True, True]
    zk_proxy.freeze()
    leaving = second.begin(two.leave)
    throughout(lambda: not leaving.done(), 0.5)
    assert leaving.result(20) is True
    zk_proxy.thaw()
    eventually(lambda: still.state == "connected")
    with pytest.raises((NotInside, SessionLost)):
        first.call(one.leave)
    left_clean(zk_path)
