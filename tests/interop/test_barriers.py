"""Barriers shared with Java."""

from __future__ import annotations

import pytest

from tests.interop.sides import PATIENCE
from zkkit.testing import eventually

pytestmark = pytest.mark.interop


def test_who_opens_lets_both_through(order, zk_path, awaited):
    """Set by one side, waited at by both, removed by the other."""
    setter, remover, *waiters = (order().barrier(zk_path) for _ in range(4))
    setter.set()
    setter.set()  # it is set already
    waiting = []
    for waiter in waiters:
        eventually(lambda one=waiter: not one.begin_wait(0.1).result(PATIENCE))
        waiting.append(waiter.begin_wait())
    assert awaited(zk_path)
    assert not any(each.done() for each in waiting)
    remover.remove()
    assert all(each.result(PATIENCE) for each in waiting)
    assert eventually(lambda: waiters[0].begin_wait(0.2).result(PATIENCE))  # nothing to wait for
    remover.remove()  # it is gone already


@pytest.mark.concurrent
def test_a_clean_round_of_a_double_barrier(order, python, zk_path):
    """Two of each language, Curator's layout: nobody is in before the last one has come, nobody out
    before the last one leaves, and nothing is left behind."""
    looker = python()
    members = [order().double_barrier(zk_path, 4) for _ in range(4)]
    entering = []
    for place, member in enumerate(members[:-1], 1):
        entering.append(member.begin_enter())
        assert eventually(lambda wanted=place: len(looker.names(zk_path)) == wanted)
    assert not any(each.done() for each in entering)
    entering.append(members[-1].begin_enter())
    assert [each.result(PATIENCE) for each in entering] == [True] * 4
    assert "ready" in looker.names(zk_path)
    leaving = [member.begin_leave() for member in members[:-1]]
    assert eventually(lambda: len(set(looker.names(zk_path)) - {"ready"}) <= 2)
    assert not any(each.done() for each in leaving)
    leaving.append(members[-1].begin_leave())
    assert [each.result(PATIENCE) for each in leaving] == [True] * 4
    assert eventually(lambda: not looker.names(zk_path))


def test_another_layout_is_caught(python, java, zk_path):
    """The broken twin: in the layout of our own we do not see Java's `ready`, and stay outside."""
    theirs = java().double_barrier(zk_path, 2).begin_enter()
    ours = python().double_barrier(zk_path, 2, layout="zkkit")
    assert not ours.begin_enter(0.5).result(PATIENCE)
    assert theirs.result(PATIENCE)  # it has counted us


def test_a_missing_member_lets_nobody_in(order, zk_path):
    """Three where one of each language comes: both give up when their time is over."""
    entering = [order().double_barrier(zk_path, 3).begin_enter(0.4) for _ in range(2)]
    assert [each.result(PATIENCE) for each in entering] == [False, False]
