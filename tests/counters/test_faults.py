"""Counts once, with real faults on real servers: a lost reply, a lost request, a killed leader, an
expired session, a caller that leaves."""

from __future__ import annotations

import struct
from contextlib import ExitStack, suppress
from typing import Any

import pytest

import zkkit
from tests.counters.kinds import WRITES, kazoo_counts_twice, long
from zkkit import AtomicLong, AtomicValue, SharedCount
from zkkit.errors import NoRoot, OutcomeUnknown, VersionUsedUp
from zkkit.recipes.counters import receipts
from zkkit.recipes.counters.receipts import Receipt
from zkkit.retry import Forever, NTimes
from zkkit.steps import Create, Data, Mode, Remember, SessionId
from zkkit.testing import NotExpired, Proxy, eventually, expire, expire_session


@pytest.mark.defect("K-23", "C-14")
@pytest.mark.parametrize("kind", [AtomicLong, kazoo_counts_twice])
def test_a_lost_reply(front, kind, zk_proxy, zk_path):
    """K-23, C-14: an increment that was applied, and whose reply was lost, counts once."""
    with front.session(zk_proxy.hosts) as session:
        counter = kind(session, zk_path)
        actor = front.actor()
        actor.call(lambda: counter.increment())
        loss = zk_proxy.lose_reply(WRITES[kind])
        result = actor.call(lambda: counter.increment())
        assert loss.wait(5)
        assert actor.call(lambda: counter.get()) == 2
        assert result.succeeded and (result.before, result.after) == (1, 2)


@pytest.mark.parametrize("below", ["/n", "/a/n"], ids=["at the top", "below"])
def test_a_root_that_is_gone(front, open_session, zk_path, witness, below):
    """Of a namespace that somebody has removed: the error says so, as that of any other recipe
    does, and nobody makes it by the way."""
    session = open_session(namespace=zk_path.strip("/"))
    witness.delete(zk_path)
    count, value = AtomicLong(session, below), AtomicValue(session, below)
    for write in (lambda: count.increment(), lambda: value.force_set(b"1")):
        with pytest.raises(NoRoot, match="namespace"):
            front.call(write)
    assert witness.exists(zk_path) is None


def test_a_lost_request(front, zk_proxy, zk_path):
    """One that never arrived counts once, too."""
    with front.session(zk_proxy.hosts) as session:
        counter = AtomicLong(session, zk_path)
        actor = front.actor()
        actor.call(lambda: counter.increment())
        loss = zk_proxy.lose_request("multi")
        result = actor.call(lambda: counter.increment())
        assert loss.wait(5)
        assert result.succeeded and result.after == 2
        assert result.statistics.optimistic_tries == 1
        assert actor.call(lambda: counter.get()) == 2


@pytest.mark.front("threads")
def test_every_write_once(front, zk_proxy, zk_connect, zk_path, witness):
    """The same for whatever else writes: a second write of the same would show in the version."""
    session = zk_connect(zk_proxy.hosts)
    value = AtomicValue(session, zk_path)
    count = SharedCount(session, f"{zk_path}-count", seed=1)
    count.set(2)

    def losing(call: Any) -> Any:
        loss = zk_proxy.lose_reply("multi")
        result = call()
        assert loss.wait(5)
        return result

    value.try_set(b"")
    witness.delete(zk_path)
    assert losing(lambda: value.initialize(b"a")) is True
    assert losing(lambda: value.compare_and_set(b"a", b"b")).succeeded
    assert losing(lambda: value.try_set(b"c")).before == b"b"
    losing(lambda: value.force_set(b"d"))
    assert witness.get(zk_path)[1].version == 3
    losing(lambda: count.set(3))
    assert losing(lambda: count.try_set(count.get_versioned(), 4)) is True
    data, stat = witness.get(count.path)
    assert (data, stat.version) == (struct.pack(">i", 4), 2)


@pytest.mark.concurrent
def test_replies_lost_in_a_crowd(front, zk_proxy, zk_path, witness):
    """Several actors of one session, and the connection breaks on their writes again and again:
    each has a receipt of its own, so none takes another's for its own."""
    with front.session(zk_proxy.hosts) as session:
        counter = AtomicLong(session, zk_path)
        front.call(lambda: counter.force_set(0))
        actors = front.actors(4)
        for _ in range(2):
            losses = [zk_proxy.lose_reply("multi"), zk_proxy.lose_request("multi")]
            jobs = [actor.begin(lambda: counter.increment()) for actor in actors for _ in range(2)]
            assert all(job.result(30).succeeded for job in jobs)
            assert all(loss.wait(5) for loss in losses)
        assert front.call(lambda: counter.get()) == 16
        assert len(witness.get_children(f"{zk_path}-receipts")) <= 4


def one_receipt_for_all(path: str) -> Any:
    """A twin: all actors of a session write their guids into one receipt."""
    receipt = Receipt((yield from SessionId()), 0)
    yield from Remember(receipts._key(path), (receipt,))
    return receipt


def keep(path: str, receipt: Receipt) -> Any:
    yield from ()


@pytest.mark.parametrize("twin", [False, True], ids=["", "twin"])
def test_a_receipt_for_each(front, zk_proxy, zk_path, witness, monkeypatch, twin):
    """Two writes of one session are applied, and both replies are lost. Each finds its own receipt.
    (Where they share one, the later write hides the earlier, which is then made again.)"""
    if twin:
        monkeypatch.setattr(receipts, "_take", one_receipt_for_all)
        monkeypatch.setattr(receipts, "_give_back", keep)
    with front.session(zk_proxy.hosts) as session:
        counter = AtomicLong(session, zk_path)
        front.call(lambda: counter.increment())
        found = front.call(lambda: session.run(counter._look()))
        first = [found]
        second = Create(Receipt(session.session_id, 1).path(zk_path), mode=Mode.EPHEMERAL)
        front.call(lambda: session.run(iter(second)))  # a second one is there, as after two at once

        def known_at_first() -> Any:
            """What is there is known already, so that no reply is needed before the write."""
            if first:
                return first.pop()
            return (yield from AtomicLong._look(counter))

        counter._look = known_at_first
        zk_proxy.freeze(replies_only=True)
        job = front.actor().begin(lambda: counter.increment())
        assert eventually(lambda: witness.get(zk_path)[1].version == 1)
        other = AtomicLong(session, zk_path)
        forced = front.actor().begin(lambda: other.force_set(5))
        assert eventually(lambda: witness.get(zk_path)[1].version == 2)
        zk_proxy.drop()
        zk_proxy.thaw()
        forced.result(10)
        assert job.result(10).succeeded
        data, stat = witness.get(zk_path)
        assert (data, stat.version) == ((long(6), 3) if twin else (long(5), 2))


@pytest.mark.concurrent
@pytest.mark.slow
@pytest.mark.front("threads")
def test_leader_killed(front, zk_ensemble, zk_hosts, zk_path):
    """An election in the middle of a crowd."""
    sessions = [front.connect(zk_hosts, timeout=10.0) for _ in range(5)]
    leader = zk_ensemble.leader()
    try:
        jobs = []
        for session in sessions:
            counter, actor = AtomicLong(session, zk_path), front.actor()
            jobs += [actor.begin(lambda c=counter: c.increment()) for _ in range(60)]
        assert eventually(lambda: sum(job.done() for job in jobs) >= 30)
        zk_ensemble.kill(leader)
        outcomes = [job.exception(60) or job.result() for job in jobs]
        each_counted_once(outcomes, front.call(lambda: counter.get()))
    finally:
        zk_ensemble.restart(leader)
        for session in sessions:
            front.close(session)


@pytest.mark.concurrent
@pytest.mark.slow
@pytest.mark.front("threads")
def test_a_storm(front, zk_hosts, zk_path, witness):
    """Connections dropped, replies and requests lost, sessions expired, clients paused for longer
    than their sessions: what is known to have counted has, once, and of what nobody knows each may
    have, once."""
    with ExitStack() as ended:
        proxies = [ended.enter_context(Proxy(zk_hosts)) for _ in range(3)]
        sessions = [ended.enter_context(front.session(p.hosts, timeout=2.0)) for p in proxies]
        jobs = []
        counters = [AtomicLong(session, zk_path, retry=Forever(0.005)) for session in sessions]
        actors = [front.actor() for _ in sessions]
        for round_ in range(15):
            for actor, counter in zip(actors, counters, strict=True):
                jobs += [actor.begin(lambda c=counter: c.increment()) for _ in range(6)]
            at = round_ % 3
            strike(round_ % 5, zk_hosts, proxies[at], sessions[at])
        outcomes = [job.exception(60) or job.result() for job in jobs]
    each_counted_once(outcomes, struct.unpack(">q", witness.get(zk_path)[0])[0])


def each_counted_once(outcomes: list[Any], value: int) -> None:
    """What is known to have counted has, once. Of those who say that nobody can know (their session
    was lost) each may have, once; nobody fails otherwise, and most are known."""
    unknown = [each for each in outcomes if isinstance(each, OutcomeUnknown)]
    known = [each for each in outcomes if not isinstance(each, OutcomeUnknown)]
    assert [each for each in known if isinstance(each, BaseException)] == []
    done = [each.before for each in known if each.succeeded]
    assert len(set(done)) == len(done)
    assert len(done) <= value <= len(done) + len(unknown)
    assert len(done) > 0.8 * len(outcomes)


def strike(kind: int, hosts: str, proxy: Any, session: Any) -> None:
    """One of five faults."""
    if kind == 0:
        proxy.drop()
    elif kind == 1:
        assert proxy.lose_reply("multi").wait(10)
    elif kind == 2:
        assert proxy.lose_request("multi").wait(10)
    elif kind == 3:
        assert eventually(lambda: session.kazoo.client_id is not None)
        with suppress(NotExpired):  # it may just be losing it by itself
            expire_session(hosts, session)
    else:
        before = session.session_id
        proxy.freeze()
        assert eventually(lambda: session.session_id != before)
        proxy.thaw()


# --- sessions that end ---------------------------------------------------------------------------


def test_a_new_session(front, zk_hosts, zk_path, witness):
    """A session that expires while nothing is under way costs nothing but new receipts."""
    with front.session(zk_hosts) as session:
        counter = AtomicLong(session, zk_path)
        assert front.call(lambda: counter.increment()).after == 1
        first = session.session_id
        expire_session(zk_hosts, session)
        assert front.call(lambda: counter.increment()).after == 2
        assert session.session_id != first
        names = witness.get_children(f"{zk_path}-receipts")
        assert names == [Receipt(session.session_id, 0).path(zk_path).rpartition("/")[2]]


@pytest.mark.front("threads")
def test_lost_between_two_tries(front, zk_hosts, zk_connect, zk_path, when):
    """Somebody else was quicker, and the session expires before the next try: it is made in the
    next session."""
    session, rival = zk_connect(), AtomicLong(zk_connect(), zk_path)
    rival.force_set(5)
    counter = AtomicLong(session, zk_path, retry=NTimes(1, 0.5))
    look = counter._look

    def too_late() -> Any:
        counter._look = look
        found = yield from look()
        return Data(found.data, found.stat._replace(version=found.stat.version + 1))

    counter._look = too_late
    refused = when(session, step=2)  # a look, and a write that is refused
    job = front.actor().begin(lambda: counter.increment())
    refused.wait()
    expire_session(zk_hosts, session)
    result = job.result(10)
    assert result.succeeded and result.after == 6
    assert result.statistics.optimistic_tries == 2


def increments_while_its_session_ends(
    front: Any, hosts: str, proxy: Any, witness: Any, path: str, *, applied: bool, others: Any
) -> Any:
    """What comes of an increment of 5 if its reply is lost, be it `applied` or not, and then its
    session; `others` do something before it can look."""
    with front.session(proxy.hosts, timeout=4.0) as session:
        counter = AtomicLong(session, path)
        front.call(lambda: counter.force_set(5))
        identity = session.kazoo.client_id
        before = proxy.requests["multi"]
        proxy.delay(0.3)
        future = front.actor().begin(lambda: counter.increment())
        if applied:
            assert eventually(lambda: witness.get(path)[0] == long(6))
        else:
            assert eventually(lambda: proxy.requests["multi"] > before)
        proxy.cut()  # what is under way is lost
        proxy.delay(0)
        expire(hosts, *identity)
        others()
        proxy.mend()
        return future.exception(30) or future.result()


@pytest.mark.front("threads")
def test_applied_and_the_session_lost(front, zk_hosts, zk_proxy, zk_path, witness):
    """The reply is lost, and then the session: nobody can know, and it says so."""
    outcome = increments_while_its_session_ends(
        front, zk_hosts, zk_proxy, witness, zk_path, applied=True, others=lambda: None
    )
    assert isinstance(outcome, OutcomeUnknown)
    assert outcome.path == zk_path and "write twice" in outcome.hint
    assert witness.get(zk_path)[0] == long(6)


@pytest.mark.front("threads")
def test_not_applied_and_the_session_lost(front, zk_hosts, zk_proxy, zk_path, witness):
    """The request is lost, and then the session. Nobody has written: so it surely was not applied,
    and is made in the next session."""
    outcome = increments_while_its_session_ends(
        front, zk_hosts, zk_proxy, witness, zk_path, applied=False, others=lambda: None
    )
    assert outcome.succeeded and outcome.after == 6
    assert witness.get(zk_path)[0] == long(6)


@pytest.mark.front("threads")
def test_others_wrote_and_the_session_lost(front, zk_hosts, zk_proxy, zk_connect, zk_path, witness):
    """The same, but somebody else has written another value: so it surely was not applied."""
    others = AtomicLong(zk_connect(), zk_path)
    outcome = increments_while_its_session_ends(
        front, zk_hosts, zk_proxy, witness, zk_path, applied=False, others=lambda: others.add(10)
    )
    assert outcome.succeeded and (outcome.before, outcome.after) == (15, 16)
    assert others.get() == 16


@pytest.mark.front("threads")
def test_closed_under_way(front, zk_proxy, zk_path):
    """Whoever closes the session of an increment leaves it in doubt."""
    session = front.connect(zk_proxy.hosts)
    counter = AtomicLong(session, zk_path)
    counter.increment()
    before = zk_proxy.requests["multi"]
    zk_proxy.delay(0.3)
    job = front.actor().begin(lambda: counter.increment())
    assert eventually(lambda: zk_proxy.requests["multi"] > before)
    front.close(session)
    with pytest.raises(OutcomeUnknown):
        job.result(10)


# --- callers that leave ----------------------------------------------------------------------


def test_a_caller_that_leaves(front, zk_proxy, zk_path, when):
    """It does not learn whether its increment counted; the next one uses the same receipt, and
    counts once."""
    with front.session(zk_proxy.hosts) as session:
        counter = AtomicLong(session, zk_path)
        front.call(lambda: counter.increment())
        before = zk_proxy.requests["multi"]
        zk_proxy.delay(0.3)

        def struck() -> None:
            eventually(lambda: zk_proxy.requests["multi"] > before)

        caught = front.interrupted(lambda: counter.increment(), struck)
        zk_proxy.delay(0)
        assert caught is not None
        counted = front.call(lambda: counter.get())
        assert counted == 2
        assert front.call(lambda: counter.increment()).after == 3
        assert session.noted(("receipts in use", zk_path)) is None


# --- versions come to an end ---------------------------------------------------------------------


def test_the_version_is_used_up(front, open_session, zk_path, monkeypatch):
    """A version of -1 would mean any: such a write is refused, and a plain write helps."""
    session = open_session()
    counter = AtomicLong(session, zk_path)
    front.call(lambda: counter.force_set(1))
    plain = receipts._replacing

    def after_a_long_time(path: str, found: Data, data: bytes) -> Any:
        return plain(path, Data(found.data, found.stat._replace(version=-1)), data)

    monkeypatch.setattr(receipts, "_replacing", after_a_long_time)
    with pytest.raises(VersionUsedUp, match=f"version of {zk_path} has come to -1"):
        front.call(lambda: counter.increment())
    front.call(lambda: counter.force_set(2))


# --- what is left ----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.front("threads")
def test_a_thousand_sessions(front, zk_hosts, zk_path, witness):
    """Receipts go with their sessions: after a thousand there is none."""
    many, workers = 1000, 8

    def come_and_go() -> None:
        with zkkit.connect(zk_hosts) as session:
            assert AtomicLong(session, zk_path, retry=Forever(0.001)).increment().succeeded

    jobs = []
    actors = front.actors(workers)
    for number in range(many):
        jobs.append(actors[number % workers].begin(come_and_go))
    for job in jobs:
        job.result(120)
    assert witness.get(zk_path)[0] == long(many)
    assert witness.get_children(f"{zk_path}-receipts") == []
