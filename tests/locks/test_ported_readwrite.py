"""Curator's tests of its read-write lock: TestInterProcessReadWriteLock, and the whole table.

What both halves share with every lock is in test_contract, over every kind. Threads only, and
where a rule of the readers could matter, with both rules.
"""

from __future__ import annotations

import random
import threading

import pytest

from tests.support.rooms import finish
from zkkit import HerdReadWriteLock, ReadWriteLock
from zkkit.errors import UpgradeRefused
from zkkit.record import Recorder
from zkkit.record.counts import wakeups
from zkkit.testing import eventually, expire_session

pytestmark = pytest.mark.front("threads")
RULES = pytest.mark.parametrize("rule", ["last-writer", "first-writer"])

NOW, NEVER, REFUSED = "at once", "not while it is held", "refused"
TABLE = {
    # held    wanted    by the same   by another
    ("read", "read"): (NOW, NOW),
    ("read", "write"): (REFUSED, NEVER),
    ("write", "read"): (NOW, NEVER),
    ("write", "write"): (NOW, NEVER),
}


@pytest.mark.parametrize("layout", ["curator", "kazoo"])
@pytest.mark.parametrize("same", [True, False], ids=["same-actor", "other-actor"])
@pytest.mark.parametrize(("held", "wanted"), TABLE)
def test_the_table(front, open_session, zk_path, layout, held, wanted, same, left_clean):
    """What is granted to whom while what is held: {read, write} x {read, write} x {same, other}."""
    lock = ReadWriteLock(open_session(), zk_path, layout=layout)
    first, second = getattr(lock, held), getattr(lock, wanted)
    owner, other = front.actors(2)
    owner.call(lambda: first.acquire())
    asker = owner if same else other
    expected = TABLE[held, wanted][not same]
    if expected is REFUSED:
        with pytest.raises(UpgradeRefused, match="wait for itself"):
            asker.call(lambda: second.acquire())
    else:
        got = asker.call(lambda: second.acquire(False))
        assert (got is not None) == (expected is NOW)
        if got is not None:
            asker.call(lambda: second.release())
    owner.call(lambda: first.release())
    left_clean(zk_path)


def test_participants_of_each_kind(front, open_session, zk_path, when):
    """testGetParticipantNodes: 20 readers and 8 writers, listed apart, each in order."""
    session = open_session()
    lock = ReadWriteLock(session, zk_path)
    readers, writers = front.actors(20), front.actors(8)
    holds = [reader.call(lambda: lock.read.acquire()) for reader in readers]
    queued = when(session, watch_set=8)
    jobs = [writer.begin(lambda: lock.write.acquire()) for writer in writers]
    queued.wait()
    assert list(lock.read.participants()) == [hold.path for hold in holds]
    waiting = lock.write.participants()
    assert len(waiting) == 8 and list(waiting) == sorted(waiting, key=lambda path: path[-10:])
    for reader in readers:
        reader.call(lambda: lock.read.release())
    releases = [writer.begin(lambda: lock.write.release()) for writer in writers]
    granted = [job.result(20).path for job in jobs]
    finish(releases)
    assert sorted(granted) == sorted(waiting)


def test_upgrading_is_refused(front, open_session, zk_path, left_clean):
    """testThatUpgradingIsDisallowed: refused with the way out, however one asks, at once."""
    lock = ReadWriteLock(open_session(), zk_path)
    actor = front.actor()
    hold = actor.call(lambda: lock.read.acquire())
    for arguments in ({}, {"blocking": False}, {"timeout": 5}):
        with pytest.raises(UpgradeRefused) as caught:
            actor.call(lambda given=arguments: lock.write.acquire(**given))
        assert "release the read lock first" in caught.value.hint
        assert caught.value.path == zk_path
    assert hold.valid
    actor.call(lambda: lock.read.release())
    assert actor.call(lambda: lock.write.acquire(timeout=10)).valid
    actor.call(lambda: lock.write.release())
    left_clean(zk_path)


def test_downgrading_respects_actors(front, open_session, zk_path):
    """testThatDowngradingRespectsThreads: another actor may not read under my write."""
    lock = ReadWriteLock(open_session(), zk_path)
    owner, other = front.actors(2)
    owner.call(lambda: lock.write.acquire())
    assert other.call(lambda: lock.read.acquire(timeout=0.3)) is None
    assert owner.call(lambda: lock.read.acquire(timeout=10))


@RULES
def test_downgrading(front, open_session, zk_path, rule, left_clean):
    """testDowngrading: write, read, leave the write: still reading, with other readers."""
    lock = ReadWriteLock(open_session(), zk_path, reader_rule=rule)
    elsewhere = ReadWriteLock(open_session(), zk_path, reader_rule=rule)
    owner, other = front.actors(2)
    writing = owner.call(lambda: lock.write.acquire())
    reading = owner.call(lambda: lock.read.acquire())
    owner.call(lambda: lock.write.release())
    assert reading.valid and not writing.valid
    assert other.call(lambda: elsewhere.read.acquire(timeout=10)).valid
    assert other.call(lambda: elsewhere.read.release()) is None
    assert other.call(lambda: elsewhere.write.acquire(False)) is None
    owner.call(lambda: lock.read.release())
    left_clean(zk_path)


@pytest.mark.defect("C-8")
def test_contending_downgrading(front, open_session, zk_path, when, left_clean):
    """testContendingDowngrading (CURATOR-621): a writer in line stays out after write -> read; the
    read hold keeps the write hold's token, smaller than the next writer's."""
    session, other = open_session(), open_session()
    lock, rival = ReadWriteLock(session, zk_path), ReadWriteLock(other, zk_path)
    owner, writer = front.actors(2)
    writing = owner.call(lambda: lock.write.acquire())
    queued = when(other, watch_set=1)
    job = writer.begin(lambda: rival.write.acquire())
    queued.wait()
    reading = owner.call(lambda: lock.read.acquire())
    assert reading.token == writing.token
    looked_again = when(other, watch_set=1)
    owner.call(lambda: lock.write.release())
    looked_again.wait()  # woken by the write node's leaving, it now waits for the read node
    assert not job.done()
    assert owner.call(lambda: reading.check())
    owner.call(lambda: lock.read.release())
    granted = job.result(20)
    assert granted.token > reading.token
    writer.call(lambda: rival.write.release())
    left_clean(zk_path)


@pytest.mark.parametrize("loss", ["lose_reply", "lose_request"])
def test_downgrading_outlives_a_loss(front, open_session, zk_proxy, zk_path, loss, left_clean):
    """The create of the read node is lost, or its reply: one read node, in the writer's place."""
    lock = ReadWriteLock(open_session(zk_proxy.hosts), zk_path)
    writing = lock.write.acquire()
    lost = getattr(zk_proxy, loss)("create")
    reading = lock.read.acquire()
    assert lost.wait(0)
    assert lock.read.participants() == (reading.path,)
    assert reading.path[-10:] == writing.path[-10:] and reading.token == writing.token
    lock.write.release()
    assert reading.check()
    lock.read.release()
    left_clean(zk_path)


class Shelf:
    """Notices when a writer is not alone."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._inside = {"read": 0, "write": 0}
        self.wrong = 0
        self.most_readers = 0

    def enter(self, half: str) -> None:
        with self._guard:
            self._inside[half] += 1
            writers, readers = self._inside["write"], self._inside["read"]
            self.wrong += writers > 1 or (writers == 1 and readers > 0)
            self.most_readers = max(self.most_readers, readers)

    def leave(self, half: str) -> None:
        with self._guard:
            self._inside[half] -= 1


@pytest.mark.concurrent
@pytest.mark.parametrize("design", ["last-writer", "first-writer", "mixed", "herd"])
def test_one_writer_or_many_readers(front, open_session, zk_path, design, left_clean):
    """testBasic: eight clients read and write at random; a writer is always alone."""
    rng, shelf, jobs = random.Random(5), Shelf(), []
    for number in range(8):
        rule = ("last-writer", "first-writer")[number % 2] if design == "mixed" else design
        session = open_session()
        lock = (
            HerdReadWriteLock(session, zk_path)
            if design == "herd"
            else ReadWriteLock(session, zk_path, reader_rule=rule)
        )
        actor = front.actor()
        for _ in range(8):
            half = "write" if rng.random() < 0.25 else "read"
            part = getattr(lock, half)
            jobs.append(actor.begin(lambda part=part: part.acquire()))
            jobs.append(actor.begin(lambda half=half: shelf.enter(half)))
            jobs.append(actor.begin(lambda half=half: shelf.leave(half)))
            jobs.append(actor.begin(lambda part=part: part.release()))
    finish(jobs)
    assert shelf.wrong == 0
    assert shelf.most_readers >= 1
    left_clean(zk_path)


def test_node_data(front, open_session, zk_path, witness):
    """testSetNodeData: both halves write the lock's data into their nodes; else the session's."""
    session = open_session(node_data=b"session")
    actor = front.actor()
    for given, expected in ((b"lock", b"lock"), (b"", b""), (None, b"session")):
        lock = ReadWriteLock(session, zk_path, node_data=given)
        for half in (lock.read, lock.write):
            hold = actor.call(lambda half=half: half.acquire())
            assert witness.get(hold.path)[0] == expected
            actor.call(lambda half=half: half.release())


def test_lock_path_after_a_killed_session(front, open_session, zk_hosts, zk_path, witness):
    """testLockPath: with its session the old lock path is gone; another reader gets in, and the
    old one gets a new path."""
    session, other = open_session(), open_session()
    lock, elsewhere = ReadWriteLock(session, zk_path), ReadWriteLock(other, zk_path)
    owner, reader = front.actors(2)
    writing = owner.call(lambda: lock.write.acquire())
    job = reader.begin(lambda: elsewhere.read.acquire())
    expire_session(zk_hosts, session)
    assert job.result(15).valid
    assert not witness.exists(writing.path)
    assert eventually(lambda: not writing.valid, 5)
    again = owner.call(lambda: lock.read.acquire(timeout=10))
    assert again.path != writing.path and again.token != writing.token  # no downgrade of a loss


@pytest.mark.parametrize("layout", ["curator", "kazoo"])
def test_no_downgrade_of_what_was_deleted(
    front, open_session, zk_path, witness, layout, left_clean
):
    """Somebody deletes the write node by hand and another one writes: the first one reads only when
    that is over, as any reader does, and under a token of its own."""
    session, other = open_session(), open_session()
    lock, elsewhere = (ReadWriteLock(each, zk_path, layout=layout) for each in (session, other))
    owner, writer = front.actors(2)
    writing = owner.call(lambda: lock.write.acquire())
    witness.delete(writing.path)
    written = writer.call(lambda: elsewhere.write.acquire(timeout=10))
    assert owner.call(lambda: lock.read.acquire(False)) is None
    job = owner.begin(lambda: lock.read.acquire(timeout=20))
    assert eventually(lambda: len(witness.get_children(zk_path)) == 2)
    assert writer.call(lambda: written.check()) and not job.done()
    writer.call(lambda: elsewhere.write.release())
    reading = job.result(10)
    assert reading.token == reading.czxid > written.token
    owner.call(lambda: lock.write.release())
    owner.call(lambda: lock.read.release())
    left_clean(zk_path)


@pytest.mark.parametrize(("rule", "woken"), [("last-writer", 1), ("first-writer", 3)])
def test_how_often_a_reader_is_woken(front, open_session, zk_path, when, rule, woken):
    """Behind three writers: `last-writer` is woken once, `first-writer` by each of them."""
    session, reading = open_session(), open_session()
    lock = ReadWriteLock(session, zk_path)
    writers = front.actors(3)
    jobs = []
    for number, writer in enumerate(writers):
        queued = when(session, **{"watch_set" if number else "node_created": 1})
        jobs.append(writer.begin(lambda: lock.write.acquire()))
        queued.wait()
    recorder = Recorder()
    reading.hooks.add(recorder)
    queued = when(reading, watch_set=1)
    reader = front.actor()
    job = reader.begin(lambda: ReadWriteLock(reading, zk_path, reader_rule=rule).read.acquire())
    queued.wait()
    for number, writer in enumerate(writers):
        jobs[number].result(10)
        looked_again = when(reading, watch_set=1)
        writer.call(lambda: lock.write.release())
        if rule == "first-writer" and number < 2:
            looked_again.wait()
    assert job.result(10).valid
    assert len(wakeups(recorder)) == woken


def test_senseless_options(open_session, zk_path):
    """A rule or a layout that does not exist is refused, with those that do."""
    session = open_session()
    with pytest.raises(ValueError, match="last-writer, first-writer"):
        ReadWriteLock(session, zk_path, reader_rule="any")
    with pytest.raises(ValueError, match="curator, kazoo"):
        ReadWriteLock(session, zk_path, layout="java")
