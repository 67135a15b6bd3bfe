"""Leases taken in one flight with the place in line, by who met nobody before: in the simulator.

Every fault, with two actors and three, is in tests/sim/test_coverage.py; here are the broken twins.
"""

from __future__ import annotations

import threading
from typing import Any

import pytest

from zkkit import Lock
from zkkit.recipes.locks import leases
from zkkit.recipes.locks.leases import REMEMBERED, UNCONTENDED, Pool
from zkkit.sim import World, explore
from zkkit.sim.coverage import CASTS, Cast
from zkkit.sim.faults import NO_FAULTS
from zkkit.sim.properties import Always, Property
from zkkit.steps import Call, Create, Recall, Remember, Script
from zkkit.testing import eventually

CAST = next(cast for cast in CASTS if cast.name == "Lock, optimistic" and not cast.shared)
Attempt = leases.LeaseAttempt
at_once, withdraw_leases = Attempt._at_once, Attempt._withdraw_leases


def caught(cast: Cast, fault: str) -> str:
    """What it breaks under this fault; "" if nothing."""
    verdict = cast.under(fault)
    return "" if verdict.story is None else verdict.story.breaks


def keeps_them(self: Any) -> Script[Any]:
    """Not first in line, and keeps its leases for its turn."""
    queue, seen = yield from at_once(self)
    if queue is not None and seen is None:
        seen = yield from self.create_leases()
    return queue, seen


def forgets_them(self: Any, after: Any = None) -> Script[None]:
    """Takes back only what it knows the number of."""
    for name in [name for name, node in self.nodes.items() if node is None]:
        del self.nodes[name]
    return withdraw_leases(self, after)


def trusts_its_session() -> Script[None]:
    """Does not see that its session was lost while it took the leases back."""
    yield from ()


ASLEEP = "no lost wakeup"


@pytest.mark.parametrize(
    ("where", "twin", "fault", "breaks"),
    [
        ((Attempt, "_at_once"), keeps_them, "", ASLEEP),
        ((Attempt, "_withdraw_leases"), forgets_them, "cancel", ASLEEP),
        ((leases, "SessionId"), trusts_its_session, "expire", "nobody fails"),
    ],
    ids=["keeps them", "forgets them", "trusts its session"],
)
def test_a_broken_twin_is_caught(monkeypatch, where, twin, fault, breaks):
    """Two that are optimistic, one mistake: it is found, and without the mistake nothing is."""
    assert caught(CAST, fault) == ""
    monkeypatch.setattr(*where, twin)
    assert caught(CAST, fault) == breaks


def two_that_try() -> World:
    """Two that are optimistic and do not want to wait."""
    world = World("/l", "/l/locks", "/l/leases", "/won")

    def tries(name: str, lock: Lock[Any]) -> Script[None]:
        yield from Remember(UNCONTENDED, ("/l",))
        if (yield from lock.acquire.of(False)) is not None:
            yield from Create(f"/won/{name}")
            yield from lock.release.of()

    for name in "AB":
        lock = Lock(world.connect(), "/l")
        world.actor(name, lock.session, tries, name, lock)
    return world


def somebody_won() -> Property:
    def check(view: Any) -> str | None:
        won = any(path.startswith("/won/") for path in view.tree.nodes)
        return None if won else "both went away from a free lock"

    return Always("somebody wins", check, at_end=True)


def test_of_two_that_try_one_wins(monkeypatch):
    """They would not if those that do not wait were optimistic as well."""
    properties = [somebody_won()]
    assert explore(two_that_try(), faults=NO_FAULTS, properties=properties).holds
    monkeypatch.setattr(Attempt, "_optimistic", lambda self: self.pool.is_uncontended())
    assert explore(two_that_try(), faults=NO_FAULTS, properties=properties).holds is False


@pytest.mark.front("threads")
def test_pools_are_remembered_up_to_a_number(open_session):
    """A session that uses ever new paths does not keep them all."""
    session = open_session()

    def script() -> Script[Any]:
        for number in range(REMEMBERED + 10):
            yield from Pool(f"/{number}", 1).remember(True)
        yield from Pool("/73", 1).remember(False)
        return (yield from Recall(UNCONTENDED))

    assert session.run(script()) == tuple(f"/{n}" for n in range(72, 9, -1))


@pytest.mark.slow  # a whole session timeout
@pytest.mark.front("threads")
@pytest.mark.timeout(60)
def test_begun_between_two_sessions_leaves_one_place_in_line(open_session, zk_proxy, zk_path):
    """Begun when one session was lost and the next not yet there, and then not to be had at once:
    it must not wait behind a place of its own that it has forgotten."""
    other = open_session()
    for directory in ("", "/locks", "/leases"):
        other.create(zk_path + directory)
    session = open_session(hosts=zk_proxy.hosts, timeout=2.0)
    lock = Lock(session, zk_path)
    with lock:
        pass  # it met nobody: it will be optimistic
    zk_proxy.cut()
    assert eventually(lambda: session.session_id == 0)
    other.delete(f"{zk_path}/leases")  # as the server does with an empty container
    got = threading.Event()

    def acquire() -> Script[None]:
        yield from lock.acquire.of()
        yield from Call(got.set)

    # In a thread: the main one hands it over, and does not know when it has begun.
    starter = threading.Thread(target=lambda: session.spawn(acquire()))
    starter.start()
    starter.join()
    zk_proxy.mend()
    assert got.wait(20), other.children(f"{zk_path}/locks")
    assert eventually(lambda: other.children(f"{zk_path}/locks") == ())
