"""What elections cost: flights, fires and requests, counted on both sides of the wire."""

from __future__ import annotations

import pytest

from tests.elections.kinds import LATCH, every_kind, leads, over, stand
from tests.support.flights import flights, recorded, spent
from zkkit.record.counts import fires
from zkkit.session.board import BOARD
from zkkit.testing import eventually


@over(LATCH)
def test_start(front, kind, zk_proxy, zk_path, witness):
    """One flight to stand, the leader told after it, and one for the watch. Closing: one."""
    witness.create(zk_path)
    with front.session(zk_proxy.hosts) as session:
        recorder, before = recorded(session), zk_proxy.requests
        latch = stand(front, kind.make(session, zk_path))
        leads(front, latch)
        assert spent(zk_proxy, before) == {"create": 1, "children": 1, "get": 1}
        assert flights(recorder) == 2
        front.call(lambda: latch.close())
        assert flights(recorder) == 3


def test_parents_missing(front, zk_proxy, zk_path):
    """One flight more."""
    with front.session(zk_proxy.hosts) as session:
        recorder = recorded(session)
        latch = stand(front, LATCH.make(session, zk_path))
        leads(front, latch)
        assert flights(recorder) == 3
        front.call(lambda: latch.close())


@every_kind
def test_a_change_of_leaders(front, kind, zk_hosts, zk_proxy, zk_path, when):
    """The next leader hears one fire, leads, and watches its node by one flight; in a herd it has
    to create its node first. All others sleep on, where it is no herd."""
    with (
        front.session(zk_hosts) as first,
        front.session(zk_proxy.hosts) as second,
        front.session(zk_hosts) as third,
    ):
        leader, other, last = (
            stand(front, kind.make(each, zk_path)) for each in (first, second, third)
        )
        leads(front, leader)
        watched = when(second, watch_set=1)
        recorder, asleep = recorded(second), recorded(third)
        before = zk_proxy.requests
        front.call(lambda: leader.close())
        eventually(lambda: other.is_leader or last.is_leader)
        watched.wait()
        assert len(fires(recorder)) == 1
        assert flights(recorder) == (1 if kind is LATCH else 2)
        if kind is LATCH:
            assert other.is_leader
            assert spent(zk_proxy, before) == {"get": 1}
            assert flights(asleep) == 0 and not fires(asleep)
        else:
            assert len(fires(asleep)) == 1, "a herd that does not wake"


@pytest.mark.parametrize("forget", [False, True], ids=["posted", "the post is lost"])
def test_a_second_change_of_leaders(front, zk_hosts, zk_proxy, zk_path, when, forget):
    """The last of three had two ahead. It leads without a look, for the second one has told all in
    the process that it was the first; else it looks."""
    with (
        front.session(zk_hosts) as one,
        front.session(zk_hosts) as two,
        front.session(zk_proxy.hosts) as three,
    ):
        first, second, third = (
            stand(front, LATCH.make(each, zk_path)) for each in (one, two, three)
        )
        leads(front, first)
        front.call(lambda: first.close())
        leads(front, second)
        if forget:
            BOARD.post(zk_path, "another election of this name")
        watched = when(three, watch_set=1)
        recorder, before = recorded(three), zk_proxy.requests
        front.call(lambda: second.close())
        leads(front, third)
        watched.wait()
        assert len(fires(recorder)) == 1
        assert flights(recorder) == (2 if forget else 1)
        assert spent(zk_proxy, before) == ({"children": 1, "get": 1} if forget else {"get": 1})


def test_participants(front, zk_proxy, zk_path, witness):
    """Two flights, however many there are; one request for each of them."""
    with front.session(zk_proxy.hosts) as session:
        latches = [stand(front, LATCH.make(session, zk_path)) for _ in range(4)]
        recorder, before = recorded(session), zk_proxy.requests
        assert len(front.call(lambda: latches[0].participants())) == 4
        assert flights(recorder) == 2
        assert spent(zk_proxy, before) == {"children": 1, "get": 4}


def test_terms_leave_nothing(front, zk_hosts, zk_path, left_clean):
    """What the session notes of a candidate goes with it."""
    with front.session(zk_hosts) as session:
        for _ in range(20):
            latch = stand(front, LATCH.make(session, zk_path))
            leads(front, latch)
            front.call(lambda: latch.close())  # noqa: B023
        engine = session._runner._engine
        assert not engine._heeding
        assert len(engine.runs) == 0
        left_clean(zk_path)
