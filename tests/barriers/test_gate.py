"""What Barrier promises, on every front; and kazoo's own, where it can be asked."""

from __future__ import annotations

import pytest

from tests.barriers.kinds import GATE, KAZOO_GATE, breaks, keeps, over
from tests.support.ensembles import watches
from tests.support.flights import flights, recorded
from zkkit import Barrier
from zkkit.errors import Cancelled, SessionClosed
from zkkit.testing import eventually, expire_session

PATIENCE = 5.0


@over(GATE, keeps(KAZOO_GATE))
def test_an_open_barrier(front, kind, open_session, zk_path, zk_ensemble):
    """Nobody has closed it: one passes at once, and leaves no watch."""
    session = open_session()
    assert front.call(lambda: kind.make(session, zk_path).wait()) is True
    if kind is GATE:
        assert watches(zk_ensemble) == 0


@pytest.mark.concurrent
@over(GATE, keeps(KAZOO_GATE))
def test_all_pass_when_it_is_opened(front, kind, open_session, zk_path, waits, left_clean):
    """Those who wait, in several sessions, pass when it is opened and not before."""
    opener, *others = (open_session() for _ in range(3))
    gate = kind.make(opener, zk_path)
    front.call(lambda: gate.set())
    passed = [waits(other, kind.make(other, zk_path).wait) for other in others for _ in range(2)]
    assert not any(each.done() for each in passed)
    front.call(lambda: gate.remove())
    assert [each.result(PATIENCE) for each in passed] == [True] * 4
    left_clean(zk_path)


@over(GATE, keeps(KAZOO_GATE))
def test_twice_is_once(front, kind, open_session, zk_path, witness):
    """It may be closed already, or open already."""
    gate = kind.make(open_session(), zk_path)
    for _ in range(2):
        front.call(lambda: gate.set())
        assert witness.exists(zk_path)
    for _ in range(2):
        front.call(lambda: gate.remove())
        assert not witness.exists(zk_path)


@pytest.mark.defect("K-9")
@over(GATE, breaks(KAZOO_GATE, "K-9 (#175, #413): no removeWatches, so watches stay"))
def test_a_deadline(front, kind, open_session, zk_path, clock, zk_ensemble):
    """Gives False in time, and leaves no watch."""
    session = open_session()
    gate = kind.make(session, zk_path)
    front.call(lambda: gate.set())
    began = clock()
    assert front.call(lambda: gate.wait(0.3)) is False
    assert 0.25 < clock() - began < 1.5
    assert eventually(lambda: watches(zk_ensemble) == 0, 2)


def test_a_deadline_on_frozen_servers(front, open_session, zk_path, zk_proxy, clock, left_clean):
    session = open_session(zk_proxy.hosts)
    gate = Barrier(session, zk_path)
    front.call(lambda: gate.set())
    zk_proxy.freeze()
    began = clock()
    assert front.call(lambda: gate.wait(timeout=0.3)) is False
    assert clock() - began < 1.5
    zk_proxy.thaw()
    front.call(lambda: gate.remove())
    left_clean(zk_path)


@pytest.mark.defect("K-8")
@pytest.mark.concurrent
@over(GATE, breaks(KAZOO_GATE, "K-8: it waits for ever after a drop"))
def test_a_dropped_connection(front, kind, open_session, zk_path, zk_proxy, waits, witness):
    """A waiter outlives it: also if the barrier was opened meanwhile."""
    session = open_session(zk_proxy.hosts)
    witness.create(zk_path)
    gate = kind.make(session, zk_path)
    passed = waits(session, lambda: gate.wait(PATIENCE))
    zk_proxy.cut()
    witness.delete(zk_path)
    zk_proxy.mend()
    assert passed.result(2 * PATIENCE) is True


@pytest.mark.concurrent
def test_a_drop_opens_nothing(front, open_session, zk_path, zk_proxy, waits, witness, when):
    """It wakes everybody; who looks again sees that it is closed."""
    session = open_session(zk_proxy.hosts)
    witness.create(zk_path)
    passed = waits(session, Barrier(session, zk_path).wait)
    again = when(session, watch_set=1)
    zk_proxy.drop()
    again.wait()
    assert not passed.done()
    witness.delete(zk_path)
    assert passed.result(PATIENCE) is True


def test_a_lost_session(front, open_session, zk_hosts, zk_path, waits, witness, when):
    """A waiter goes on in the next one, and the barrier is nobody's: it stays closed."""
    session = open_session()
    gate = Barrier(session, zk_path)
    front.call(lambda: gate.set())
    passed = waits(session, gate.wait)
    again = when(session, watch_set=1)
    expire_session(zk_hosts, session)
    again.wait()
    assert not passed.done()
    witness.delete(zk_path)
    assert passed.result(PATIENCE) is True


@pytest.mark.front("threads")  # the script is the same on each, and so is what it is told
@pytest.mark.parametrize("loss", ["lose_reply", "lose_request"])
@pytest.mark.parametrize("op", ["create", "delete", "get"])
def test_a_lost_reply(front, open_session, zk_path, zk_proxy, witness, loss, op):
    """It is closed, and then open, all the same."""
    gate = Barrier(open_session(zk_proxy.hosts), zk_path)
    lost = getattr(zk_proxy, loss)(op)
    front.call(lambda: gate.set())
    assert witness.exists(zk_path)
    front.call(lambda: gate.remove())
    assert lost.wait(0)
    assert not witness.exists(zk_path)


@pytest.mark.concurrent
def test_a_remove_opens_one_barrier(front, open_session, zk_path, zk_proxy, witness):
    """The reply to its delete is lost, and somebody closes the barrier again meanwhile: that is
    another barrier, and stays closed. (A delete that is only repeated would open it.)"""
    gate = Barrier(open_session(zk_proxy.hosts), zk_path)
    front.call(lambda: gate.set())
    lost = zk_proxy.lose_reply("delete")
    removed = front.actor().begin(lambda: gate.remove())
    assert lost.wait(PATIENCE)
    witness.create(zk_path)
    removed.result(PATIENCE)
    assert witness.exists(zk_path)


def test_a_cancel(front, open_session, zk_path, when, witness, left_clean):
    """Nothing is left of who waited."""
    session = open_session()
    gate = Barrier(session, zk_path)
    witness.create(zk_path)
    caught = front.interrupted(lambda: gate.wait(), when(session, watch_set=1).wait)
    assert caught is not None and not isinstance(caught, Cancelled)
    witness.delete(zk_path)
    left_clean(zk_path)
    assert session.standing() == []


def test_the_session_is_closed(front, open_session, zk_path, waits, witness):
    session = open_session()
    witness.create(zk_path)
    passed = waits(session, Barrier(session, zk_path).wait)
    front.close(session)
    with pytest.raises(SessionClosed):
        passed.result(PATIENCE)


def test_what_it_costs(front, open_session, zk_path, witness, waits):
    """One flight to close it, two to open it; who waits looks once, and once for each wakeup."""
    session = open_session()
    gate = Barrier(session, zk_path)
    for call, count in ((lambda: gate.set(), 1), (lambda: gate.remove(), 2)):
        recorder = recorded(session)
        front.call(call)
        assert flights(recorder) == count
        session.hooks.remove(recorder)
    witness.create(zk_path)
    recorder = recorded(session)
    passed = waits(session, gate.wait)
    assert flights(recorder) == 1
    witness.delete(zk_path)
    assert passed.result(PATIENCE) is True
    assert flights(recorder) == 2
