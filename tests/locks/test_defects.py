"""The known defects of kazoo's and Curator's locks, by their ids, and zkkit without them.

A test elsewhere that shows one bears the mark `defect(id)`; those that fit nowhere else are here.
`pytest -m defect` runs them all; tests/packaging/test_defects.py sees to it that none is missing.
"""

from __future__ import annotations

import gc
import os
import threading
import uuid
import weakref

import pytest

from tests.locks.kinds import ALL, LOCK, ONE_OF_EACH, REENTRANT, SEMAPHORE, over
from zkkit import Lock, ReadWriteLock, ReentrantLock
from zkkit.errors import ForkedSession, SessionClosed
from zkkit.paths import protected
from zkkit.recipes.shared import find_protected
from zkkit.record import Recorder
from zkkit.testing import eventually, expire_session, throughout

pytestmark = pytest.mark.front("threads")
defect = pytest.mark.defect

# --- kazoo --------------------------------------------------------------------------------------


@defect("K-6")
@pytest.mark.parametrize("layout", ["curator", "kazoo"])
def test_k6_a_reader_does_not_wait_for_later_writers(front, open_session, zk_path, when, layout):
    """#649: a reader with a writer behind it gets in as soon as the writer ahead has left."""
    session = open_session()
    lock = ReadWriteLock(session, zk_path, layout=layout)
    writer, reader, later = front.actors(3)
    writer.call(lambda: lock.write.acquire())
    jobs = []
    for actor, half in ((reader, lock.read), (later, lock.write)):
        queued = when(session, watch_set=1)
        jobs.append(actor.begin(lambda half=half: half.acquire()))
        queued.wait()
    writer.call(lambda: lock.write.release())
    assert jobs[0].result(10).valid
    assert not jobs[1].done()
    reader.call(lambda: lock.read.release())
    assert jobs[1].result(10).valid


@defect("K-10")
@over(REENTRANT, LOCK, SEMAPHORE)
def test_k10_nothing_grows_with_the_acquires(front, kind, open_session, zk_path):
    """Neither listeners at the client nor holds in the session stay after a release."""
    session = open_session()
    lock = kind.make(session, zk_path)
    listeners = len(session.kazoo.state_listeners)
    gone = []
    for _ in range(20):
        hold = lock.acquire()
        hold.on_lost(lambda: None)
        gone.append(weakref.ref(hold))
        hold.release()
        del hold
    assert len(session.kazoo.state_listeners) == listeners
    assert session.noted(lock) is None
    gc.collect()
    assert [ref() for ref in gone] == [None] * 20


@defect("K-12")
@over(*ALL)
def test_k12_a_closed_session_refuses(front, kind, zk_hosts, zk_path):
    """#83: no hang on a closed client, with or without a timeout: an error that says so."""
    session = front.connect(zk_hosts)
    lock = kind.make(session, zk_path)
    front.close(session)
    for timeout in (None, 5):
        with pytest.raises(SessionClosed):
            lock.acquire(timeout=timeout)


@defect("K-17")
def test_k17_callbacks_may_use_the_session(front, open_session, zk_hosts, zk_path):
    """#355, #381, #405: on_lost is called where ZooKeeper may be asked and locks be acquired."""
    session = open_session()
    lock = ReentrantLock(session, zk_path)
    answers: list[object] = []
    told = threading.Event()

    def lost() -> None:
        answers.append(lock.acquire(timeout=10).valid)
        answers.append(len(session.children(zk_path)))
        lock.release()
        told.set()

    front.call(lambda: lock.acquire()).on_lost(lost)
    expire_session(zk_hosts, session)
    assert told.wait(15)
    assert answers == [True, 1]


@defect("K-18")
def test_k18_a_forked_child_is_told(open_session, zk_path, contenders):
    """#143, #519, #538: no hang in a child process, but an error; the parent goes on."""
    lock = ReentrantLock(open_session(), zk_path)
    child = os.fork()
    if child == 0:
        try:
            lock.acquire(timeout=5)
        except ForkedSession:
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert lock.acquire(timeout=10).valid
    assert len(contenders(zk_path)) == 1


# --- Curator ------------------------------------------------------------------------------------


@defect("C-1", "C-4")
def test_c1_found_is_not_owned(open_session, zk_path, witness):
    """CURATOR-604, -498: a node of another session is not taken for ours, whatever its name."""
    session = open_session()
    name = protected(str(uuid.uuid4()), "lock-")
    path = witness.create(f"{zk_path}/{name}", ephemeral=True, sequence=True, makepath=True)
    assert session.run(find_protected(zk_path, name)) is None
    assert witness.exists(path)


@defect("C-1", "C-4")
@over(*ONE_OF_EACH)
def test_c4_expired_with_the_create_under_way(
    front, kind, open_session, zk_hosts, zk_proxy, zk_path, contenders, left_clean
):
    """The create is applied, its reply lost, and the session expires: the lock is acquired
    in the new session, with a node of its own, and the old one is gone."""
    session = open_session(zk_proxy.hosts)
    lock = kind.make(session, zk_path)
    actor = front.actor()
    actor.call(lambda: lock.acquire())
    actor.call(lambda: lock.release())
    left_clean(zk_path)
    old = session.session_id
    zk_proxy.freeze(replies_only=True)
    job = actor.begin(lambda: lock.acquire())
    assert eventually(lambda: contenders(zk_path), 5)
    expire_session(zk_hosts, session)
    zk_proxy.drop()  # and the reply with it
    zk_proxy.thaw()
    hold = job.result(20)
    assert hold.valid and hold.session_id == session.session_id != old
    assert eventually(lambda: len(contenders(zk_path)) == 1, 5)
    actor.call(lambda: lock.release())
    left_clean(zk_path)


@defect("C-3")
@over(*ONE_OF_EACH)
def test_c3_a_release_without_a_connection(
    front, kind, open_session, zk_proxy, zk_path, contenders, left_clean
):
    """CURATOR-678, -486: nobody answers a release, and its caller is interrupted. It goes on by
    itself; the hold counts for nothing from its beginning; the next acquire is a new one."""
    lock = kind.make(open_session(zk_proxy.hosts), zk_path)
    hold = lock.acquire()
    assert eventually(lambda: len(contenders(zk_path)) == 1, 5)
    sent = zk_proxy.requests["delete"]
    zk_proxy.freeze()
    caught = front.interrupted(
        lambda: lock.release(), lambda: eventually(lambda: not hold.valid, 5)
    )
    assert isinstance(caught, KeyboardInterrupt)
    assert not hold.valid
    assert zk_proxy.requests["delete"] == sent
    zk_proxy.thaw()
    again = lock.acquire(timeout=10)
    assert again.token > hold.token
    assert eventually(lambda: [f"{zk_path}/{n}" for n in contenders(zk_path)] == [again.path], 10)
    lock.release()
    left_clean(zk_path)


@defect("C-13")
def test_c13_a_sure_delete_does_not_spin(front, open_session, zk_proxy, zk_path, left_clean):
    """CURATOR-106, -209: while no server can be reached, deleting surely waits; it neither spins
    nor piles up."""
    session = open_session(zk_proxy.hosts, timeout=10.0)
    lock = Lock(session, zk_path, layout="kazoo")
    actor = front.actor()
    actor.call(lambda: lock.acquire())
    recorder = Recorder()
    session.hooks.add(recorder)
    zk_proxy.cut()
    job = actor.begin(lambda: lock.release())
    throughout(lambda: not job.done(), 0.5)
    tries = recorder.count("step", kind="Delete")
    zk_proxy.mend()
    job.result(10)
    assert tries < 10
    left_clean(zk_path)
