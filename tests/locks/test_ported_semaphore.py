"""Curator's tests of its semaphore: TestInterProcessSemaphore, TestInterProcessSemaphoreCluster.

What a semaphore of one lease shares with every lock is in test_contract. Threads only.
"""

from __future__ import annotations

import random
import threading

import pytest

from tests.support.rooms import Room, finish, visit
from zkkit import Lease, Semaphore, SharedCount
from zkkit.errors import CorruptData, Unsupported
from zkkit.testing import eventually, throughout

pytestmark = pytest.mark.front("threads")


def name_of(lease):
    """The name of its node."""
    return lease.path.rpartition("/")[2]


def taken(contenders, path):
    """How many leases there are."""
    return len(contenders(f"{path}/leases"))


# --- TestInterProcessSemaphore ------------------------------------------------------------------


@pytest.mark.defect("C-6")
@pytest.mark.parametrize("loss", ["lose_reply", "lose_request"])
def test_acquire_after_a_lost_server(
    front, open_session, zk_proxy, zk_path, contenders, loss, left_clean
):
    """testAcquireAfterLostServer (CURATOR-335): the connection breaks between the lease's create
    and the look at all leases: one lease, no orphan."""
    semaphore = Semaphore(open_session(zk_proxy.hosts), zk_path, 1)
    actor = front.actor()
    actor.call(lambda: semaphore.acquire()).release()
    # The first listing is of the line, the second of the leases.
    lost = [getattr(zk_proxy, loss)("children") for _ in range(2)]
    lease = actor.call(lambda: semaphore.acquire())
    assert all(each.wait(0) for each in lost)
    assert taken(contenders, zk_path) == 1
    lease.release()
    left_clean(zk_path)


def test_raising_the_limit_wakes_a_waiter(front, open_session, zk_path, when, contenders):
    """testThreadedLeaseIncrease: the SharedCount grows, and the waiter is let in; it shrinks, and
    takes nothing from anybody, but the next has to wait for two returns."""
    session, admin = open_session(), open_session()
    semaphore = Semaphore(session, zk_path, SharedCount(session, zk_path + "-limit", seed=1))
    limit = SharedCount(admin, zk_path + "-limit")
    first = semaphore.acquire()
    queued = when(session, watch_set=2)  # the leases and the limit
    job = front.actor().begin(lambda: semaphore.acquire())
    queued.wait()
    assert not job.done()
    limit.set(2)
    second = job.result(10)
    assert first.valid and second.valid
    limit.set(1)
    assert first.valid and second.valid
    queued = when(session, watch_set=2)
    job = front.actor().begin(lambda: semaphore.acquire())
    queued.wait()
    looked_again = when(session, watch_set=2)
    first.release()
    looked_again.wait()
    assert not job.done()
    second.release()
    assert job.result(10).valid


def test_closing_frees_leases(front, open_session, zk_hosts, zk_path, when):
    """testClientClose: a session that closes returns its leases, and lets waiters in."""
    waiting, closing = open_session(), front.connect(zk_hosts, timeout=6.0)
    leases = Semaphore(closing, zk_path, 2).acquire_many(2)
    queued = when(waiting, watch_set=1)
    job = front.actor().begin(lambda: Semaphore(waiting, zk_path, 2).acquire_many(2))
    queued.wait()
    front.close(closing)
    assert len(job.result(10)) == 2
    assert not leases.valid


class Tally:
    """How many are out, and the most that ever were."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self.out = 0
        self.most = 0

    def add(self, count: int) -> None:
        with self._guard:
            self.out += count
            self.most = max(self.most, self.out)


@pytest.mark.concurrent
def test_never_more_than_the_limit(front, open_session, zk_path, left_clean):
    """testMaxPerSession: sessions take random quantities; together never more than the limit."""
    limit, rng, tally = 5, random.Random(11), Tally()

    def rounds(semaphore, quantities):
        for quantity in quantities:
            leases = semaphore.acquire_many(quantity)
            tally.add(len(leases))
            tally.add(-len(leases))
            leases.release()

    jobs = []
    for _ in range(6):
        semaphore = Semaphore(open_session(), zk_path, limit)
        quantities = [rng.randint(1, limit) for _ in range(6)]
        jobs.append(front.actor().begin(lambda s=semaphore, q=quantities: rounds(s, q)))
    finish(jobs)
    assert 1 <= tally.most <= limit
    left_clean(zk_path)


def test_release_one_at_a_time(front, open_session, zk_path, when):
    """testRelease1AtATime: each lease returned lets exactly one waiter in."""
    session, count = open_session(), 5
    semaphore = Semaphore(session, zk_path, count)
    leases = semaphore.acquire_many(count)
    queued = when(session, watch_set=count)
    jobs = [front.actor().begin(lambda: semaphore.acquire()) for _ in range(count)]
    queued.wait()
    for number, lease in enumerate(leases, start=1):
        lease.release()
        assert eventually(lambda n=number: sum(job.done() for job in jobs) == n, 10)
    assert all(job.result(0).valid for job in jobs)
    assert len(semaphore.participants()) == count


def test_release_in_chunks(front, open_session, zk_path, when):
    """testReleaseInChunks: as many waiters come in as leases are returned together."""
    session, count = open_session(), 6
    semaphore = Semaphore(session, zk_path, count)
    chunks = [semaphore.acquire_many(3), semaphore.acquire_many(3)]
    queued = when(session, watch_set=count)
    jobs = [front.actor().begin(lambda: semaphore.acquire()) for _ in range(count)]
    queued.wait()
    for number, chunk in enumerate(chunks, start=1):
        chunk.release()
        assert eventually(lambda n=number: sum(job.done() for job in jobs) == 3 * n, 10)


@pytest.mark.concurrent
def test_many_actors_on_one_object(front, open_session, zk_path, left_clean):
    """testThreads: ten actors, three leases, one object."""
    room = Room()
    semaphore = Semaphore(open_session(), zk_path, 3)
    jobs = []
    for number, actor in enumerate(front.actors(10)):
        jobs += visit(actor, semaphore, room, number, 3)
    finish(jobs)
    assert len(room.visits) == 30 and room.most <= 3
    left_clean(zk_path)


def test_the_second_times_out(front, open_session, zk_path, contenders):
    """testSimple: one lease; the second gets None, at once or in time, and leaves nothing."""
    semaphore = Semaphore(open_session(), zk_path, 1)
    lease = semaphore.acquire(timeout=10)
    assert isinstance(lease, Lease)
    assert semaphore.acquire(timeout=0.3) is None
    assert semaphore.acquire(False) is None
    assert eventually(lambda: contenders(zk_path) == [f"leases/{name_of(lease)}"])


def test_the_fourth_of_three(front, open_session, zk_path):
    """testSimple2: the fourth gets None; after a return, a lease."""
    semaphore = Semaphore(open_session(), zk_path, 3)
    leases = [semaphore.acquire(timeout=10) for _ in range(3)]
    assert semaphore.acquire(timeout=0.3) is None
    leases.pop().release()
    leases.append(semaphore.acquire(timeout=10))
    assert all(leases) and all(lease.valid for lease in leases)


def test_participants_and_data(front, open_session, zk_path, witness):
    """testGetParticipantNodes: every lease is listed, the oldest first, with its data."""
    semaphore = Semaphore(open_session(), zk_path, 5, node_data=b"mine")
    leases = [semaphore.acquire() for _ in range(5)]
    assert semaphore.participants() == tuple(lease.path for lease in leases)
    assert {witness.get(lease.path)[0] for lease in leases} == {b"mine"}


@pytest.mark.defect("C-6")
@pytest.mark.parametrize("where", ["locks", "leases"])
def test_no_orphans_when_a_node_is_deleted(
    front, open_session, zk_path, when, witness, contenders, left_clean, where
):
    """testNoOrphanedNodes (CURATOR-315): somebody deletes the waiter's node, in the line or among
    the leases: it begins again, is let in, and leaves nothing."""
    session = open_session()
    semaphore = Semaphore(session, zk_path, 1)
    first = semaphore.acquire()
    waiter = front.actor()
    queued = when(session, watch_set=1)
    job = waiter.begin(lambda: semaphore.acquire())
    queued.wait()
    assert eventually(lambda: len(contenders(f"{zk_path}/locks")) == 1)
    # Among the leases it is seen at once. In the line nobody looks again until a lease is returned.
    mine = f"{zk_path}/{where}/" + max(contenders(f"{zk_path}/{where}"), key=lambda n: n[-10:])
    witness.delete(mine)
    if where == "leases":
        assert eventually(lambda: taken(contenders, zk_path) == 2, 10)
    first.release()
    waiter.call(lambda: job.result(10).release())
    left_clean(zk_path)


@pytest.mark.defect("C-6")
def test_an_interrupted_waiter_leaves_no_node(front, open_session, zk_path, when, contenders):
    """testInterruptAcquire (CURATOR-462): a waiter for two leases is interrupted: nothing left."""
    session = open_session()
    semaphore = Semaphore(session, zk_path, 2)
    lease = semaphore.acquire()
    queued = when(session, watch_set=1)
    caught = front.interrupted(lambda: semaphore.acquire_many(2), queued.wait)
    assert isinstance(caught, KeyboardInterrupt)
    only = [f"leases/{name_of(lease)}"]
    assert eventually(lambda: contenders(zk_path) == only, 10), contenders(zk_path)
    assert semaphore.acquire(timeout=10).valid


# --- TestInterProcessSemaphoreCluster -----------------------------------------------------------


@pytest.mark.slow
def test_no_progress_while_down(front, open_session, zk_ensemble, zk_path, contenders, when):
    """testCluster and testKilledServerWithEnsembleProvider: without a majority nobody is let in;
    with two of three it goes on, and there is exactly one lease all the time."""
    one, two = open_session(timeout=20.0), open_session(timeout=20.0)
    owner, other = front.actors(2)
    lease = owner.call(lambda: Semaphore(one, zk_path, 1).acquire())
    queued = when(two, watch_set=1)
    job = other.begin(lambda: Semaphore(two, zk_path, 1).acquire())
    queued.wait()
    down = list(zk_ensemble.nodes[:2])
    for node in down:
        zk_ensemble.kill(node)
    try:
        release = owner.begin(lambda: lease.release())
        throughout(lambda: not job.done(), 0.3)
        zk_ensemble.restart(down.pop())
        release.result(30)
        second = job.result(30)
        assert second.valid and not lease.valid
        assert eventually(lambda: contenders(f"{zk_path}/leases") == [name_of(second)], 20)
    finally:
        for node in down:
            zk_ensemble.restart(node)


# --- what Curator's do not ask ------------------------------------------------------------------


def test_several_leases_all_or_none(front, open_session, zk_path, when, left_clean):
    """Two that want two of three: the second waits with none, and both get theirs in the end.
    (One by one each would have one and a half.)"""
    session = open_session()
    semaphore = Semaphore(session, zk_path, 3)
    first = semaphore.acquire_many(2)
    assert len(first) == 2 and {lease.valid for lease in first} == {True}
    assert semaphore.acquire_many(2, blocking=False) is None
    assert semaphore.acquire_many(2, timeout=0.2) is None
    queued = when(session, watch_set=1)
    job = front.actor().begin(lambda: semaphore.acquire_many(2))
    queued.wait()
    next(iter(first)).release()  # one of them by itself
    second = job.result(10)
    first.release()  # the other
    second.release()
    second.release()  # nothing left to return
    left_clean(zk_path)


@pytest.mark.parametrize("loss", ["lose_reply", "lose_request"])
@pytest.mark.parametrize("op", ["create", "children", "get", "delete"])
def test_several_leases_outlive_losses(
    front, open_session, zk_proxy, zk_path, contenders, op, loss, left_clean
):
    """Requests or replies are lost while three leases are taken and returned, and the limit read:
    three leases, and then none."""
    session = open_session(zk_proxy.hosts)
    semaphore = Semaphore(session, zk_path, SharedCount(session, zk_path + "-limit", seed=3))
    semaphore.acquire().release()
    lost = [getattr(zk_proxy, loss)(op) for _ in range(3)]
    leases = semaphore.acquire_many(3)
    eventually(
        lambda: set(contenders(zk_path)) == {f"leases/{name_of(each)}" for each in leases},
        10,
        otherwise=lambda: contenders(zk_path),
    )
    leases.release()
    assert lost[0].wait(0)
    left_clean(zk_path)


@pytest.mark.parametrize("count", [0, -1, 4])
def test_senseless_quantities(open_session, zk_path, count):
    """None, or more than there are: refused at once."""
    with pytest.raises(ValueError, match="leases"):
        Semaphore(open_session(), zk_path, 3).acquire_many(count)


def test_a_limit_of_nothing(open_session, zk_path):
    with pytest.raises(ValueError, match="at least one"):
        Semaphore(open_session(), zk_path, 0)


def test_many_leases_do_not_fence(open_session, zk_path):
    """With several leases a token would tell nobody who came last: it is refused, and why."""
    session = open_session()
    lease = Semaphore(session, zk_path, 2).acquire()
    with pytest.raises(Unsupported, match="several in at a time") as caught:
        lease.token
    assert "semaphore of one lease" in caught.value.hint
    assert "token" not in repr(lease)


def test_a_limit_that_is_no_count(front, open_session, zk_path, witness, left_clean):
    """The node of the limit holds something else: told, and nothing is left of the attempt."""
    session = open_session()
    witness.create(zk_path + "-limit", b"three")
    semaphore = Semaphore(session, zk_path, SharedCount(session, zk_path + "-limit"))
    with pytest.raises(CorruptData, match="5 bytes"):
        semaphore.acquire()
    left_clean(zk_path)


def test_whoever_has_the_lease_returns_it(front, open_session, zk_path):
    """A lease may be returned by another actor than took it, as a `with` block or by hand."""
    semaphore = Semaphore(open_session(), zk_path, 2)
    taker, other = front.actors(2)
    lease = taker.call(lambda: semaphore.acquire())
    other.call(lambda: lease.release())
    assert not lease.valid
    assert other.call(lambda: front.within(semaphore, lambda held: held.valid))
