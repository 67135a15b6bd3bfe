"""Faults on real servers: never two leaders, never none for long, one node for each candidate.

Most of what Curator's LeaderLatch got wrong over the years (C-5) is here by its issue's number.
"""

from __future__ import annotations

import random
import threading
import time
from contextlib import ExitStack, suppress

import pytest
from kazoo.exceptions import NotEmptyError
from kazoo.security import make_acl

from tests.elections.kinds import LATCH, SHORT, Told, every_kind, lapse, leads, over, stand
from zkkit import HerdElection, LeaderLatch
from zkkit.errors import NoAuth
from zkkit.testing import Proxy, eventually, expire_session, throughout

# --- a lost session -----------------------------------------------------------------------------


@pytest.mark.defect("C-5")
@every_kind
def test_the_leaders_session_expires(front, kind, zk_hosts, open_session, zk_path, left_clean):
    """It leads no more and is told so, the next one leads, and it stands again behind that one by a
    node of its new session: never by the old one (CURATOR-696, -620)."""
    latch, other = (stand(front, kind.make(open_session(), zk_path)) for _ in range(2))
    told = Told(latch)
    lost = threading.Event()
    lead = leads(front, latch)
    lead.on_lost(lost.set)
    expire_session(zk_hosts, latch.session)
    after = leads(front, other)
    assert after.token > lead.token
    assert lost.wait(10)
    assert not lead.valid and not latch.is_leader
    told.leads_no_more()
    front.call(lambda: other.close())
    again = leads(front, latch)
    assert again.session_id == latch.session.session_id != lead.session_id
    assert again.token > after.token and not lead.valid
    front.call(lambda: latch.close())
    left_clean(zk_path)


@every_kind
def test_a_candidates_session_expires(front, kind, zk_hosts, open_session, zk_path):
    """It stands again, and whoever waits for it waits on."""
    leader, other = (stand(front, kind.make(open_session(), zk_path)) for _ in range(2))
    lead = leads(front, leader)
    job = front.actor().begin(lambda: other.wait())
    known = other.session.session_id
    expire_session(zk_hosts, other.session)
    eventually(lambda: other.session.session_id not in (0, known))
    assert lead.valid
    front.call(lambda: leader.close())
    assert job.result(20).session_id == other.session.session_id


@pytest.mark.concurrent
def test_sessions_expire_one_after_another(front, zk_hosts, zk_path, contenders, left_clean):
    """Whoever leads loses its session, again and again: there is always a next one, its token
    grows, and in the end each candidate has one node (testResetRace)."""
    sessions = [front.connect(zk_hosts, timeout=6.0) for _ in range(3)]
    latches = [stand(front, LeaderLatch(session, zk_path)) for session in sessions]
    last = 0

    def next_lead():
        """The lead of the next leader: the last one may not know yet that its session is over."""
        found = [each.leadership for each in latches]
        return next((lead for lead in found if lead is not None and lead.token > last), None)

    for _ in range(4):
        lead = eventually(next_lead)
        last = lead.token
        expire_session(zk_hosts, lead.session)
        eventually(lambda lead=lead: not lead.valid)
    eventually(lambda: len(contenders(zk_path)) == 3, otherwise=lambda: contenders(zk_path))
    for latch in latches:
        front.call(lambda latch=latch: latch.close())
    left_clean(zk_path)
    for session in sessions:
        front.close(session)


# --- a broken connection ------------------------------------------------------------------------


@every_kind
def test_suspended(front, kind, zk_proxy, zk_path, left_clean, clock):
    """From the moment the connection is suspended we do not lead; when it is back we look, and lead
    again by the same node (testErrorPolicies)."""
    with front.session(zk_proxy.hosts, timeout=10.0) as session:
        latch = kind.make(session, zk_path)
        told = Told(latch)
        stand(front, latch)
        lead = leads(front, latch)
        lost = threading.Event()
        lead.on_lost(lost.set)
        began = clock()
        zk_proxy.cut()
        assert lost.wait(5)
        assert clock() - began < 3, "it was told by its clock, not by its connection"
        assert not latch.is_leader and not lead.valid
        zk_proxy.mend()
        again = leads(front, latch)
        assert again is not lead and again.grant == lead.grant
        assert again.valid and not lead.valid
        late = threading.Event()
        lead.on_lost(late.set)
        assert late.wait(5) and again.valid
        told.hears(True, False, True)
        front.call(lambda: latch.close())
        left_clean(zk_path)


def test_suspended_but_not_lost(front, zk_proxy, zk_path, when, left_clean):
    """With the policy "lost" a short break ends no leadership (testSessionErrorPolicy)."""
    with front.session(zk_proxy.hosts, timeout=10.0) as session:
        latch = LeaderLatch(session, zk_path, error_policy="lost")
        told = Told(latch)
        stand(front, latch)
        lead = leads(front, latch)
        changed = when(session, session_changed=2)  # suspended, and connected again
        zk_proxy.drop()
        changed.wait()
        assert lead.valid
        assert front.call(lambda: lead.check())
        assert latch.leadership is lead and lead.valid
        told.hears(True)
        front.call(lambda: latch.close())
        left_clean(zk_path)


@pytest.mark.front("threads", "gevent")
@pytest.mark.parametrize("policy", ["suspended", pytest.param("lost", marks=pytest.mark.slow)])
def test_cut_for_longer_than_the_session(front, policy, zk_proxy, zk_hosts, zk_path, left_clean):
    """No leader while it is lost, one when all is well again (testLostConnection). Nobody else is
    elected before our own clock has ended it."""
    with front.session(zk_proxy.hosts, timeout=SHORT) as session, front.session(zk_hosts) as second:
        latch = LeaderLatch(session, zk_path, error_policy=policy)
        told = Told(latch)
        stand(front, latch)
        other = stand(front, LeaderLatch(second, zk_path))
        lead = leads(front, latch)
        other.add_listener(lambda event: valid.append(lead.valid))
        valid: list[bool] = []
        zk_proxy.cut()
        leads(front, other)
        eventually(lambda: valid)
        assert valid == [False] and not latch.is_leader
        zk_proxy.mend()
        front.call(lambda: other.close())
        assert leads(front, latch).token > lead.token
        told.hears(True, False, True)
        front.call(lambda: latch.close())
        left_clean(zk_path)


@pytest.mark.defect("C-5")
def test_the_one_ahead_goes_while_we_are_cut_off(
    front, zk_proxy, zk_hosts, zk_path, contenders, left_clean
):
    """We cannot hear of it, look when the connection is back, and lead by the node that we have
    (testWatchedNodeDeletedOnReconnect, CURATOR-644)."""
    with front.session(zk_hosts) as first, front.session(zk_proxy.hosts, timeout=20.0) as second:
        leader, other = (stand(front, LeaderLatch(each, zk_path)) for each in (first, second))
        leads(front, leader)
        zk_proxy.cut()
        eventually(lambda: second.state == "suspended")
        front.call(lambda: leader.close())
        (node,) = contenders(zk_path)
        zk_proxy.mend()
        assert leads(front, other).path.endswith(node)
        assert contenders(zk_path) == [node]
        front.call(lambda: other.close())
        left_clean(zk_path)


def test_cut_off_when_it_starts(front, zk_proxy, zk_path):
    """It is elected as soon as there is a server (testNoServerAtStart)."""
    with front.session(zk_proxy.hosts, timeout=20.0) as session:
        zk_proxy.cut()
        eventually(lambda: session.state == "suspended")
        latch = LeaderLatch(session, zk_path)
        front.call(lambda: latch.start())
        assert front.call(lambda: latch.wait(timeout=0.2)) is None
        zk_proxy.mend()
        assert leads(front, latch).valid


@pytest.mark.slow
@every_kind
def test_closed_while_cut_off(front, kind, zk_proxy, zk_path, witness, clock, left_clean):
    """Its create may have arrived: `close` waits until it is undone, or its session is over, and
    nothing is left (testProperCloseWithoutConnectionEstablished)."""
    witness.create(zk_path)
    with front.session(zk_proxy.hosts, timeout=SHORT) as session:
        zk_proxy.cut()
        eventually(lambda: session.state == "suspended")
        latch = kind.make(session, zk_path)
        front.call(lambda: latch.start())
        began = clock()
        front.call(lambda: latch.close())
        assert clock() - began < SHORT + 3.0
        zk_proxy.mend()
        eventually(lambda: session.state == "connected")
        assert session.standing() == [] and not latch.is_leader
        left_clean(zk_path)


# --- a lost reply, a close in between -------------------------------------------------------------


@pytest.mark.defect("C-5")
@pytest.mark.parametrize("loss", ["lose_reply", "lose_request"])
@every_kind
def test_a_lost_create(front, kind, loss, zk_proxy, zk_path, witness, contenders, left_clean):
    """One node whether or not the create had arrived, and we lead by it (flappingTest)."""
    witness.create(zk_path)
    with front.session(zk_proxy.hosts, timeout=10.0) as session:
        latch = kind.make(session, zk_path)
        lost = getattr(zk_proxy, loss)("create")
        front.call(lambda: latch.start())
        lead = leads(front, latch)
        assert lost.wait(0)
        assert [lead.path] == [f"{zk_path}/{name}" for name in contenders(zk_path)]
        front.call(lambda: latch.close())
        left_clean(zk_path)


@every_kind
def test_closed_while_it_is_created(front, kind, zk_proxy, zk_path, witness, left_clean):
    """A create under way still arrives, and is undone (testCreateDeleteRace)."""
    witness.create(zk_path)
    with front.session(zk_proxy.hosts, timeout=10.0) as session:
        latch = kind.make(session, zk_path)
        sent = zk_proxy.requests["create"]
        zk_proxy.freeze(replies_only=True)
        front.call(lambda: latch.start())
        eventually(lambda: zk_proxy.requests["create"] > sent)
        closing = front.actor().begin(lambda: latch.close())
        zk_proxy.thaw()
        closing.result(20)
        assert not latch.is_leader
        left_clean(zk_path)


# --- somebody else's hand -----------------------------------------------------------------------


@pytest.mark.defect("C-5")
@over(LATCH)
def test_the_leaders_node_is_removed(front, kind, open_session, zk_path, witness, contenders):
    """The leader hears of it at once, and stands again behind the others (CURATOR-653)."""
    latch, other = (stand(front, kind.make(open_session(), zk_path)) for _ in range(2))
    told = Told(latch)
    lead = leads(front, latch)
    lost = threading.Event()
    lead.on_lost(lost.set)
    witness.delete(lead.path)
    assert lost.wait(10)
    assert leads(front, other).valid
    assert not lead.valid and not latch.is_leader
    told.hears(False)
    eventually(lambda: len(contenders(zk_path)) == 2)
    front.call(lambda: other.close())
    assert leads(front, latch).token > lead.token


@pytest.mark.defect("C-5")
@every_kind
def test_everything_is_wiped(front, kind, open_session, zk_path, witness):
    """The nodes go, and the path itself: they stand again, and one leads
    (testGetChildrenHitsNoNode, CURATOR-724)."""
    latches = [stand(front, kind.make(open_session(), zk_path)) for _ in range(3)]
    eventually(lambda: any(each.is_leader for each in latches))
    (before,) = [each.leadership for each in latches if each.is_leader]
    with suppress(NotEmptyError):  # they are quick to come again
        witness.delete(zk_path, recursive=True)
    eventually(lambda: any(each.is_leader and each.leadership is not before for each in latches))
    eventually(lambda: sum(each.is_leader for each in latches) == 1)
    assert not before.valid


@pytest.mark.defect("C-5")
@pytest.mark.concurrent
def test_the_one_ahead_goes_at_any_moment(front, zk_hosts, zk_path, contenders, left_clean):
    """Those ahead leave while others look for them: nobody loses its place, or waits for a node
    that has gone (CURATOR-645)."""
    with front.session(zk_hosts) as session, front.session(zk_hosts) as second:
        latches = [LeaderLatch(each, zk_path) for each in (session, second) * 4]
        for latch in latches:
            front.call(lambda latch=latch: latch.start())
        last = latches.pop()
        closing = [
            actor.begin(lambda latch=latch: latch.close())
            for actor, latch in zip(front.actors(len(latches)), latches, strict=True)
        ]
        lead = leads(front, last)
        for job in closing:
            job.result(20)
        assert [lead.path] == [f"{zk_path}/{name}" for name in contenders(zk_path)]
        front.call(lambda: last.close())
        left_clean(zk_path)


# --- what the session's own clock says ------------------------------------------------------------


@pytest.mark.front("threads")
@pytest.mark.parametrize("election", [LeaderLatch, HerdElection])
def test_the_proof_lapses(front, election, open_session, zk_path):
    """Nothing proved in time that the session lives, and it does: that leadership is lost for good,
    and the candidate leads again by a new one. Without that its node would keep everybody out."""
    latch = election(open_session(), zk_path)
    told = Told(latch)
    stand(front, latch)
    lead = leads(front, latch)
    lost = threading.Event()
    lead.on_lost(lost.set)
    lapse(latch.session)
    assert not lead.valid
    assert lost.wait(5)
    again = leads(front, latch)
    assert again is not lead and again.grant == lead.grant and not lead.valid
    told.hears(True, False, True)


# --- all of it together ---------------------------------------------------------------------------


def lead_together(latches):
    """Two leaderships that are valid at one moment, if there are any: since they latch, two that
    are valid before and after looking at both were so in between."""
    found = [lead for each in latches if (lead := each.leadership) is not None]
    return found if len(found) > 1 and all([lead.valid for lead in found]) else []


@pytest.mark.concurrent
@pytest.mark.front("threads")
@pytest.mark.parametrize("policy", ["suspended", "lost"])
def test_a_storm(front, policy, zk_hosts, zk_path, contenders, left_clean):
    """Dropped connections, lost replies and closed candidates by chance: no two lead at any moment,
    and afterwards there is one leader, and one node for each. (Sessions closed from outside
    are no part of it: no clock can foresee that. See test_cut_for_longer_than_the_session.)"""
    chance = random.Random(policy)
    with ExitStack() as stack:
        proxies = [stack.enter_context(Proxy(zk_hosts)) for _ in range(3)]
        sessions = [stack.enter_context(front.session(each.hosts)) for each in proxies]
        latches = [LeaderLatch(each, zk_path, error_policy=policy) for each in sessions]
        for latch in latches:
            stand(front, latch)
        for _ in range(12):
            hit = chance.randrange(3)
            fault = chance.choice(["drop", "lose_reply", "close"])
            if fault == "drop":
                proxies[hit].drop()
            elif fault == "lose_reply":
                proxies[hit].lose_reply(chance.choice(["create", "children", "get", "delete"]))
            else:
                latches[hit].close()
                latches[hit] = LeaderLatch(sessions[hit], zk_path, error_policy=policy)
                latches[hit].start()
            end = time.monotonic() + 0.1
            while time.monotonic() < end:
                assert lead_together(latches) == []
        eventually(lambda: sum(each.is_leader for each in latches) == 1)
        eventually(lambda: len(contenders(zk_path)) == 3, otherwise=lambda: contenders(zk_path))
        for latch in latches:
            latch.close()
        left_clean(zk_path)


# --- servers --------------------------------------------------------------------------------------


@pytest.mark.front("threads")
@pytest.mark.concurrent
def test_the_servers_leader_is_killed(front, zk_ensemble, zk_hosts, zk_path, left_clean):
    """An election of servers in the middle of ours: one leader afterwards, and never two
    (TestLeaderLatchCluster.testInCluster)."""
    sessions = [front.connect(zk_hosts, timeout=10.0) for _ in range(3)]
    latches = [stand(front, LeaderLatch(session, zk_path)) for session in sessions]
    first = leads(front, latches[0])
    killed = zk_ensemble.leader()
    try:
        zk_ensemble.kill(killed)  # which breaks every connection: the first one leads no more
        eventually(lambda: any(each.leadership not in (None, first) for each in latches))
        assert not first.valid
        throughout(lambda: sum(each.is_leader for each in latches) <= 1, 0.5)
    finally:
        zk_ensemble.restart(killed)
    for latch in latches:
        front.call(lambda latch=latch: latch.close())
    left_clean(zk_path)
    for session in sessions:
        front.close(session)


@pytest.mark.slow
def test_all_servers_are_down(front, zk_ensemble, zk_hosts, zk_path):
    """For longer than the session lives: nobody leads, and one does when they are back
    (testLostConnection)."""
    with front.session(zk_hosts, timeout=SHORT) as session:
        latch = stand(front, LeaderLatch(session, zk_path))
        lead = leads(front, latch)
        for node in zk_ensemble.nodes:
            zk_ensemble.pause(node)
        try:
            eventually(lambda: session.state == "lost", 10)
            assert not latch.is_leader and not lead.valid
            assert front.call(lambda: latch.wait(timeout=0.3)) is None
        finally:
            for node in zk_ensemble.nodes:
                zk_ensemble.resume(node)
        assert leads(front, latch, 30).token > lead.token


# --- refused --------------------------------------------------------------------------------------


@every_kind
def test_not_allowed(front, kind, open_session, zk_path, witness, caplog):
    """Who may not stand is told by `wait`, and it is logged (TestLeaderAcls)."""
    witness.create(zk_path, acl=[make_acl("world", "anyone", read=True)])
    latch = kind.make(open_session(), zk_path)
    front.call(lambda: latch.start())
    with pytest.raises(NoAuth, match=zk_path):
        front.call(lambda: latch.wait(timeout=10))
    assert "failed" in caplog.text
    front.call(lambda: latch.close())


class Mistaken(LeaderLatch):
    """A candidate whose script has a bug."""

    def _stand(self):
        raise RuntimeError("this candidate has a bug")
        yield


def test_a_bug_ends_the_waiting(front, open_session, zk_path, caplog):
    """Whatever ends a candidate is told to whoever waits for it, also without a deadline."""
    latch = Mistaken(open_session(), zk_path)
    front.call(lambda: latch.start())
    with pytest.raises(RuntimeError, match="has a bug"):
        front.call(lambda: latch.wait())
    assert "failed" in caplog.text
    front.call(lambda: latch.close())
