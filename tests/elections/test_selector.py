"""LeaderSelector on every front: the function runs while we lead, ends when we may not, and never
runs twice at once. Behaviours of Curator's TestLeaderSelector are among them."""

from __future__ import annotations

import functools
import logging
import threading

import pytest

from tests.elections.kinds import SHORT, Duty, Told, lapse
from zkkit import LeaderSelector
from zkkit.errors import AlreadyStarted, NotStarted
from zkkit.recipes.elections import Participant
from zkkit.testing import eventually, expire_session, throughout


@pytest.fixture
def duty(front):
    """What the leaders of this test do; all are let go in the end."""
    duty = Duty(front)
    yield duty
    duty.go.set()
    duty.may_leave.set()


# --- turns --------------------------------------------------------------------------------------


def test_a_turn(front, duty, open_session, zk_path, contenders, left_clean):
    """The function is given a leadership, leads while it runs, and its return ends that."""
    selector = duty.selector(open_session(), zk_path)
    assert not selector.is_leader
    front.call(lambda: selector.start())
    term = duty.runs(1)
    assert selector.is_leader and term.valid and not term.stop.is_set()
    assert term.token == selector.leadership.token
    assert front.call(lambda: term.check())
    assert [term.path] == [f"{zk_path}/{name}" for name in contenders(zk_path)]
    duty.go.set()
    left_clean(zk_path)
    eventually(lambda: not selector.is_leader)
    assert not term.valid and not term.stop.is_set()
    assert len(duty.terms) == 1, "nobody has asked it to stand again"
    front.call(lambda: selector.close())


@pytest.mark.concurrent
def test_rotating(front, duty, zk_hosts, zk_path, left_clean):
    """Those who stand again by themselves take turns; never two at once (testRotatingLeadership,
    testAutoRequeue)."""
    sessions = [front.connect(zk_hosts, timeout=10.0) for _ in range(3)]
    selectors = [duty.selector(session, zk_path, auto_requeue=True) for session in sessions]
    for number, selector in enumerate(selectors, 1):
        front.call(lambda selector=selector: selector.start())
        eventually(lambda n=number: len(front.call(lambda: selectors[0].participants())) == n)
    for number in range(1, 10):
        term = duty.runs(number)
        assert term._recipe is selectors[(number - 1) % 3], "not in turn"
        eventually(lambda: len(front.call(lambda: selectors[0].participants())) == 3)
        front.call(lambda term=term: term._recipe.interrupt())
    for selector in selectors:
        front.call(lambda selector=selector: selector.close())
    assert duty.most == 1
    left_clean(zk_path)
    for session in sessions:
        front.close(session)


def test_requeue(front, duty, open_session, zk_path, left_clean):
    """Who has had its turn stands again when it is asked to, also while it still leads; who stands
    in line already does not."""
    first, second = (duty.selector(open_session(), zk_path) for _ in range(2))
    with pytest.raises(NotStarted):
        front.call(lambda: first.requeue())
    front.call(lambda: first.start())
    duty.runs(1)
    front.call(lambda: second.start())
    assert front.call(lambda: second.requeue()) is False
    assert front.call(lambda: first.requeue()) is True
    assert front.call(lambda: first.requeue()) is False
    front.call(lambda: first.interrupt())
    assert duty.runs(2)._recipe is second
    front.call(lambda: second.interrupt())
    assert duty.runs(3)._recipe is first
    front.call(lambda: first.interrupt())
    left_clean(zk_path)
    assert front.call(lambda: first.requeue()) is True
    assert duty.runs(4)._recipe is first
    for selector in (first, second):
        front.call(lambda selector=selector: selector.close())
        with pytest.raises(NotStarted):
            front.call(lambda selector=selector: selector.requeue())
    assert duty.most == 1
    left_clean(zk_path)


# --- stopping -----------------------------------------------------------------------------------


@pytest.mark.defect("K-19")
def test_interrupt(front, duty, open_session, zk_path, contenders, left_clean, caplog):
    """The function is asked to stop; our node goes when it has, not before, without any error
    (testInterruptLeadership, testInterruption, testLeaderNodeDeleteOnInterrupt)."""
    duty.may_leave.clear()
    selector = duty.selector(open_session(), zk_path)
    other = duty.selector(open_session(), zk_path)
    front.call(lambda: selector.start())
    term = duty.runs(1)
    front.call(lambda: other.start())
    front.call(lambda: selector.interrupt())
    front.call(lambda: selector.interrupt())  # twice is once
    eventually(lambda: duty.stopped == 1)
    throughout(lambda: len(duty.terms) == 1 and term.valid, 0.2)  # it leads until it has ended
    duty.may_leave.set()
    assert duty.runs(2)._recipe is other
    assert duty.most == 1 and duty.stopped == 1
    front.call(lambda: selector.interrupt())  # nothing runs
    front.call(lambda: other.close())
    front.call(lambda: selector.close())
    left_clean(zk_path)
    assert [each for each in caplog.records if each.levelno >= logging.ERROR] == []


@pytest.mark.defect("K-19")
def test_the_session_expires(front, duty, zk_hosts, open_session, zk_path):
    """The function is stopped, the next one leads, and ours does not run again before it has ended
    (testKillSessionThenCloseShouldElectNewLeader, testInterruptLeadershipWithRequeue)."""
    duty.may_leave.clear()
    selector = duty.selector(open_session(), zk_path, auto_requeue=True)
    front.call(lambda: selector.start())
    term = duty.runs(1)
    expire_session(zk_hosts, selector.session)
    eventually(lambda: duty.stopped == 1)
    assert term.stop.is_set() and not term.valid and not selector.is_leader
    other = Duty(front)
    rival = other.selector(open_session(), zk_path)
    front.call(lambda: rival.start())
    later = other.runs(1)  # ours still runs: that is what the token is for
    assert later.token > term.token
    other.go.set()
    throughout(lambda: len(duty.terms) == 1, 0.2)
    duty.may_leave.set()
    assert duty.runs(2).token > later.token
    assert duty.most == 1
    front.call(lambda: selector.close())


def test_expired_without_requeueing(front, duty, zk_hosts, open_session, zk_path, left_clean):
    """It has had its turn."""
    selector = duty.selector(open_session(), zk_path)
    front.call(lambda: selector.start())
    duty.runs(1)
    expire_session(zk_hosts, selector.session)
    eventually(lambda: duty.stopped == 1 and duty.running == 0)
    left_clean(zk_path)
    assert len(duty.terms) == 1
    assert front.call(lambda: selector.requeue()) is True
    duty.runs(2)
    front.call(lambda: selector.close())


def test_who_waits_stands_again(front, duty, zk_hosts, open_session, zk_path):
    """A candidate that loses its session in line has not had its turn."""
    first, second = (duty.selector(open_session(), zk_path) for _ in range(2))
    front.call(lambda: first.start())
    duty.runs(1)
    front.call(lambda: second.start())
    eventually(lambda: len(front.call(lambda: first.participants())) == 2)
    known = second.session.session_id
    expire_session(zk_hosts, second.session)
    eventually(lambda: second.session.session_id not in (0, known))
    front.call(lambda: first.close())
    assert duty.runs(2)._recipe is second
    front.call(lambda: second.close())


@pytest.mark.front("threads")
@pytest.mark.defect("K-19")
def test_the_proof_lapses(front, duty, open_session, zk_path):
    """By the session's own clock leadership is in doubt: the function is stopped at once, though no
    server has said anything, and though another callback hangs."""
    selector = duty.selector(open_session(), zk_path, auto_requeue=True)
    go = threading.Event()
    selector.add_listener(lambda event: go.wait(20))
    front.call(lambda: selector.start())
    term = duty.runs(1)
    lapse(selector.session)
    assert term.stop.is_set(), "not at once"
    assert not term.valid
    assert duty.runs(2).token > term.token
    go.set()
    assert duty.most == 1
    front.call(lambda: selector.close())


def test_lost_before_the_function_begins(front, duty, open_session, zk_path):
    """The thread that is to run it may be slow to begin: if leadership is lost by then, the
    function is not called at all (testRaceAtStateChanged)."""
    session = open_session()
    lost = threading.Event()

    def lose(event):
        if not lost.is_set():
            lapse(session)
            lost.set()

    def held_back(function, name):
        return platform.spawn(lambda: lost.wait(20) and function(), name)

    if front.name != "asyncio":  # where listeners are called before the task takes its first step
        engine = session._runner._engine
        platform = engine._employ_actor.__self__
        engine._employ_actor = platform._replace(spawn=held_back).employ
    selector = duty.selector(session, zk_path, auto_requeue=True)
    told = Told(selector)
    selector.add_listener(lose)
    front.call(lambda: selector.start())
    term = duty.runs(1)
    told.hears(True, False, True)
    assert term.valid and not term.stop.is_set() and term.token == selector.leadership.token
    front.call(lambda: selector.close())
    assert len(duty.terms) == 1


@pytest.mark.parametrize("policy", ["short", pytest.param("long", marks=pytest.mark.slow)])
def test_a_broken_connection(front, duty, policy, zk_proxy, zk_path):
    """A short break stops nothing; one for longer than the session does, by our own clock
    (testErrorPolicies, testServerDying)."""
    short = policy == "short"
    with front.session(zk_proxy.hosts, timeout=10.0 if short else SHORT) as session:
        selector = duty.selector(session, zk_path, auto_requeue=True)
        front.call(lambda: selector.start())
        term = duty.runs(1)
        if short:
            zk_proxy.drop()
            eventually(lambda: session.state == "connected")
            assert front.call(lambda: term.check())
            assert term.valid and duty.stopped == 0
        else:
            lost = threading.Event()
            term.on_lost(lost.set)
            zk_proxy.cut()
            assert lost.wait(2 * SHORT)
            assert term.stop.is_set() or eventually(term.stop.is_set, 0.2), "later than `valid`"
            assert not term.valid
            zk_proxy.mend()
            assert duty.runs(2).token > term.token
        front.call(lambda: selector.close())
        assert duty.most == 1


def test_our_node_is_removed(front, duty, open_session, zk_path, witness):
    """Somebody else may lead now: the function is stopped."""
    selector = duty.selector(open_session(), zk_path)
    front.call(lambda: selector.start())
    term = duty.runs(1)
    lost = threading.Event()
    term.on_lost(lost.set)
    witness.delete(term.path)
    eventually(lambda: duty.stopped == 1)
    assert lost.wait(5) and not term.valid and not selector.is_leader
    front.call(lambda: selector.close())


@pytest.mark.front("threads")
@pytest.mark.concurrent
@pytest.mark.parametrize("op", ["create", "children", "get", "delete"])
def test_a_lost_reply(front, duty, op, zk_proxy, zk_path, witness, contenders, left_clean):
    """Of each request: one node, the function once at a time, and nothing is left."""
    witness.create(zk_path)
    with front.session(zk_proxy.hosts, timeout=10.0) as session:
        selector = duty.selector(session, zk_path)
        lost = zk_proxy.lose_reply(op)
        front.call(lambda: selector.start())
        term = duty.runs(1)
        assert [term.path] == [f"{zk_path}/{name}" for name in contenders(zk_path)]
        duty.go.set()
        assert lost.wait(20)
        left_clean(zk_path)
        front.call(lambda: selector.close())
        assert duty.most == 1 and len(duty.terms) == 1


# --- servers ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.front("threads")
def test_a_server_is_killed_then_the_leader_closes(
    front, duty, zk_ensemble, zk_hosts, zk_path, left_clean
):
    """While all look for another server: the next one leads when they have found one
    (testKillServerThenCloseShouldElectNewLeader)."""
    sessions = [front.connect(zk_hosts, timeout=10.0) for _ in range(2)]
    first, second = (duty.selector(session, zk_path) for session in sessions)
    front.call(lambda: first.start())
    duty.runs(1)
    front.call(lambda: second.start())
    eventually(lambda: len(front.call(lambda: second.participants())) == 2)
    killed = zk_ensemble.leader()
    try:
        zk_ensemble.kill(killed)
        front.call(lambda: first.close())
        assert duty.runs(2)._recipe is second
        assert duty.most == 1
    finally:
        zk_ensemble.restart(killed)
    front.call(lambda: second.close())
    left_clean(zk_path)
    for session in sessions:
        front.close(session)


@pytest.mark.slow
@pytest.mark.front("threads")
@pytest.mark.parametrize("lost", [False, True])
def test_all_servers_are_restarted(front, duty, lost, zk_ensemble, zk_hosts, zk_path, left_clean):
    """At once, or when the session is lost already: the function runs in the end, in a term that is
    valid, and never twice at once (LeaderSelectorCluster's testRestart, testLostRestart)."""
    with front.session(zk_hosts, timeout=SHORT) as session:
        selector = duty.selector(session, zk_path, auto_requeue=True)
        front.call(lambda: selector.start())
        term = duty.runs(1)
        try:
            for node in zk_ensemble.nodes:
                zk_ensemble.kill(node)
            if lost:
                eventually(lambda: session.state == "lost")
                assert term.stop.is_set() and not term.valid
        finally:
            for node in zk_ensemble.nodes:
                zk_ensemble.restart(node)
        eventually(lambda: duty.terms[-1].valid)
        assert duty.most == 1
        front.call(lambda: selector.close())
        left_clean(zk_path)


# --- closing ------------------------------------------------------------------------------------


def test_close_waits_for_the_function(front, duty, open_session, zk_path, left_clean):
    """After `close` nothing runs any more, and nothing is left (testClosing)."""
    duty.may_leave.clear()
    selector = duty.selector(open_session(), zk_path, auto_requeue=True)
    front.call(lambda: selector.start())
    duty.runs(1)
    closing = front.actor().begin(lambda: selector.close())
    eventually(lambda: duty.stopped == 1)
    throughout(lambda: not closing.done(), 0.2)
    duty.may_leave.set()
    closing.result(20)
    assert duty.running == 0 and len(duty.terms) == 1
    left_clean(zk_path)


def test_the_function_closes_its_selector(front, open_session, zk_path, left_clean):
    """It does not wait for itself."""
    closed = threading.Event()
    if front.name == "asyncio":

        async def serve(term):
            try:
                await selector.close()  # which cancels this very task
            finally:
                closed.set()

    else:

        def serve(term):
            selector.close()
            closed.set()

    selector = LeaderSelector(open_session(), zk_path, serve, auto_requeue=True)
    front.call(lambda: selector.start())
    assert closed.wait(20)
    left_clean(zk_path)
    front.call(lambda: selector.close())
    with pytest.raises(AlreadyStarted):
        front.call(lambda: selector.start())


def test_the_session_is_closed(front, duty, open_session, zk_path, left_clean):
    """The function is stopped, and nobody waits for it."""
    selector = duty.selector(open_session(), zk_path, auto_requeue=True)
    front.call(lambda: selector.start())
    term = duty.runs(1)
    front.close(selector.session)
    eventually(lambda: duty.stopped == 1 and duty.running == 0)
    assert term.stop.is_set() and not term.valid
    left_clean(zk_path)
    front.call(lambda: selector.close())


# --- the function ---------------------------------------------------------------------------------


def test_a_function_that_fails(front, duty, open_session, zk_path, caplog):
    """It is logged, and ends its turn: the next one leads."""
    if front.name == "asyncio":

        async def fail(term):
            raise RuntimeError("the leader fails")

    else:

        def fail(term):
            raise RuntimeError("the leader fails")

    failing = LeaderSelector(open_session(), zk_path, fail)
    front.call(lambda: failing.start())
    eventually(lambda: "the leader fails" in caplog.text)
    other = duty.selector(open_session(), zk_path)
    front.call(lambda: other.start())
    duty.runs(1)
    front.call(lambda: other.close())
    front.call(lambda: failing.close())


def test_participants(front, duty, open_session, zk_path):
    """Both see both, and who leads (testId)."""
    selectors = [duty.selector(open_session(), zk_path, id=name) for name in ("one", "two")]
    assert front.call(lambda: selectors[0].leader()) is None
    for number, selector in enumerate(selectors, 1):
        front.call(lambda selector=selector: selector.start())
        eventually(lambda n=number: len(front.call(lambda: selectors[0].participants())) == n)
    expected = (Participant("one", True), Participant("two", False))
    for selector in selectors:
        eventually(lambda s=selector: front.call(lambda: s.participants()) == expected)
        assert front.call(lambda s=selector: s.leader()) == expected[0]
    for selector in reversed(selectors):
        front.call(lambda s=selector: s.close())


async def _awaited(term):
    """A coroutine function."""


def _plain(term):
    """A plain one."""


class _Callable:
    async def __call__(self, term):
        """An object that is called as a coroutine function."""


def test_the_wrong_function(front, open_session, zk_path):
    """What the session cannot run is refused at once; kazoo's election wants one that can be called
    as well (test_bad_func)."""
    session = open_session()
    right, wrong = (_awaited, _plain) if front.name == "asyncio" else (_plain, _awaited)
    with pytest.raises(ValueError, match="can be called"):
        LeaderSelector(session, zk_path, "not a function")
    for function in (wrong, functools.partial(wrong)):
        with pytest.raises(ValueError, match="in this session a leader needs"):
            LeaderSelector(session, zk_path, function)
    LeaderSelector(session, zk_path, functools.partial(right))
    if front.name == "asyncio":
        LeaderSelector(session, zk_path, _Callable())
    with pytest.raises(ValueError, match="auto_requeue"):
        LeaderSelector(session, zk_path, right, auto_requeue="yes")
