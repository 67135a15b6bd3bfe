"""Curator's tests of its mutexes: TestInterProcessMutexBase, TestInterProcessMutex,
TestLockInternals, TestLockACLs.

Elsewhere, over every kind of lock, in test_contract: testLocker (test_with_statement),
testReentrant and testReentrant2Threads (test_reentry), testReentrantSingleLock
(test_many_actors_share_one_object), test2Clients (test_only_one_is_inside); and testRevoking in
test_revoking. Not here: testWithSchema; zkkit has no schemas.

They are about locks, not about fronts, so they run on threads only.
"""

from __future__ import annotations

import pytest
from kazoo.security import make_digest_acl_credential

from tests.locks.kinds import LOCK, MULTI, REENTRANT, holds_of, over
from zkkit import ReentrantLock
from zkkit.errors import NoAuth
from zkkit.steps import Acl
from zkkit.testing import eventually, expire_session

pytestmark = pytest.mark.front("threads")
MUTEXES = [REENTRANT, LOCK, MULTI]


# --- TestInterProcessMutexBase ------------------------------------------------------------------


@over(*MUTEXES)
def test_killed_session_of_holder_and_waiter(front, kind, open_session, zk_hosts, zk_path, when):
    """testKilledSession: a session dies that holds and waits; its waiter acquires."""
    session = open_session()
    holder, waiter = front.actors(2)
    hold = holder.call(lambda: kind.make(session, zk_path).acquire())
    queued = when(session, watch_set=1)
    job = waiter.begin(lambda: kind.make(session, zk_path).acquire())
    queued.wait()
    expire_session(zk_hosts, session)
    assert job.result(15).valid
    assert not hold.valid


@pytest.mark.slow  # an election; test_faults.py has one
def test_waiting_while_the_servers_are_away(front, open_session, zk_ensemble, zk_path, when):
    """testWaitingProcessKilledServer: no majority for a while; then the waiters get their locks."""
    holder, waiter = open_session(timeout=20.0), open_session(timeout=20.0)
    owner = front.actor()
    locks = {kind: kind.make(holder, f"{zk_path}/{kind}") for kind in MUTEXES}
    for lock in locks.values():
        owner.call(lambda lock=lock: lock.acquire())
    queued = when(waiter, watch_set=len(MUTEXES))
    jobs = [
        front.actor().begin(lambda kind=kind: kind.make(waiter, f"{zk_path}/{kind}").acquire())
        for kind in MUTEXES
    ]
    queued.wait()
    leader = zk_ensemble.leader()
    down = [leader, next(node for node in zk_ensemble.nodes if node != leader)]
    for node in down:
        zk_ensemble.kill(node)
    try:
        releases = [owner.begin(lambda lock=lock: lock.release()) for lock in locks.values()]
        assert not any(job.done() for job in jobs)
    finally:
        for node in down:
            zk_ensemble.restart(node)
    for job in (*releases, *jobs):
        job.result(30)


@pytest.mark.slow  # a second for each level; test_operations.py has one
def test_container_cleanup(front, open_session, witness, zk_path):
    """testContainerCleanup: when all have left, the server reaps the lock's path."""
    session = open_session()
    for kind in MUTEXES:
        for actor in front.actors(3):
            lock = kind.make(session, f"{zk_path}/{kind}")
            hold = actor.call(lambda lock=lock: lock.acquire())
            actor.call(lambda hold=hold: hold.release())
    assert eventually(lambda: not witness.exists(zk_path), 20)


@over(*MUTEXES)
def test_within_a_namespace(front, kind, open_session, witness, zk_path):
    """testWithNamespace: the nodes are in the namespace, the paths that one sees are not."""
    session, outside = open_session(namespace=zk_path[1:]), open_session()
    lock = kind.make(session, "/lock")
    actor = front.actor()
    hold = actor.call(lambda: lock.acquire(timeout=10))
    for each in holds_of(hold):
        assert each.path.startswith("/lock/")
        assert witness.exists(zk_path + each.path)
    rival = kind.make(outside, f"{zk_path}/lock")
    assert front.call(lambda: rival.acquire(False)) is None
    actor.call(lambda: hold.release())
    assert front.call(lambda: rival.acquire(timeout=10)).valid


# --- TestInterProcessMutex ----------------------------------------------------------------------


def test_a_persistent_lock(front, open_session, zk_hosts, zk_path, witness, contenders):
    """testPersistentLock: the node outlives its session, and the hold with it; the release
    deletes it. Nobody else gets in meanwhile."""
    session, other = open_session(), open_session()
    lock = ReentrantLock(session, zk_path, persistent=True)
    owner = front.actor()
    hold = owner.call(lambda: lock.acquire())
    assert witness.get(hold.path)[1].ephemeralOwner == 0
    old = session.session_id
    expire_session(zk_hosts, session)
    assert eventually(lambda: session.session_id not in (0, old), 10)
    assert hold.valid
    assert owner.call(lambda: hold.check())
    assert front.call(lambda: ReentrantLock(other, zk_path).acquire(False)) is None
    assert owner.call(lambda: lock.acquire()) is hold
    owner.call(lambda: lock.release())
    owner.call(lambda: lock.release())
    assert not hold.valid
    assert contenders(zk_path) == []
    assert front.call(lambda: ReentrantLock(other, zk_path).acquire(timeout=10)).valid


# --- TestLockInternals --------------------------------------------------------------------------


def broken(ahead):
    """A rule that fails, after the node was created."""
    raise KeyError("a rule of somebody's own")


def test_node_deleted_cleanly_with_faults(front, open_session, zk_path, left_clean):
    """testNodeDeletedCleanlyWithFaults: an error after the create leaves no node."""
    lock = ReentrantLock(open_session(), zk_path, rule=broken)
    with pytest.raises(KeyError, match="own"):
        front.call(lambda: lock.acquire())
    left_clean(zk_path)
    assert lock.statistics().gave_up == 1


def test_the_first_error_is_kept(front, open_session, zk_proxy, zk_path, left_clean):
    """testAttemptLockFailedException: what went wrong is told, not what the clean-up met."""
    lock = ReentrantLock(open_session(zk_proxy.hosts), zk_path, rule=broken)
    lost = zk_proxy.lose_request("delete")
    with pytest.raises(KeyError, match="own"):
        front.call(lambda: lock.acquire())
    assert lost.wait(0)
    left_clean(zk_path)


# --- TestLockACLs -------------------------------------------------------------------------------


@over(*MUTEXES)
def test_acls_of_nodes_and_parents(front, kind, open_session, zk_path, witness):
    """testLockACLs, testACLsCreatingParents: the session's ACL is on the lock node and on every
    parent made for it, and keeps others out."""
    secret = make_digest_acl_credential("ann", "secret")
    session = open_session(auth=[("digest", "ann:secret")], acl=[Acl(31, "digest", secret)])
    lock = kind.make(session, f"{zk_path}/deep/lock")
    actor = front.actor()
    hold = actor.call(lambda: lock.acquire())
    witness.add_auth("digest", "ann:secret")
    parents = [zk_path, f"{zk_path}/deep", f"{zk_path}/deep/lock"]
    for path in (*parents, *(each.path for each in holds_of(hold))):
        (acl,) = witness.get_acls(path)[0]
        assert (acl.perms, acl.id.id) == (31, secret)
    stranger = kind.make(open_session(), f"{zk_path}/deep/lock")
    with pytest.raises(NoAuth):
        front.call(lambda: stranger.acquire(timeout=5))
    actor.call(lambda: hold.release())
