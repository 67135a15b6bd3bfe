"""Parents that are missing: made, made again when they are reaped, or the reason why they cannot.

Threads only, where servers are asked: the scripts are the same on every front.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from kazoo.security import ACL, Id

import zkkit
from tests.locks.kinds import HERD, LOCK, ONE_OF_EACH, REENTRANT, Kind, over
from zkkit import SharedCount
from zkkit.errors import NoAuth, NoChildrenForEphemerals, NodeExists, NoNode, NoRoot, ZkkitError
from zkkit.paths import levels
from zkkit.recipes import shared
from zkkit.sim import World, explore, use
from zkkit.sim.faults import NO_FAULTS, Faults
from zkkit.sim.properties import of_a_lock
from zkkit.steps import Create, Delete, Mode, Script

# --- what cannot be made --------------------------------------------------------------------------

READ_ONLY = [ACL(1, Id("world", "anyone"))]


def denied(witness: Any, root: str) -> None:
    witness.create(root, acl=READ_ONLY)


def ephemeral(witness: Any, root: str) -> None:
    witness.create(root, ephemeral=True)


Call = Callable[[Any, str], Any]
CALLS: dict[str, Call] = {
    **{
        kind.name: lambda session, path, kind=kind: kind.make(session, path).acquire(timeout=20)
        for kind in ONE_OF_EACH
    },
    "SharedCount": lambda session, path: SharedCount(session, path + "/count").get(),
    "create": lambda session, path: session.create(path + "/node", make_parents=True),
}


@pytest.fixture
def refused(open_session: Any, monkeypatch: Any) -> Callable[..., ZkkitError]:
    """Make a call that must fail, and soon: gives its error."""

    def call(call: Call, path: str, **options: Any) -> ZkkitError:
        session = open_session(**options)
        taken = 0

        class Counting:
            def step(self, event: Any) -> None:
                nonlocal taken
                taken += 1

        session.hooks.add(Counting())
        with pytest.raises(ZkkitError) as caught:
            call(session, path)
        assert taken < 20, "it went on trying"
        assert caught.value.hint
        return caught.value

    return call


@pytest.mark.front("threads")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("below", ["", "/a", "/a/b"], ids=["at it", "below", "further below"])
@pytest.mark.parametrize(
    ("make", "error"),
    [(denied, NoAuth), (ephemeral, NoChildrenForEphemerals)],
    ids=["denied", "ephemeral"],
)
def test_who_is_at_fault_is_named(refused, witness, zk_path, make, error, below, call):
    """Nothing can be made below a node that denies it, or that is ephemeral: the true reason comes
    at once and names that node, however many levels are missing between."""
    make(witness, zk_path)
    caught = refused(call, zk_path + below)
    assert isinstance(caught, error)
    assert caught.path == zk_path and zk_path in str(caught)


@pytest.mark.front("threads")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("below", ["/l", "/a/b/l"], ids=["at the top", "below"])
def test_a_chroot_that_does_not_exist(refused, zk_hosts, zk_path, below, call):
    """There is nothing to make parents in: it says so, and is not tried again and again."""
    caught = refused(call, below, hosts=zk_hosts + zk_path)
    assert isinstance(caught, NoRoot) and "chroot" in caught.hint


@pytest.mark.front("threads")
def test_a_namespace_that_cannot_be_made(open_session, witness, zk_hosts, zk_path):
    """Connecting says why."""
    denied(witness, zk_path)
    with pytest.raises(NoAuth, match=zk_path):
        open_session(namespace=f"{zk_path}/a/b")
    with pytest.raises(NoRoot):
        open_session(f"{zk_hosts}{zk_path}/none", namespace="a")


@pytest.mark.front("threads")
def test_a_namespace_that_is_there_needs_no_right(open_session, witness, zk_path):
    """Neither its parents nor itself need to be made, so nobody asks whether we could."""
    witness.create(f"{zk_path}/a", makepath=True)
    witness.set_acls(zk_path, READ_ONLY)
    session = open_session(namespace=f"{zk_path}/a")
    assert zkkit.ReentrantLock(session, "/l").acquire(timeout=20).valid


@over(REENTRANT, LOCK, HERD)
def test_below_an_ephemeral_node_in_the_simulator(kind):
    """Whenever the ephemeral node goes, the call ends: with the reason, or with the lock."""
    world = World()
    owner = world.connect()

    def come_and_go() -> Script[None]:
        try:
            yield from Create("/e", b"", Mode.EPHEMERAL)
            yield from Delete("/e")
        except NodeExists:
            return  # the other one has made it, as a container

    world.actor("A", owner, come_and_go)
    session = world.connect()
    lock = kind.make(session, "/e/a/b")
    world.actor("B", session, use, lock)
    verdict = explore(
        world,
        faults=NO_FAULTS,
        properties=of_a_lock(fails=[NoChildrenForEphemerals]),
    )
    assert verdict.holds, str(verdict)


# --- what is reaped meanwhile ---------------------------------------------------------------------


def remove_empty(path: str) -> Script[None]:
    """Delete these nodes by hand, from below, as far as they are empty."""
    for level in reversed(list(levels(path))):
        try:
            yield from Delete(level)
        except ZkkitError:
            pass


def reaped_at_any_time(kind: Kind) -> Any:
    """Two use a lock whose parents are missing at first; the server reaps them twice, and somebody
    deletes them by hand."""
    world = World()
    for name in "AB":
        session = world.connect()
        lock = kind.make(session, "/a/b")
        world.actor(name, session, use, lock)
    world.actor("C", world.connect(), remove_empty, "/a/b")
    return explore(
        world, faults=Faults(2, ("reap",)), properties=of_a_lock(fails=()), preemptions=2
    )


@over(REENTRANT, HERD)
def test_parents_reaped_at_any_time(kind):
    """They get the lock, one after the other, and no error."""
    verdict = reaped_at_any_time(kind)
    assert verdict.holds, str(verdict)


@pytest.mark.parametrize("flights", [2, 3])
def test_a_bound_would_be_hit(monkeypatch, flights):
    """A twin that gives up after so many flights: it is caught."""
    unbounded = shared.create_with_parents

    def bounded(*given: Any, **named: Any) -> Script[Any]:
        script = unbounded(*given, **named)
        step = next(script)
        for _ in range(flights):
            try:
                step = script.send((yield step))
            except StopIteration as end:
                return end.value
        raise NoNode("gave up")

    monkeypatch.setattr(shared, "create_with_parents", bounded)
    verdict = reaped_at_any_time(REENTRANT)
    assert not verdict.holds and "gave up" in str(verdict)
