"""What every election promises, on every front. Behaviours of Curator's TestLeaderLatch are among
them; each such test says which."""

from __future__ import annotations

import asyncio
import itertools
import logging
import threading
from functools import partial

import pytest

from tests.elections.kinds import HERD, LATCH, Told, every_kind, leads, over, stand
from tests.support.rooms import Room
from zkkit import HerdElection, LeaderLatch, LeaderSelector
from zkkit.errors import (
    AlreadyStarted,
    InvalidPath,
    NotHeld,
    NotStarted,
    SessionClosed,
    Unsupported,
)
from zkkit.recipes.elections import Participant
from zkkit.record import Recorder
from zkkit.record.counts import wakeups
from zkkit.steps import Set
from zkkit.testing import eventually, throughout

# --- one leader, and the next one ---------------------------------------------------------------


@every_kind
def test_one_after_the_other(front, kind, open_session, zk_path, left_clean):
    """Each leads when those before it have left; in the order of their coming where it is fair
    (testBasic)."""
    sessions = [open_session() for _ in range(4)]
    candidates = [stand(front, kind.make(session, zk_path)) for session in sessions]
    tokens = []
    while candidates:
        eventually(lambda: any(each.is_leader for each in candidates))
        (leader,) = [each for each in candidates if each.is_leader]
        if kind.fair:
            assert leader is candidates[0]
        tokens.append(leads(front, leader).token)
        front.call(lambda: leader.close())  # noqa: B023
        assert not leader.is_leader
        candidates.remove(leader)
    assert tokens == sorted(tokens)
    left_clean(zk_path)


@pytest.mark.concurrent
@every_kind
def test_never_two(front, kind, zk_hosts, zk_path, left_clean):
    """Ten candidates in five sessions lead, each once, and no two at a time (testWaiting)."""
    room = Room()
    sessions = [front.connect(zk_hosts, timeout=10.0) for _ in range(5)]
    candidates = [kind.make(session, zk_path) for session in sessions * 2]

    def serve(latch, actor):
        return [
            actor.begin(lambda: latch.start()),
            actor.begin(lambda: latch.wait()),
            actor.begin(lambda: room.enter(latch)),
            actor.begin(lambda: room.leave()),
            actor.begin(lambda: latch.close()),
        ]

    jobs = [serve(latch, front.actor()) for latch in candidates]
    for job in itertools.chain(*jobs):
        job.result(60)
    for session in sessions:
        front.close(session)
    assert room.overlaps == 0
    assert len(room.visits) == 10
    left_clean(zk_path)


def test_the_middle_one_leaves(front, open_session, zk_path, witness):
    """The one behind it is woken, looks, and does not lead; the leader is not disturbed
    (testCorrectWatching)."""
    first, middle, last = (stand(front, LeaderLatch(open_session(), zk_path)) for _ in range(3))
    lead = leads(front, first)
    recorder = Recorder()
    last.session.hooks.add(recorder)
    front.call(lambda: middle.close())
    eventually(lambda: len(wakeups(recorder)) == 1)
    throughout(lambda: not last.is_leader, 0.2)
    assert lead.valid
    front.call(lambda: first.close())
    assert leads(front, last).token > lead.token


@every_kind
def test_a_deadline(front, kind, open_session, zk_path, clock):
    """`wait` gives None in time, and leaves the candidate where it is."""
    leader = stand(front, kind.make(open_session(), zk_path))
    other = stand(front, kind.make(open_session(), zk_path))
    leads(front, leader)
    began = clock()
    assert front.call(lambda: other.wait(timeout=0.3)) is None
    assert 0.25 < clock() - began < 1.3
    front.call(lambda: leader.close())
    assert leads(front, other).valid


@every_kind
def test_a_poll(front, kind, open_session, zk_path):
    """`wait` with no time at all tells what is known: who leads gets its leadership."""
    leader = stand(front, kind.make(open_session(), zk_path))
    lead = leads(front, leader)
    other = stand(front, kind.make(open_session(), zk_path))
    for _ in range(20):
        assert front.call(lambda: leader.wait(timeout=0)) is lead
        assert front.call(lambda: other.wait(0)) is None


def test_many_wait_for_one_candidate(front, open_session, zk_path):
    """All who wait are woken, and given the same leadership."""
    leader, other = (stand(front, LeaderLatch(open_session(), zk_path)) for _ in range(2))
    jobs = [actor.begin(lambda: other.wait()) for actor in front.actors(5)]
    front.call(lambda: leader.close())
    given = [job.result(20) for job in jobs]
    assert len(set(map(id, given))) == 1
    assert given[0] is other.leadership


# --- what a leadership carries ------------------------------------------------------------------


@every_kind
def test_a_leadership(front, kind, open_session, zk_path, witness):
    """It has a token, is valid and checked while we lead, and guards what is written."""
    latch = stand(front, kind.make(open_session(), zk_path))
    lead = leads(front, latch)
    assert latch.is_leader and latch.leadership is lead
    assert lead and lead.valid and lead.token == witness.get(lead.path)[1].czxid
    assert front.call(lambda: lead.check())
    witness.create(zk_path + "-data")
    if kind.guards:
        front.call(lambda: lead.transaction(Set(zk_path + "-data", b"by the leader")))
    else:
        with pytest.raises(Unsupported, match="fixed name"):
            front.call(lambda: lead.transaction(Set(zk_path + "-data", b"")))
    front.call(lambda: latch.close())
    assert not lead.valid and not front.call(lambda: lead.check())
    assert "no longer valid" in repr(lead)
    if kind.guards:
        with pytest.raises(NotHeld):
            front.call(lambda: lead.transaction(Set(zk_path + "-data", b"too late")))
        assert witness.get(zk_path + "-data")[0] == b"by the leader"


def test_closing_is_no_loss(front, open_session, zk_path):
    """`on_lost` is not called by a leader that closes."""
    latch = stand(front, LeaderLatch(open_session(), zk_path))
    lost = threading.Event()
    leads(front, latch).on_lost(lost.set)
    front.call(lambda: latch.close())
    throughout(lambda: not lost.is_set(), 0.1)


# --- who takes part -----------------------------------------------------------------------------


@every_kind
def test_participants(front, kind, open_session, zk_path):
    """All see the same list, with one leader (TestLeaderSelectorParticipants.testBasic)."""
    latches = [stand(front, kind.make(open_session(), zk_path, id=f"ä{n}")) for n in range(3)]
    expected = (Participant("ä0", True), Participant("ä1", False), Participant("ä2", False))
    if not kind.lists_all:
        expected = expected[:1]
    for latch in latches:
        eventually(lambda latch=latch: front.call(lambda: latch.participants()) == expected)
        assert front.call(lambda latch=latch: latch.leader()) == Participant("ä0", True)


@every_kind
def test_nobody_takes_part(front, kind, open_session, zk_path):
    """Where there is no node there is no leader, and no error (testUncreatedPathGetLeader)."""
    latch = kind.make(open_session(), zk_path)
    assert front.call(lambda: latch.leader()) is None
    assert front.call(lambda: latch.participants()) == ()
    assert not latch.is_leader and latch.leadership is None


# --- listeners ----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["silent", "notify"])
def test_listeners_and_closing(front, mode, open_session, zk_path):
    """They hear that we lead, and that we no longer do if that is wanted (testCallbackNotifyLeader,
    testCallbackDontNotify)."""
    latch = LeaderLatch(open_session(), zk_path, close_mode=mode)
    told = Told(latch)
    stand(front, latch)
    told.hears(True)
    assert told.events[0].leadership is latch.leadership
    front.call(lambda: latch.close())
    told.hears(*([True, False] if mode == "notify" else [True]))


def test_listeners_of_all(front, open_session, zk_path):
    """Each is told once that it leads, and once that this is over (testCallbackSanity)."""
    latches = [LeaderLatch(open_session(), zk_path, close_mode="notify") for _ in range(3)]
    tolds = [Told(latch) for latch in latches]
    for latch in latches:
        stand(front, latch)
    for latch in latches:
        leads(front, latch)
        front.call(lambda latch=latch: latch.close())
    for told in tolds:
        told.hears(True, False)


@pytest.mark.defect("K-17")
@pytest.mark.front("threads", "gevent")
def test_a_listener_may_call(front, open_session, zk_path):
    """A listener that asks the servers, slowly, holds up neither the election nor the session."""
    latch = LeaderLatch(open_session(), zk_path)
    seen, go = [], threading.Event()

    def ask(event):
        seen.append((event.is_leader, latch.leader()))
        go.wait(20)

    latch.add_listener(ask)
    stand(front, latch)
    eventually(lambda: seen)
    assert seen == [(True, Participant("", True))]
    lead = leads(front, latch)  # while the listener hangs
    assert lead.valid and front.call(lambda: lead.check())
    front.call(lambda: latch.close())
    assert not latch.is_leader
    go.set()


@pytest.mark.front("threads", "gevent")
def test_a_listener_may_close(front, open_session, zk_path, left_clean):
    """It closes the very latch that tells it."""
    latch = LeaderLatch(open_session(), zk_path, close_mode="notify")
    told = Told(latch)
    latch.add_listener(lambda event: latch.close())
    front.call(lambda: latch.start())
    told.hears(True, False)
    left_clean(zk_path)


@pytest.mark.parametrize("error", [RuntimeError, asyncio.CancelledError, SystemExit])
def test_a_listener_that_fails(front, open_session, zk_path, caplog, error):
    """It is logged, and stops no other."""
    latch = LeaderLatch(open_session(), zk_path)

    def fail(event):
        raise error("the listener fails")

    latch.add_listener(fail)
    told = Told(latch)
    with caplog.at_level(logging.ERROR, "zkkit.recipes"):
        stand(front, latch)
        told.hears(True)
    assert "the listener fails" in caplog.text


# --- starting and closing -----------------------------------------------------------------------


@every_kind
def test_started_once(front, kind, open_session, zk_path, left_clean):
    """A second start is refused, a second close is harmless, and nothing can be waited for outside
    of that."""
    latch = kind.make(open_session(), zk_path)
    with pytest.raises(NotStarted, match="is not started yet"):
        front.call(lambda: latch.wait(timeout=5))
    stand(front, latch)
    with pytest.raises(AlreadyStarted):
        front.call(lambda: latch.start())
    front.call(lambda: latch.close())
    front.call(lambda: latch.close())
    with pytest.raises(NotStarted, match="is closed"):
        front.call(lambda: latch.wait())
    with pytest.raises(AlreadyStarted, match="closed already"):
        front.call(lambda: latch.start())
    left_clean(zk_path)


@every_kind
def test_closed_while_somebody_waits(front, kind, open_session, zk_path, left_clean):
    """Who waits for a candidate that is closed learns it at once."""
    leader = stand(front, kind.make(open_session(), zk_path))
    other = stand(front, kind.make(open_session(), zk_path))
    leads(front, leader)
    job = front.actor().begin(lambda: other.wait())
    eventually(lambda: len(other.session.standing()) == 2)
    front.call(lambda: other.close())
    with pytest.raises(NotStarted):
        job.result(20)
    assert leader.is_leader
    front.call(lambda: leader.close())
    left_clean(zk_path)


@every_kind
def test_the_session_is_closed(front, kind, open_session, zk_path, left_clean):
    """It closes its candidates: no node, no leader, and whoever waits is told; so are listeners."""
    leader = stand(front, kind.make(open_session(), zk_path))
    told = Told(leader)
    lead = leads(front, leader)
    other = stand(front, kind.make(open_session(), zk_path))
    job = front.actor().begin(lambda: other.wait())
    eventually(lambda: len(other.session.standing()) == 2)
    front.close(other.session)
    with pytest.raises(SessionClosed):
        job.result(20)
    front.close(leader.session)
    assert not lead.valid and not leader.is_leader
    told.hears(False)
    left_clean(zk_path)
    for latch in (leader, other):
        front.call(lambda latch=latch: latch.close())


def test_a_block(front, open_session, zk_path, left_clean):
    """In a `with` block it is a candidate as long as the block."""
    latch = LeaderLatch(open_session(), zk_path)
    front.call(lambda: front.within(latch, lambda given: given is latch))
    assert not latch.is_leader
    left_clean(zk_path)


@pytest.mark.front("threads")
def test_arguments(front, open_session, zk_path):
    """What makes no sense is refused at once (testRelativePath)."""
    session = open_session()
    with pytest.raises(InvalidPath):
        LeaderLatch(session, "relative")
    with pytest.raises(ValueError, match="error policy 'never'"):
        LeaderLatch(session, zk_path, error_policy="never")
    with pytest.raises(ValueError, match="close mode 'loud'"):
        LeaderLatch(session, zk_path, close_mode="loud")
    for make in (LeaderLatch, HerdElection, partial(LeaderSelector, function=print)):
        for id, says in ((b"bytes", "not b.bytes"), ("\ud800", "UTF-8")):
            with pytest.raises(ValueError, match=f"the id of a candidate is text.*{says}"):
                make(session, zk_path, id=id)


@over(LATCH, HERD)
def test_marks(front, kind, open_session, zk_path):
    """The hooks are told when a lead begins and when it is given back."""
    session = open_session()
    recorder = Recorder()
    session.hooks.add(recorder)
    latch = stand(front, kind.make(session, zk_path))
    lead = leads(front, latch)
    front.call(lambda: latch.close())
    marks = [(hook, event.path) for hook, event in recorder if hook in ("led", "unled", "lost")]
    assert marks == [("led", lead.path), ("unled", lead.path)]
