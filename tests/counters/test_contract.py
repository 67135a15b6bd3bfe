"""What every counter does, on every front: behaviours of Curator's TestDistributedAtomicLong and of
kazoo's test_counter among them."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from kazoo.security import make_acl

from tests.counters.kinds import kazoo_keeps, long
from tests.support.fronts import FrontUnderTest
from zkkit import AtomicFloat, AtomicInt, AtomicLong, AtomicValue, PromotedToLock
from zkkit.errors import CorruptData, CounterUsedUp, NoAuth, SessionClosed
from zkkit.record import Recorder
from zkkit.retry import NEVER, NTimes
from zkkit.testing import eventually


def told(result: Any) -> tuple[Any, ...]:
    return (result.succeeded, result.before, result.after)


def test_basic(front, open_session, zk_path, witness):
    """testBasic: a new counter is zero; each change says what was before and after."""
    counter = AtomicLong(open_session(), zk_path)
    actor = front.actor()
    assert actor.call(lambda: counter.get()) == 0
    assert witness.exists(zk_path) is None
    assert told(actor.call(lambda: counter.increment())) == (True, 0, 1)
    assert told(actor.call(lambda: counter.decrement())) == (True, 1, 0)
    assert told(actor.call(lambda: counter.add(10))) == (True, 0, 10)
    result = actor.call(lambda: counter.subtract(5))
    assert told(result) == (True, 10, 5)
    statistics = result.statistics
    assert (statistics.optimistic_tries, statistics.promoted_tries) == (1, 0)
    assert statistics.optimistic_seconds > 0
    assert statistics.promoted_seconds == 0
    assert actor.call(lambda: counter.get()) == 5
    assert witness.get(zk_path)[0] == long(5)


@pytest.mark.front("threads")
def test_forms(front, open_session, zk_path, witness):
    """Eight bytes, four bytes, digits: as Curator and kazoo write them; a node without data is
    zero."""
    session = open_session()
    for number, (kind, options, data) in enumerate(
        (
            (AtomicLong, {}, long(-3)),
            (AtomicInt, {}, struct.pack(">i", -3)),
            (AtomicLong, {"layout": "kazoo"}, b"-3"),
            (AtomicFloat, {}, b"-3.0"),
        )
    ):
        path = f"{zk_path}-{number}"
        witness.create(path)
        counter = kind(session, path, **options)
        assert counter.get() == 0
        assert told(counter.subtract(3)) == (True, 0, -3)
        assert witness.get(path)[0] == data
        assert kind(session, path, **options).get() == -3


@pytest.mark.front("threads")
def test_beside_kazoos_counters(front, open_session, zk_path, witness):
    """int_counter, int_curator_counter, float_counter, pre_post_values: each sees the other's."""
    session = open_session()
    pairs = (
        (AtomicLong(session, f"{zk_path}-int", layout="kazoo"), {}, 2),
        (AtomicInt(session, f"{zk_path}-curator"), {"support_curator": True}, 2),
        (AtomicFloat(session, f"{zk_path}-float"), {"default": 0.0}, 2.5),
    )
    for ours, options, amount in pairs:
        theirs = witness.Counter(ours.path, **options)
        theirs += amount
        assert told(ours.add(amount)) == (True, amount, 2 * amount)
        theirs -= amount
        assert (theirs.pre_value, theirs.post_value) == (2 * amount, amount)
        assert ours.get() == amount
        assert told(ours.increment()) == (True, amount, amount + 1)
        assert witness.Counter(ours.path, **options).value == amount + 1


@pytest.mark.front("threads")
def test_what_makes_no_sense(front, open_session, zk_path, witness):
    """errors: what is no such number is refused before anything is sent."""
    session = open_session()
    for wrong in ("1", 2.5, None, True, 2**63):
        with pytest.raises(ValueError, match="an integer of 64 bits"):
            AtomicLong(session, zk_path).add(wrong)
    with pytest.raises(ValueError, match="an integer of 32 bits"):
        AtomicInt(session, zk_path).force_set(2**31)
    with pytest.raises(ValueError, match="bytes"):
        AtomicValue(session, zk_path).try_set("text")
    with pytest.raises(ValueError, match="no layout 'java'"):
        AtomicLong(session, zk_path, layout="java")
    assert witness.exists(zk_path) is None


def test_corrupted(front, open_session, zk_path, witness):
    """testCorruptedValue: an error that names the node, until somebody writes it anew."""
    witness.create(zk_path, b"foo")
    counter = AtomicLong(open_session(), zk_path)
    actor = front.actor()
    for call in (counter.get, counter.increment, lambda: counter.compare_and_set(0, 1)):
        with pytest.raises(CorruptData, match=f"{zk_path} holds b'foo'"):
            actor.call(lambda call=call: call())
    assert witness.get(zk_path)[0] == b"foo"
    actor.call(lambda: counter.force_set(3))
    assert told(actor.call(lambda: counter.increment())) == (True, 3, 4)


@pytest.mark.front("threads")
def test_digits_are_not_guessed_at(front, open_session, zk_path, witness):
    """Python reads more as a number than kazoo ever writes: that is reported."""
    session = open_session()
    whole = AtomicLong(session, zk_path, layout="kazoo")
    decimal = AtomicFloat(session, zk_path)
    witness.create(zk_path)
    for kazoos, wrong in (
        (whole, (b" 1_0 ", b"+1", b"1\n", b"1.0", "\u0661".encode(), b"9" * 5000)),
        (decimal, (b" 1.0", b"1_0.0", b"nan", b"-inf", b"1e+999", b".5", b"1.", b"9" * 5000)),
    ):
        for data in wrong:
            witness.set(zk_path, data)
            with pytest.raises(CorruptData, match=f"{zk_path} holds b'"):
                kazoos.get()
    for value in (0.0, -2.5, 1e22, 1.5e-07, -1e300):
        witness.set(zk_path, repr(value).encode())
        assert decimal.get() == value


@pytest.mark.front("threads")
def test_digits_used_up(front, open_session, zk_path):
    """What cannot be written as digits, or is not finite, is refused as well."""
    session = open_session()
    whole = AtomicLong(session, zk_path, layout="kazoo")
    whole.force_set(largest := 10**4300 - 1)
    with pytest.raises(CounterUsedUp, match="cannot hold one of more digits"):
        whole.increment()
    assert whole.get() == largest
    decimal = AtomicFloat(session, zk_path)
    decimal.force_set(1.7e308)
    with pytest.raises(CounterUsedUp, match="cannot hold inf"):
        decimal.add(1.7e308)
    assert decimal.get() == 1.7e308


@pytest.mark.front("threads")
def test_used_up(front, open_session, zk_path, witness):
    """A number that its node cannot hold is refused: Java's would go on at the other end."""
    counter = AtomicInt(open_session(), zk_path)
    counter.force_set(2**31 - 2)
    assert counter.increment().after == 2**31 - 1
    with pytest.raises(CounterUsedUp, match=f"{zk_path} cannot hold 2147483648"):
        counter.increment()
    assert counter.get() == 2**31 - 1


def test_compare_and_set(front, open_session, zk_path):
    """testCompareAndSetWithFreshInstance, testCompareAndSet: not before there is a node; then of
    two who expect the same the first."""
    one, two = (AtomicLong(open_session(), zk_path) for _ in range(2))
    actor = front.actor()
    assert told(actor.call(lambda: one.compare_and_set(0, 1))) == (False, 0, 0)
    assert actor.call(lambda: one.initialize(0))
    assert not actor.call(lambda: two.initialize(9))
    assert told(actor.call(lambda: one.compare_and_set(0, 1))) == (True, 0, 1)
    result = actor.call(lambda: two.compare_and_set(0, 2))
    assert told(result) == (False, 1, 1)
    assert result.statistics.optimistic_tries == 1  # it would not help to try again
    assert told(actor.call(lambda: two.compare_and_set(1, 2))) == (True, 1, 2)


def test_force_set(front, open_session, zk_path, witness):
    """testForceSet: whatever is there; the node is made where there is none, with its parents."""
    path = f"{zk_path}/deep/down"
    counter = AtomicLong(open_session(), path)
    actor = front.actor()
    actor.call(lambda: counter.force_set(10))
    assert told(actor.call(lambda: counter.try_set(30))) == (True, 10, 30)
    actor.call(lambda: counter.force_set(20))
    assert actor.call(lambda: counter.get()) == 20
    assert witness.get(path)[0] == long(20)


def test_bytes(front, open_session, zk_path, witness):
    """An AtomicValue is bytes as they are."""
    value = AtomicValue(open_session(), zk_path)
    actor = front.actor()
    assert actor.call(lambda: value.get()) == b""
    assert told(actor.call(lambda: value.try_set(b"\0one"))) == (True, b"", b"\0one")
    assert told(actor.call(lambda: value.compare_and_set(b"", b"x"))) == (False, *[b"\0one"] * 2)
    assert told(actor.call(lambda: value.compare_and_set(b"\0one", b""))) == (True, b"\0one", b"")
    assert witness.get(zk_path)[0] == b""


def crowd(front: FrontUnderTest, counters: list[Any], times: int) -> list[Any]:
    """Everybody increments so many times; all results."""
    jobs = []
    for counter in counters:
        actor = front.actor()
        jobs += [actor.begin(lambda counter=counter: counter.increment()) for _ in range(times)]
    return [job.result(60) for job in jobs]


@pytest.mark.concurrent
@pytest.mark.parametrize("shared", [False, True], ids=["sessions", "one session"])
def test_a_crowd(front, open_session, zk_path, witness, shared):
    """Five at a time, each in a session of its own or all in one: every increment counts once, and
    no two of them see the same number."""
    sessions = [open_session()] * 5 if shared else [open_session() for _ in range(5)]
    results = crowd(front, [AtomicLong(session, zk_path) for session in sessions], 8)
    done = [result for result in results if result.succeeded]
    assert len(done) == 40
    assert sorted(result.before for result in done) == list(range(40))
    assert all(result.after == result.before + 1 for result in done)
    assert witness.get(zk_path)[0] == long(40)
    receipts = witness.get_children(f"{zk_path}-receipts")
    assert len(receipts) <= 5
    assert all(session.noted(("receipts in use", zk_path)) is None for session in sessions)


@pytest.mark.concurrent
@pytest.mark.parametrize("kind", [AtomicLong, kazoo_keeps])
def test_a_crowd_counts(front, kind, open_session, zk_path):
    """The same, as far as kazoo's own Counter can be asked: the sum is right."""
    counters = [kind(open_session(), zk_path) for _ in range(4)]
    crowd(front, counters, 6)
    assert front.call(lambda: counters[0].get()) == 24


@pytest.mark.concurrent
@pytest.mark.parametrize(
    "size",
    [(4, 5), pytest.param((20, 50), marks=[pytest.mark.slow, pytest.mark.front("threads")])],
    ids=["4x5", "20x50"],
)
def test_simulation(front, open_session, zk_path, witness, size):
    """testSimulation: many, who try once and then take the lock: none fails."""
    many, times = size
    sessions = [open_session(timeout=20.0) for _ in range(min(many, 5))]
    promoted = PromotedToLock(f"{zk_path}-lock", retry=NTimes(1000, 0.001))
    counters = [
        AtomicLong(sessions[n % len(sessions)], zk_path, retry=NEVER, promoted_to=promoted)
        for n in range(many)
    ]
    results = crowd(front, counters, times)
    assert all(result.succeeded for result in results)
    assert sorted(result.before for result in results) == list(range(many * times))
    by_lock = [r.statistics for r in results if r.statistics.promoted_tries]
    assert by_lock
    assert all(each.promoted_seconds > 0 and each.optimistic_tries == 1 for each in by_lock)
    assert eventually(lambda: not witness.get_children(f"{zk_path}-lock"))


@pytest.mark.front("threads")
def test_giving_up(front, open_session, zk_path, witness):
    """Whoever always comes too late is told so, and has changed nothing: by luck and by the lock,
    and when the lock is not to be had in time."""
    session, other = open_session(), open_session()
    rival = AtomicLong(other, zk_path)
    rival.force_set(0)

    def late(counter: Any) -> Any:
        """Somebody else is quicker, every time."""
        change = counter._change

        def after_the_rival(how: Any, *, creates: bool = True) -> Any:
            def slow(now: int) -> Any:
                # Not by a session of zkkit: scripts wait for nothing, the thread is everybody's.
                witness.set(zk_path, long(now + 1))
                return how(now)

            return change(slow, creates=creates)

        counter._change = after_the_rival
        return counter

    result = late(AtomicLong(session, zk_path, retry=NTimes(2))).add(100)
    assert not result.succeeded
    assert result.before == result.after == 2
    assert result.statistics.optimistic_tries == 3
    lock = f"{zk_path}-lock"
    promoted = PromotedToLock(lock, retry=NTimes(1))
    result = late(AtomicLong(session, zk_path, retry=NEVER, promoted_to=promoted)).add(100)
    assert not result.succeeded
    assert (result.statistics.optimistic_tries, result.statistics.promoted_tries) == (1, 2)
    rivals = AtomicLong(other, zk_path, promoted_to=lock)
    assert rivals._lock.acquire()
    promoted = PromotedToLock(lock, timeout=0.1)
    result = late(AtomicLong(session, zk_path, retry=NEVER, promoted_to=promoted)).add(100)
    assert not result.succeeded
    assert (result.statistics.optimistic_tries, result.statistics.promoted_tries) == (1, 0)
    assert result.statistics.promoted_seconds >= 0.1
    assert rival.get() == 7


@pytest.mark.front("threads")
def test_recorded(front, open_session, zk_path):
    """Each change is an event: the value after, the value before, the zxid of the write."""
    session = open_session()
    recorder = Recorder()
    session.hooks.add(recorder)
    counter = AtomicLong(session, zk_path)
    counter.increment()
    counter.add(4)
    counter.get()
    events = [event for hook, event in recorder if hook == "value"]
    assert [(e.path, e.kind, e.cause) for e in events] == [
        (zk_path, "1", "0"), (zk_path, "5", "1"), (zk_path, "5", ""),
    ]  # fmt: skip
    assert events[1].zxid == events[2].zxid == session.exists(zk_path).mzxid
    assert {e.recipe for e in events} == {"AtomicLong"}


@pytest.mark.front("threads")
def test_refused(front, open_session, zk_path, witness):
    """What the servers refuse is raised by its name, and nothing is left in the session."""
    witness.create(zk_path, long(1), acl=[make_acl("world", "anyone", read=True)])
    session = open_session()
    with pytest.raises(NoAuth):
        AtomicLong(session, zk_path).increment()
    assert session.noted(("receipts in use", zk_path)) is None


def test_a_closed_session(front, zk_hosts, zk_path):
    """It says so."""
    session = front.connect(zk_hosts)
    counter = AtomicLong(session, zk_path)
    front.close(session)
    with pytest.raises(SessionClosed):
        front.call(lambda: counter.increment())
