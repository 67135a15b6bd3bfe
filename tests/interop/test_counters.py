"""Counters and values shared with Java."""

from __future__ import annotations

import time

import pytest

from tests.interop.sides import PythonActor
from zkkit.bench.peers.rounds import RoundsPlan, contend_all
from zkkit.testing import eventually

pytestmark = pytest.mark.interop

SHARED = {
    "shared_count": [7, -1, 2**31 - 1, 0],
    "shared_value": [b"one", b"", b"\x00\xff" * 50, b"last"],
}
BITS = {"atomic_long": 64, "atomic_int": 32}


@pytest.fixture(params=BITS)
def kind(request):
    return request.param


@pytest.mark.concurrent
@pytest.mark.parametrize("what", SHARED)
def test_each_hears_the_other(order, zk_path, what):
    """What either writes the other's listeners are told, in order; the first one's seed counts."""
    seed, other_seed, *_ = reversed(SHARED[what])
    one = getattr(order(), what)(zk_path, seed)
    other = getattr(order(), what)(zk_path, other_seed)
    eventually(lambda: other.value() == seed, otherwise=other.value)
    for writer, hearer in ((one, other), (other, one)):
        for value in SHARED[what]:
            writer.set(value)
            eventually(
                lambda of=hearer, new=value: of.told()[-1:] == [new] and of.value() == new,
                otherwise=hearer.told,
            )


@pytest.mark.parametrize("what", SHARED)
def test_a_value_that_has_changed_is_not_overwritten(order, python, java, zk_path, what):
    """A versioned set succeeds on what was heard last, by either; a stale one is refused."""
    values = SHARED[what]
    one, other = (getattr(order(), what)(zk_path, values[0]) for _ in range(2))
    eventually(lambda: other.value() == values[0])
    assert one.try_set(values[1])
    eventually(lambda: other.value() == values[1])
    assert other.try_set(values[2])
    ours = getattr(python(), what)(zk_path, values[0])
    theirs = getattr(java(), what)(zk_path, values[0])
    eventually(lambda: ours.value() == theirs.value() == values[2])
    stale = ours.recipe.versioned
    theirs.set(values[3])
    assert not ours.recipe.try_set(stale, values[0])
    eventually(lambda: ours.value() == theirs.value() == values[3])


@pytest.mark.concurrent
def test_every_increment_counts_once(python, java, zk_path, kind):
    """Two of each language increment one number at the same time: the sum is exact, in Curator's
    bytes."""
    actors = [side() for side in (python, java, python, java)]
    numbers = [getattr(actor, kind)(zk_path) for actor in actors]
    plan = RoundsPlan(time.monotonic_ns() + 20_000_000, rounds=20)
    assert [len(rounds) for rounds in contend_all(numbers, plan)] == [20] * 4
    looker = python()
    looker.names(zk_path)  # synced
    assert looker.session.get(zk_path).data == (80).to_bytes(BITS[kind] // 8, "big")
    assert [eventually(lambda one=one: one.get().after == 80) for one in numbers]


def test_results_mean_the_same(order, zk_path, kind):
    """Before, after and succeeded, each side on what the other has left."""
    one, other = (getattr(order(), kind)(zk_path) for _ in range(2))
    most = 2 ** (BITS[kind] - 1) - 1
    assert not one.compare_and_set(0, 1).succeeded  # there is no node yet
    assert one.initialize(5)
    assert not other.initialize(6)
    assert tuple(other.add(3))[:3] == (True, 5, 8)
    assert tuple(one.subtract(10))[:3] == (True, 8, -2)
    assert tuple(other.compare_and_set(-2, most))[:3] == (True, -2, most)
    assert not one.compare_and_set(-2, 0).succeeded
    assert tuple(one.try_set(-most))[:3] == (True, most, -most)
    other.force_set(41)
    assert tuple(one.add(1))[:3] == (True, 41, 42)
    assert tuple(other.get())[:3] == (True, 42, 42)


@pytest.mark.defect("C-14")
def test_a_lost_reply_beside_java(peer, zk_proxy, zk_path):
    """Java's own increment counts twice if its reply is lost: it is sent again, refused for the
    version that it made itself, and begun anew. Ours, on the same number, counts once."""
    (java,) = peer.actors([f"java-at-{zk_path}"], [zk_proxy.hosts])
    theirs = java.atomic_long(zk_path)
    assert tuple(theirs.add(1))[:3] == (True, 0, 1)
    loss = zk_proxy.lose_reply("set")
    assert tuple(theirs.add(1))[:3] == (True, 2, 3)  # it was told of one, and made two
    assert loss.wait(5)
    java.close()
    python = PythonActor(zk_proxy.hosts, "python")
    ours = python.atomic_long(zk_path)
    loss = zk_proxy.lose_reply("multi")
    assert tuple(ours.add(1))[:3] == (True, 3, 4)
    assert loss.wait(5)
    assert ours.get().after == 4
    python.close()
